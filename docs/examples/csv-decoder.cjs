'use strict';

/**
 * Reads the quotes of an imaginary venue, one line of ASCII a message:
 *
 *   Q,<symbol>,<bid>,<ask>,<microseconds since 1970>    a price; full snapshots begin with F instead
 *   S,<anything>                                        a status line, which says nothing about a price
 */
const QUOTE_TYPES = { Q: 'tick', F: 'snapshot' };
const SYMBOL = /^[A-Z0-9][A-Z0-9._/-]{0,31}$/;
const PRICE = /^-?\d{1,12}(\.\d{1,12})?$/;
const MICROS = /^\d{16}$/;

const unread = (fault) => ({ kind: 'unread', fault });

const decoder = {
  faults: ['type', 'fields', 'symbol', 'price', 'time'],

  decode(message) {
    const fields = message.toString('latin1').split(',');
    const [type, symbol, bid, ask, micros] = fields;
    if (type === 'S') return { kind: 'no_quote' };
    const kind = QUOTE_TYPES[type];
    // Unknown is not the same as meaningless: whatever it is, it may have been a price.
    if (kind === undefined) return unread('type');
    if (fields.length !== 5) return unread('fields');
    if (!SYMBOL.test(symbol)) return unread('symbol');
    if (!PRICE.test(bid) || !PRICE.test(ask)) return unread('price');
    if (!MICROS.test(micros)) return unread('time');
    return { kind, symbol, bid: Number(bid), ask: Number(ask), sourceTimeMs: Number(micros) / 1000 };
  },
};

module.exports = { decoder };
