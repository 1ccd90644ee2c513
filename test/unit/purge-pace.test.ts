import { nextBatchRows } from '../../src/domain/purge-pace';

const pace = { maxRows: 10_000, minRows: 100, slowMs: 500 };

describe('the size of the next batch', () => {
  test('is half after a slow one', () => {
    expect(nextBatchRows(10_000, 501, pace)).toBe(5_000);
  });

  test('is half after one that failed', () => {
    expect(nextBatchRows(5_000, 'failed', pace)).toBe(2_500);
  });

  test('doubles after a quick one, up to the bound', () => {
    expect(nextBatchRows(2_500, 100, pace)).toBe(5_000);
    expect(nextBatchRows(8_000, 100, pace)).toBe(10_000);
  });

  test('stays when it took about what is right', () => {
    expect(nextBatchRows(5_000, 400, pace)).toBe(5_000);
  });

  test('never falls below its bound', () => {
    expect(nextBatchRows(150, 10_000, pace)).toBe(100);
  });
});
