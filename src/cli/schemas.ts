import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { executionEvent } from '../contracts/execution-event';
import { venueCommand } from '../contracts/venue-command';
import { EXECUTION_TYPES } from '../domain/execution';
import { packageRoot } from '../package-root';

type JsonSchema = Readonly<Record<string, unknown>>;

export const SCHEMA_DIRECTORY = join('docs', 'schemas');

/** The JSON Schemas of the two topics by file name, generated from the contracts that the code itself uses. */
export function generateSchemas(): Readonly<Record<string, JsonSchema>> {
  return {
    'execution-event.schema.json': { ...flatSchema(executionEvent), allOf: typeRules() },
    'venue-command.schema.json': flatSchema(venueCommand),
  };
}

/** `tekil schemas`: writes the schemas into docs/schemas. */
export function registerSchemas(program: Command): void {
  program
    .command('schemas')
    .description('write the JSON Schemas of the Kafka topics into docs/schemas')
    .action(() => {
      const directory = join(packageRoot(), SCHEMA_DIRECTORY);
      mkdirSync(directory, { recursive: true });
      for (const [name, schema] of Object.entries(generateSchemas())) {
        writeFileSync(join(directory, name), `${JSON.stringify(schema, null, 2)}\n`);
        console.log(`wrote ${join(SCHEMA_DIRECTORY, name)}`);
      }
    });
}

/** What a producer may send (`input`), with the one definition at the top instead of behind a reference. */
function flatSchema(contract: z.ZodType): JsonSchema {
  const { $schema, $defs = {} } = z.toJSONSchema(contract, { io: 'input' });
  const [[title, definition] = ['', {}]] = Object.entries($defs);
  return { $schema, title, ...definition };
}

/**
 * Which fields each type must have and must not have. The contract states it as code, which no generator can read; so
 * it is asked about each type and field.
 */
function typeRules(): JsonSchema[] {
  return EXECUTION_TYPES.map((type) => {
    const required = DEPENDING_FIELDS.filter((field) => hasFault(type, field, false));
    const forbidden = DEPENDING_FIELDS.filter((field) => hasFault(type, field, true));
    return {
      if: { properties: { type: { const: type } } },
      then: { required, properties: Object.fromEntries(forbidden.map((field) => [field, false])) },
    };
  });
}

const DEPENDING_FIELDS = ['refExecutionId', 'quantity', 'price'] as const;

function hasFault(type: string, field: (typeof DEPENDING_FIELDS)[number], present: boolean): boolean {
  const event = { ...MINIMAL_EVENT, type, ...(present ? { [field]: '1' } : {}) };
  const issues = executionEvent.safeParse(event).error?.issues ?? [];
  return issues.some((issue) => issue.path[0] === field);
}

const MINIMAL_EVENT = {
  source: 'S',
  executionId: 'E',
  accountId: 'a',
  clientOrderId: 'c',
  symbol: 'EURUSD',
  side: 'buy',
  executedAt: '2026-03-14T09:26:53Z',
};
