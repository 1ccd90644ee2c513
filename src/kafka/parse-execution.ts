import { isUtf8 } from 'node:buffer';
import { executionEvent, executionOf } from '../contracts/execution-event';
import { fieldFaults } from '../contracts/fields';
import type { Execution } from '../domain/execution';
import { executionContentHash } from '../domain/execution-hash';
import { orderWorkflowId } from '../domain/ids';

/** The largest value that is read. An execution with every field at its longest is below 20 KB. */
export const MAX_EVENT_BYTES = 1_048_576;
/** A fault is for people; what a hostile message would make of it is cut here. */
const MAX_FAULT_CHARACTERS = 2_000;
const MAX_FIELD_CHARACTERS = 256;

export interface ReadExecution {
  readonly kind: 'execution';
  readonly execution: Execution;
  /** SHA-256 of the normalised content, hexadecimal. */
  readonly contentHash: string;
}

export interface MalformedExecution {
  readonly kind: 'malformed';
  /** What is wrong and what would be right. */
  readonly fault: string;
  readonly fields: LegibleFields;
}

/** The naming fields of a malformed event, as far as they are short strings. */
export type LegibleFields = Readonly<Partial<Record<(typeof NAMING_FIELDS)[number], string>>>;

const NAMING_FIELDS = ['source', 'type', 'executionId', 'accountId', 'clientOrderId'] as const;

export type ParsedExecution = ReadExecution | MalformedExecution;

/** Reads one message of the topic `executions`. Never throws: every fault is a verdict. */
export function parseExecution(message: {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
}): ParsedExecution {
  const parsed = parseValue(message.value);
  if (parsed.kind === 'malformed') return parsed;
  const { execution } = parsed;
  const fault = keyFault(message.key, execution);
  return fault === undefined ? parsed : malformed(fault, execution);
}

/**
 * Reads an execution that was set aside, from its text alone: when its message's key was at fault, the operator who
 * decides about it answers for its value.
 */
export function readPayload(payload: string): Execution | { readonly fault: string } {
  const parsed = parseValue(Buffer.from(payload, 'utf8'));
  return parsed.kind === 'malformed' ? parsed : parsed.execution;
}

function parseValue(value: Buffer | null): ParsedExecution {
  const text = valueText(value);
  if ('fault' in text) return malformed(text.fault);
  const json = parseJson(text.text);
  if ('fault' in json) return malformed(json.fault);
  const event = executionEvent.safeParse(json.value);
  if (!event.success) {
    const faults = fieldFaults(event.error).map(({ field, message }) => `${field} ${message}`);
    return malformed(faults.join('; '), json.value);
  }
  const fault = memberFault(text.text, json.value);
  if (fault !== undefined) return malformed(fault, json.value);
  const execution = executionOf(event.data);
  return { kind: 'execution', execution, contentHash: executionContentHash(execution) };
}

function malformed(fault: string, value?: unknown): MalformedExecution {
  return { kind: 'malformed', fault: fault.slice(0, MAX_FAULT_CHARACTERS), fields: legibleFields(value) };
}

function valueText(value: Buffer | null): { readonly text: string } | { readonly fault: string } {
  if (value === null)
    return { fault: 'the message has no value (a tombstone); an execution is never deleted' };
  if (value.length > MAX_EVENT_BYTES) {
    return { fault: `the value has ${value.length} bytes; at most ${MAX_EVENT_BYTES} are read` };
  }
  if (!isUtf8(value)) return { fault: 'the value is not valid UTF-8' };
  return { text: value.toString('utf8') };
}

function parseJson(text: string): { readonly value: unknown } | { readonly fault: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { fault: `the value is not JSON: ${error instanceof Error ? error.message : 'unreadable'}` };
  }
}

/**
 * `{"quantity":"1","quantity":"10"}` means different things to different readers. A value that fits the contract is
 * flat and holds strings only, so its members can be counted by its string tokens that a colon follows.
 */
function memberFault(text: string, value: unknown): string | undefined {
  if (text.length === compactLength(value)) return undefined;
  let members = 0;
  for (const [, colon] of text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)) if (colon !== undefined) members += 1;
  return members === Object.keys(value as object).length ? undefined : 'a member is given more than once';
}

/**
 * How long the value is without white space and escapes. A text of just this length holds no member that is not in the
 * value, since whatever reading left out would have made it longer.
 */
function compactLength(value: unknown): number {
  let length = 1;
  for (const [name, text] of Object.entries(value as Readonly<Record<string, string>>)) {
    length += name.length + text.length + '"":"",'.length;
  }
  return length;
}

/** The key decides the partition, and the partition keeps the order within an order. */
function keyFault(key: Buffer | null, execution: Execution): string | undefined {
  const expected = orderWorkflowId(execution);
  if (key?.toString('utf8') === expected) return undefined;
  const found =
    key === null ? 'there is none' : `it is ${JSON.stringify(key.toString('utf8').slice(0, 300))}`;
  return `the message key must be ${expected}; ${found}`;
}

function legibleFields(value: unknown): LegibleFields {
  if (typeof value !== 'object' || value === null) return {};
  const object = value as Readonly<Record<string, unknown>>;
  const legible = NAMING_FIELDS.filter((field) => {
    const text = object[field];
    return typeof text === 'string' && text.length <= MAX_FIELD_CHARACTERS;
  });
  return Object.fromEntries(legible.map((field) => [field, object[field] as string]));
}
