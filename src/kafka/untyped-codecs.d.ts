/** Two packages without types of their own: only what is used here. */

declare module 'lz4js' {
  /** Reads one LZ4 frame. */
  export function decompress(frame: Uint8Array): Uint8Array;
}

declare module 'kafkajs-snappy' {
  /** A codec in the shape that kafkajs registers; reads raw Snappy and the framing of the Java client. */
  const createSnappyCodec: () => {
    compress(encoder: { readonly buffer: Buffer }): Promise<Buffer>;
    decompress(buffer: Buffer): Promise<Buffer>;
  };
  export = createSnappyCodec;
}
