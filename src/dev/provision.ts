import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../package-root';

/** A server that Docker Compose runs, where neither an installation nor a package was to be had. */
interface ByCompose {
  readonly kind: 'compose';
}

export interface PostgresBinaries {
  readonly kind: 'binaries';
  /** The folder with `postgres` and `initdb`. */
  readonly folder: string;
}

export interface TemporalBinary {
  readonly kind: 'binary';
  /** The Temporal CLI, which holds the development server. */
  readonly path: string;
}

export interface KafkaJars {
  readonly kind: 'jars';
  readonly java: string;
  /** The folder with the jar files. */
  readonly folder: string;
}

/** What the set-up found or fetched; see scripts/lib/provision.mjs, which writes it. */
export interface Provision {
  readonly postgres?: PostgresBinaries | ByCompose;
  readonly temporal?: TemporalBinary | ByCompose;
  readonly kafka?: KafkaJars | ByCompose;
}

/** What the set-up provided for one server. @throws {Error} saying what to run when there is nothing. */
export function provisionOf<Server extends keyof Provision>(server: Server): NonNullable<Provision[Server]> {
  const found = readProvision()[server];
  if (found === undefined) throw new Error(`nothing provides ${server} yet: run "npm run setup" first`);
  return found;
}

/** Does Docker run one of the servers? */
export function usesCompose(): boolean {
  return Object.values(readProvision()).some(({ kind }) => kind === 'compose');
}

function readProvision(): Provision {
  try {
    return JSON.parse(readFileSync(join(packageRoot(), '.tekil', 'servers.json'), 'utf8')) as Provision;
  } catch {
    // The set-up was not run; whoever needs something of it says so.
    return {};
  }
}
