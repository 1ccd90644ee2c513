import { ConfigError, loadConfig } from '../../src/config';

const REQUIRED = {
  DATABASE_URL: 'postgres://127.0.0.1/tekil',
  TEMPORAL_ADDRESS: '127.0.0.1:7233',
  KAFKA_BROKERS: '127.0.0.1:9092',
};
const load = (url: string) => loadConfig({ ...REQUIRED, QUOTE_GATE_URL: url }).QUOTE_GATE_URL;

describe('QUOTE_GATE_URL', () => {
  test.each([
    'http://127.0.0.1:8090',
    'http://a:8090,http://b:8090',
    'http://a:8090, https://[::1]:8091/gate/',
  ])('may be %s', (url) => {
    expect(load(url)).toBe(url);
  });

  test.each([
    '',
    'a:8090',
    'http://a:8090,',
    'http://a:8090;http://b:8090x',
    'ftp://a:21',
    'http://a:8090,b:8090',
  ])('may not be "%s"', (url) => {
    expect(() => load(url)).toThrow(ConfigError);
    expect(() => load(url)).toThrow(
      'QUOTE_GATE_URL: must be an http:// or https:// address, or several with commas between them',
    );
  });
});
