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

/** The answer of `GET /v1/gate/{symbol}`: a verdict and all the evidence for it. Stored with the order. */
export const gateVerdict = z
  .strictObject({
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
    bid: z.number().nullable(),
    ask: z.number().nullable(),
    /** When the verdict was made, RFC 3339. */
    decidedAt: z.string(),
  })
  .meta({ id: 'GateVerdict' });

export type GateVerdict = z.output<typeof gateVerdict>;
