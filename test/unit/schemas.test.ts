import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateSchemas, SCHEMA_DIRECTORY } from '../../src/cli/schemas';
import { packageRoot } from '../../src/package-root';

const directory = join(packageRoot(), SCHEMA_DIRECTORY);

describe('the committed JSON Schemas', () => {
  test.each(Object.entries(generateSchemas()))('%s is what the contract says', (name, schema) => {
    const committed: unknown = JSON.parse(readFileSync(join(directory, name), 'utf8'));
    expect(committed).toEqual(JSON.parse(JSON.stringify(schema)));
  });

  test('are all there and no others', () => {
    expect(readdirSync(directory).toSorted()).toEqual(Object.keys(generateSchemas()).toSorted());
  });

  test('say which fields each type carries', () => {
    const rules = generateSchemas()['execution-event.schema.json']?.['allOf'];
    expect(rules).toContainEqual({
      if: { properties: { type: { const: 'BUST' } } },
      then: { required: ['refExecutionId'], properties: { quantity: false, price: false } },
    });
    expect(rules).toContainEqual({
      if: { properties: { type: { const: 'FILL' } } },
      then: { required: ['quantity', 'price'], properties: { refExecutionId: false } },
    });
  });
});

describe('the documents of the topics', () => {
  const pages = {
    'execution-event.schema.json': 'executions.md',
    'venue-command.schema.json': 'venue-bridge.md',
  };

  test.each(Object.entries(pages))('%s: every field and every value stands in docs/%s', (name, page) => {
    const text = readFileSync(join(packageRoot(), 'docs', page), 'utf8');
    const { properties } = generateSchemas()[name] as { properties: Record<string, { enum?: string[] }> };
    const words = Object.entries(properties).flatMap(([field, { enum: values = [] }]) => [field, ...values]);
    expect(words.filter((word) => !text.includes(`\`${word}\``))).toEqual([]);
  });
});
