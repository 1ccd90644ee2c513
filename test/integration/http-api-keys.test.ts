import { Command } from 'commander';
import { registerApiKey } from '../../src/cli/api-key';
import { createApiKey, findKeyHolder, listApiKeys, revokeApiKey } from '../../src/db/api-keys';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

describe('API keys', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  test('a key opens its account, and nothing but its hash is stored', async () => {
    const { key, keyId } = await createApiKey(database.pool, 'acme');
    expect(key).toMatch(new RegExp(`^tk_${keyId}_[A-Za-z0-9_-]{43}$`));
    expect((await findKeyHolder(database.pool, key))?.accountId).toBe('acme');
    const { rows } = await database.pool.query<{ row: string }>('select k::text as row from api_keys k');
    expect(rows.some(({ row }) => row.includes(keyId))).toBe(true);
    expect(JSON.stringify(rows)).not.toContain(key.slice(20));
  });

  test('two keys of an account are different, and both open it', async () => {
    const keys = [await createApiKey(database.pool, 'twice'), await createApiKey(database.pool, 'twice')];
    expect(keys[0]!.key).not.toBe(keys[1]!.key);
    for (const { key } of keys) expect((await findKeyHolder(database.pool, key))?.accountId).toBe('twice');
  });

  test.each([
    ['another secret', (key: string) => `${key.slice(0, 20)}${'A'.repeat(43)}`],
    ['the id of another key', (key: string) => `tk_0000000000000000${key.slice(19)}`],
    ['something behind it', (key: string) => `${key}A`],
    ['another case', (key: string) => key.toUpperCase()],
  ])('a key with %s opens nothing', async (_, change) => {
    const { key } = await createApiKey(database.pool, 'acme');
    expect(await findKeyHolder(database.pool, change(key))).toBeUndefined();
  });

  test('a revoked key opens nothing; revoking it again changes nothing', async () => {
    const { key, keyId } = await createApiKey(database.pool, 'revoked');
    expect(await revokeApiKey(database.pool, keyId)).toBe(true);
    expect(await findKeyHolder(database.pool, key)).toBeUndefined();
    const [before] = await listApiKeys(database.pool, 'revoked');
    expect(await revokeApiKey(database.pool, keyId)).toBe(true);
    expect(await listApiKeys(database.pool, 'revoked')).toEqual([before]);
    expect(await revokeApiKey(database.pool, '0000000000000000')).toBe(false);
  });

  test('an account id that could not be an account is refused', async () => {
    await expect(createApiKey(database.pool, 'a:b')).rejects.toThrow('bad account id "a:b"');
  });
});

describe('tekil api-key', () => {
  let database: TestDatabase;
  const out: string[] = [];
  beforeAll(async () => {
    database = await createTestDatabase();
    jest.spyOn(console, 'log').mockImplementation((line: string) => void out.push(line));
    jest.spyOn(console, 'error').mockImplementation(() => undefined);
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    await database.drop();
  });

  const tekil = async (...words: readonly string[]): Promise<readonly string[]> => {
    out.length = 0;
    const program = new Command('tekil').exitOverride().configureOutput({ writeErr: () => undefined });
    registerApiKey(program);
    program.commands[0]?.commands.forEach((command) => command.exitOverride());
    await program.parseAsync(['api-key', ...words, '--database-url', database.url], { from: 'user' });
    return [...out];
  };

  test('creates, lists and revokes', async () => {
    const [key = ''] = await tekil('create', '--account', 'acme');
    await tekil('create', '--account', 'other');
    expect((await findKeyHolder(database.pool, key))?.accountId).toBe('acme');
    const keyId = key.slice(3, 19);
    expect(await tekil('list', '--account', 'acme')).toEqual([
      expect.stringMatching(new RegExp(`^${keyId}  acme  created \\S+$`)),
    ]);
    expect(await tekil('list')).toHaveLength(2);
    expect(await tekil('revoke', keyId)).toEqual([`revoked ${keyId}`]);
    expect(await findKeyHolder(database.pool, key)).toBeUndefined();
    expect((await tekil('list', '--account', 'acme'))[0]).toMatch(/ revoked \S+$/);
  });

  test('creates a key for operators, and marks it', async () => {
    const [key = ''] = await tekil('create', '--account', 'ops', '--operator');
    expect(await findKeyHolder(database.pool, key)).toEqual({
      keyId: key.slice(3, 19),
      accountId: 'ops',
      scope: 'operator',
    });
    expect((await tekil('list', '--account', 'ops'))[0]).toContain('  ops  operator  created ');
  });

  test('says what is wrong with an account, and which key is not there', async () => {
    await expect(tekil('create', '--account', 'a:b')).rejects.toThrow('letters, digits');
    await expect(tekil('create')).rejects.toThrow("required option '--account");
    await expect(tekil('revoke', '0123456789abcdef')).rejects.toThrow('there is no key 0123456789abcdef');
  });
});
