import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { OPENAPI_FILE } from '../../src/cli/openapi';
import { ERROR_CODES } from '../../src/contracts/error-codes';
import { openApiDocument } from '../../src/http/openapi';
import { packageRoot } from '../../src/package-root';

const LINT_TIMEOUT_MS = 60_000;

describe('docs/openapi.json', () => {
  test('is what the contracts say; "npm run openapi" writes it anew', () => {
    const committed: unknown = JSON.parse(readFileSync(join(packageRoot(), OPENAPI_FILE), 'utf8'));
    expect(committed).toEqual(JSON.parse(JSON.stringify(openApiDocument())));
  });

  test('is valid for its linter', async () => {
    const linter = require.resolve('@redocly/cli/bin/cli.js');
    const { stderr } = await promisify(execFile)(process.execPath, [linter, 'lint', OPENAPI_FILE], {
      cwd: packageRoot(),
      timeout: LINT_TIMEOUT_MS,
      // Nothing is asked of or told to the network.
      env: { PATH: process.env['PATH'], REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    });
    expect(stderr).toContain('Your API description is valid');
  });

  test('names every error code that an operation can answer with', () => {
    const text = JSON.stringify(openApiDocument().paths);
    // No operation answers these: they are about paths and methods that are none.
    const others = ['NOT_FOUND', 'METHOD_NOT_ALLOWED'];
    for (const code of Object.keys(ERROR_CODES)) {
      if (!others.includes(code)) expect(text).toContain(`"${code}"`);
    }
  });

  test('asks for an API key everywhere', () => {
    expect(openApiDocument().security).toEqual([{ apiKey: [] }]);
  });
});
