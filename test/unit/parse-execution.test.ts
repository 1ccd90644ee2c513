import { MAX_EVENT_BYTES, parseExecution } from '../../src/kafka/parse-execution';
import { aMessage, anAcknowledgement, anEvent } from '../support/execution-events';

function textMessage(text: string) {
  return aMessage(anEvent(), { value: Buffer.from(text) });
}

function faultOf(message: Parameters<typeof parseExecution>[0]): string {
  const parsed = parseExecution(message);
  return parsed.kind === 'malformed' ? parsed.fault : 'no fault';
}

describe('reading an execution', () => {
  test('a valid event is read and normalised', () => {
    const event = anEvent({ side: '1', quantity: '1.50', executedAt: '2026-03-14T10:26:53.589000+01:00' });
    expect(parseExecution(aMessage(event))).toEqual({
      kind: 'execution',
      execution: { ...anEvent(), quantity: '1.5' },
      contentHash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
  });

  test('an event that moves nothing carries neither quantity nor price', () => {
    expect(parseExecution(aMessage(anAcknowledgement())).kind).toBe('execution');
    expect(faultOf(aMessage(anEvent({ type: 'NEW' })))).toContain('quantity must be left out for type NEW');
  });

  test('reordered members, white space, aliases and trailing zeros do not change the content hash', () => {
    const { source, ...rest } = anEvent({ quantity: '1.0', side: 'BUY' });
    const reordered = parseExecution(textMessage(JSON.stringify({ ...rest, source }, null, 3)));
    const plain = parseExecution(aMessage(anEvent()));
    expect(reordered).toEqual(plain);
  });

  test('another price under the same id changes the content hash', () => {
    const first = parseExecution(aMessage(anEvent()));
    const second = parseExecution(aMessage(anEvent({ price: '1.0846' })));
    expect(first.kind === 'execution' && second.kind === 'execution').toBe(true);
    expect(second).not.toHaveProperty('contentHash', first.kind === 'execution' && first.contentHash);
  });
});

describe('what cannot be read is named', () => {
  test.each([
    ['a tombstone', aMessage(anEvent(), { value: null }), /no value \(a tombstone\)/],
    ['an empty value', textMessage(''), /not JSON/],
    ['text that is not JSON', textMessage('{"source":'), /not JSON/],
    ['a byte order mark', textMessage('\ufeff' + JSON.stringify(anEvent())), /not JSON/],
    ['bytes that are no UTF-8', aMessage(anEvent(), { value: Buffer.from([0x7b, 0xff, 0x7d]) }), /UTF-8/],
    ['JSON that is no object', textMessage('[1]'), /\(body\)/],
    ['JSON null', textMessage('null'), /\(body\)/],
    ['JSON nested a hundred thousand deep', textMessage('['.repeat(100_000)), /not JSON/],
    [
      'a value above the limit',
      aMessage(anEvent(), { value: Buffer.alloc(MAX_EVENT_BYTES + 1, ' ') }),
      /1048577 bytes; at most 1048576/,
    ],
    ['an unknown field', textMessage(JSON.stringify({ ...anEvent(), lastQty: '1' })), /lastQty/],
    ['an unknown type', textMessage(JSON.stringify({ ...anEvent(), type: 'STATUS' })), /^type /],
    [
      'an id as a JSON number beyond 2^53',
      textMessage(JSON.stringify(anEvent()).replace('"E-1"', '9007199254740993')),
      /executionId must be a string; a JSON number is refused/,
    ],
    ['a quantity as a JSON number', textMessage(JSON.stringify({ ...anEvent(), quantity: 1 })), /double/],
    ['a quantity of zero', aMessage(anEvent({ quantity: '0' })), /quantity must be above zero/],
    ['a negative quantity', aMessage(anEvent({ quantity: '-1' })), /quantity must be above zero/],
    ['a time without a zone', aMessage(anEvent({ executedAt: '2026-03-14T09:26:53' })), /executedAt/],
    [
      'a member given twice',
      textMessage('{"price":"9",' + JSON.stringify(anEvent()).slice(1)),
      /more than once/,
    ],
    [
      'a member given twice, once in escapes',
      textMessage('{"pric\\u0065":"9",' + JSON.stringify(anEvent()).slice(1)),
      /more than once/,
    ],
    ['a reason with U+0000', aMessage(anEvent({ reason: 'a\0b' })), /reason/],
    ['an id with half a surrogate pair', aMessage(anEvent({ executionId: 'a\ud800' })), /executionId/],
    ['no key', aMessage(anEvent(), { key: null }), /key must be order:acme:order-1; there is none/],
    [
      'an empty key',
      aMessage(anEvent(), { key: Buffer.alloc(0) }),
      /key must be order:acme:order-1; it is ""/,
    ],
    [
      'the key of another order',
      aMessage(anEvent(), { key: Buffer.from('order:acme:order-2') }),
      /it is "order:acme:order-2"/,
    ],
  ])('%s', (_, message, fault) => {
    expect(faultOf(message)).toMatch(fault);
  });

  test('a prototype as a member is an unknown field and changes no object', () => {
    const text = '{"__proto__":{"side":"sell"},' + JSON.stringify(anEvent()).slice(1);
    expect(parseExecution(textMessage(text)).kind).toBe('malformed');
    expect(Object.prototype).not.toHaveProperty('side');
  });

  test('strings that look like members do not count as members', () => {
    const event = anEvent({ reason: '"price": "9", \\"x\\":', venueOrderId: ':":' });
    expect(parseExecution(aMessage(event)).kind).toBe('execution');
  });

  test('what can be made out is kept for those who search', () => {
    const parsed = parseExecution(aMessage(anEvent({ quantity: '0' })));
    expect(parsed).toHaveProperty('fields', {
      source: 'SIM',
      type: 'FILL',
      executionId: 'E-1',
      accountId: 'acme',
      clientOrderId: 'order-1',
    });
  });

  test('the fault of a hostile message stays short', () => {
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`field-${n}`, n]));
    expect(faultOf(textMessage(JSON.stringify({ ...anEvent(), ...many }))).length).toBeLessThanOrEqual(2_000);
  });
});
