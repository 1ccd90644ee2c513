import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { openApiDocument } from '../http/openapi';
import { packageRoot } from '../package-root';

export const OPENAPI_FILE = join('docs', 'openapi.json');

/** `tekil openapi`: writes the API's document, made from the contracts, into docs/openapi.json. */
export function registerOpenapi(program: Command): void {
  program
    .command('openapi')
    .description('write the OpenAPI document of the API into docs/openapi.json')
    .action(() => {
      writeFileSync(join(packageRoot(), OPENAPI_FILE), `${JSON.stringify(openApiDocument(), null, 2)}\n`);
      console.log(`wrote ${OPENAPI_FILE}`);
    });
}
