import { decompress as decompressZstd } from 'fzstd';
import { CompressionCodecs, CompressionTypes } from 'kafkajs';
import createSnappyCodec from 'kafkajs-snappy';
import { decompress as decompressLz4 } from 'lz4js';

/**
 * Teaches kafkajs the codecs that foreign producers use: it knows gzip alone, and a batch in another codec would end
 * the consumer. Tekil itself publishes uncompressed, so LZ4 and Zstandard are only read.
 */
export function registerCodecs(): void {
  CompressionCodecs[CompressionTypes.Snappy] = createSnappyCodec;
  CompressionCodecs[CompressionTypes.LZ4] = () => readOnlyCodec('LZ4', decompressLz4);
  CompressionCodecs[CompressionTypes.ZSTD] = () => readOnlyCodec('Zstandard', decompressZstd);
}

function readOnlyCodec(name: string, decompress: (data: Uint8Array) => Uint8Array) {
  return {
    compress: () => Promise.reject(new Error(`publishing with ${name} is not supported; use gzip or Snappy`)),
    decompress: (data: Buffer) => {
      const { buffer, byteOffset, byteLength } = decompress(data);
      return Promise.resolve(Buffer.from(buffer, byteOffset, byteLength));
    },
  };
}
