import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** PostgreSQL refuses to run as root. These are tried in turn; the second one is there on every Unix. */
const CANDIDATES = ['postgres', 'nobody'] as const;

export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/** How to run a program so that PostgreSQL accepts it. */
export interface Invocation {
  readonly command: string;
  readonly args: readonly string[];
  readonly user?: ServerUser;
}

/** The user under which PostgreSQL must run; undefined when the present one will do. */
export function serverUser(): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of CANDIDATES) {
    const uid = idOf(name, '-u');
    const gid = idOf(name, '-g');
    if (uid !== undefined && gid !== undefined) return { uid, gid };
  }
  throw new Error(`PostgreSQL refuses to run as root and there is no user ${CANDIDATES.join(' or ')}`);
}

/**
 * Runs `command` as `user`. Below a folder that only root may enter (a clone into a private temporary folder, a
 * checkout in root's home) the other user could not even read the program: there it keeps root's right to pass.
 */
export function invocationAs(
  user: ServerUser | undefined,
  command: string,
  args: readonly string[],
  folders: readonly string[],
): Invocation {
  if (user === undefined) return { command, args };
  if (folders.every(mayBeEnteredByAll)) return { command, args, user };
  const ids = ['--reuid', String(user.uid), '--regid', String(user.gid), '--clear-groups'];
  const right = ['--inh-caps', '+dac_override', '--ambient-caps', '+dac_override'];
  // Else the system leaves the right out of account where a program asks what it may do before it does it.
  const alsoWhenAsked = ['--securebits', '+no_setuid_fixup'];
  return { command: 'setpriv', args: [...alsoWhenAsked, ...ids, ...right, '--', command, ...args] };
}

function mayBeEnteredByAll(folder: string): boolean {
  const EVERYBODY_MAY_ENTER = 0o001;
  for (let path = resolve(folder); ; path = dirname(path)) {
    if ((statSync(path).mode & EVERYBODY_MAY_ENTER) === 0) return false;
    if (path === dirname(path)) return true;
  }
}

function idOf(name: string, flag: '-u' | '-g'): number | undefined {
  try {
    return Number(
      execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    );
  } catch {
    return undefined;
  }
}
