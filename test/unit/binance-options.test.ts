import { ConfigError, loadConfig } from '../../src/config';
import { binanceOptions } from '../../src/services/binance-options';

const NEEDED = {
  DATABASE_URL: 'postgres://localhost/tekil',
  TEMPORAL_ADDRESS: 'localhost:7233',
  KAFKA_BROKERS: 'localhost:9092',
};
const optionsOf = (variables: Readonly<Record<string, string>>) =>
  binanceOptions(loadConfig({ ...NEEDED, ...variables }));

describe('the variables of the Binance feed', () => {
  test('need only the symbols', () => {
    expect(optionsOf({ BINANCE_SYMBOLS: 'BTCUSDT,ETHUSDT,BTCUSDT' })).toEqual({
      feed: 'binance',
      stream: 'spot-depth',
      symbols: ['BTCUSDT', 'ETHUSDT'],
      thresholds: { maxSilenceMs: 1_000, maxSourceAgeMs: 2_000, maxClockOffsetMs: 500 },
      maxClockDriftMs: 100,
    });
  });

  test('may name other servers', () => {
    const urls = { BINANCE_WS_URL: 'ws://127.0.0.1:9443', BINANCE_REST_URL: 'http://127.0.0.1:8000/binance' };
    expect(optionsOf({ BINANCE_SYMBOLS: 'BTCUSDT', BINANCE_STREAM: 'futures-depth', ...urls })).toMatchObject(
      {
        stream: 'futures-depth',
        wsUrl: 'ws://127.0.0.1:9443',
        restUrl: 'http://127.0.0.1:8000/binance',
      },
    );
  });

  test('without symbols are refused at the start', () => {
    expect(() => optionsOf({})).toThrow(ConfigError);
    expect(() => optionsOf({})).toThrow('BINANCE_SYMBOLS: must be set when QUOTE_SOURCE is binance');
  });

  test.each<[string, string, string]>([
    ['BINANCE_SYMBOLS', 'btcusdt', 'must be symbols with commas between them'],
    ['BINANCE_SYMBOLS', 'BTCUSDT,', 'must be symbols with commas between them'],
    ['BINANCE_SYMBOLS', 'BTC/USDT', 'must be symbols with commas between them'],
    ['BINANCE_SYMBOLS', Array.from({ length: 201 }, (_, index) => `S${index}`).join(','), 'at most 200'],
    ['BINANCE_STREAM', 'spot-bookTicker', 'spot-depth'],
    ['BINANCE_WS_URL', 'https://stream.binance.com', 'must start with wss:// and end without a slash'],
    ['BINANCE_WS_URL', 'wss://stream.binance.com/', 'must start with wss:// and end without a slash'],
    ['BINANCE_REST_URL', 'api.binance.com', 'must start with https:// and end without a slash'],
    ['QUOTE_SOURCE', 'tcp', 'udp'],
  ])('say what is right when %s is %s', (variable, value, right) => {
    expect(() => loadConfig({ ...NEEDED, [variable]: value })).toThrow(right);
  });
});
