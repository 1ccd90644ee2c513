/**
 * The address of a real server, as `npm run test:integration` and its siblings provide it.
 * @throws when it is missing: a test that claims something about a server never passes without one.
 */
export function serverAddress(variable: 'DATABASE_URL' | 'TEMPORAL_ADDRESS' | 'KAFKA_BROKERS'): string {
  const value = process.env[variable];
  if (value === undefined || value === '') {
    throw new Error(
      `${variable} is not set: run this test through "npm run test:integration" or "node scripts/with-servers.mjs"`,
    );
  }
  return value;
}
