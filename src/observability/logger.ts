import pino, { type Logger } from 'pino';

export type { Logger };

/** Structured logs on standard output, one JSON object a line. Secrets are never put into a field; these are cut all the same. */
export function createLogger(service: string, level: string): Logger {
  return pino({
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: {
      paths: ['req.headers.authorization', 'authorization', 'apiKey', 'databaseUrl'],
      censor: '[redacted]',
    },
  });
}

/** For tests and for programs whose own output matters more. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}
