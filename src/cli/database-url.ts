import { InvalidArgumentError, Option } from 'commander';

/** The option of every command that needs the database and nothing else. */
export function databaseUrlOption(): Option {
  return new Option('--database-url <url>', 'the database, as postgres://user:password@host:port/name')
    .env('DATABASE_URL')
    .argParser((text) => {
      if (/^postgres(ql)?:\/\//.test(text)) return text;
      throw new InvalidArgumentError('It must start with postgres://');
    })
    .makeOptionMandatory();
}
