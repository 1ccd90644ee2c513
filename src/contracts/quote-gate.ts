import { z } from 'zod';

export const GATE_CODES = [
  'NO_QUOTE',
  'STALE_QUOTE',
  'STALE_AT_SOURCE',
  'SUSPECT_QUOTE',
  'CLOCK_OFFSET',
] as const;

/** Why a gate is closed. */
export type GateCode = (typeof GATE_CODES)[number];

/**
 * The answer of `GET /v1/gate/{symbol}`: a verdict and all the evidence for it. Stored with the order. What was stored by
 * an earlier version lacks members that came later, so nobody reads stored evidence through this schema; a member that
 * is not known here is dropped, so that a gate may be newer than those who ask it.
 */
export const gateVerdict = z
  .object({
    symbol: z.string(),
    verdict: z.enum(['open', 'closed']),
    /** Present exactly when closed. */
    code: z.enum(GATE_CODES).optional(),
    /** The facts of the refusal in one sentence, e.g. `stale quote: 1240 ms`. */
    reason: z.string().optional(),
    feed: z.string().nullable(),
    session: z.string().nullable(),
    /** 64-bit, hence text. */
    lastSequence: z.string().nullable(),
    /** Since the last tick or gap-free heartbeat. */
    silenceMs: z.number().nullable(),
    /** Now − source time − measured clock offset. */
    sourceAgeMs: z.number().nullable(),
    clockOffsetMs: z.number().nullable(),
    suspect: z.boolean(),
    /** Since when it has been suspect, RFC 3339; null when it is not. */
    suspectSince: z.string().nullable(),
    /** Messages that the feed has lost since the gate's start; 64-bit, hence text. */
    lost: z.string(),
    bid: z.number().nullable(),
    ask: z.number().nullable(),
    /** When the verdict was made, RFC 3339. */
    decidedAt: z.string(),
  })
  .meta({ id: 'GateVerdict' });

export type GateVerdict = z.output<typeof gateVerdict>;

/** The answer of `GET /v1/gate?symbol=…&symbol=…`: one verdict for each symbol, in the order in which they were asked for. */
export const gateVerdicts = z.object({ verdicts: z.array(gateVerdict) }).meta({ id: 'GateVerdicts' });

const feedHealth = z.object({
  feed: z.string(),
  session: z.string().nullable(),
  lost: z.string(),
  lines: z.array(z.object({ line: z.string(), silenceMs: z.number().nullable(), alive: z.boolean() })),
});

/** The answer of `GET /v1/symbols`, and the data of each event of `GET /v1/stream`: a part of what is known, as it stands. */
export const gateBoard = z
  .object({
    feeds: z.array(feedHealth),
    symbols: z.array(gateVerdict),
    /** Symbols that the filter lets through, on this part and on others. */
    matching: z.number(),
    /** Ask for what comes after this symbol; null on the last part. */
    next: z.string().nullable(),
  })
  .meta({ id: 'GateBoard' });

export type GateBoard = z.output<typeof gateBoard>;
