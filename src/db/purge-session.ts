import { firstRow, type Pool, type PoolClient, type Queryable } from './pool';

/** Any number that no other program takes; the runners of one database meet on it. */
const PURGE_LOCK = 7_024_533_874;
/** A runner whose machine vanished is ended by the server after this, and its lock with it. */
const VANISHED_AFTER_MS = 30_000;

export interface PurgeSessionOptions {
  /** How long one statement waits for a lock. Short: what waits behind it waits as long. */
  readonly lockTimeoutMs: number;
  readonly statementTimeoutMs: number;
  /** Called inside each transaction, at its end; the fault tests end the process here. */
  readonly beforeCommit?: () => void;
}

/**
 * The one connection on which a purge runs. It holds the lock that keeps a second runner out, and the deletes run on it
 * too: a runner that has lost the lock has lost its connection, and can delete nothing more.
 */
export interface PurgeSession extends Queryable {
  /** One transaction with the timeouts set. Any error rolls it back and is thrown on. */
  readonly transaction: <T>(work: (connection: Queryable) => Promise<T>) => Promise<T>;
  /** Closes the connection, and with it lets go of the lock. */
  readonly close: () => void;
}

/** Who holds the purge; undefined when it let go in this very moment. */
export interface Holder {
  readonly name: string;
  readonly pid: number;
  /** RFC 3339. */
  readonly since: string;
}

/**
 * Takes the purge's lock, or says who holds it. It is a lock of the session: a connection pooler between here and
 * PostgreSQL must not share sessions.
 * @param name tells this runner from others in `pg_stat_activity`; up to 63 bytes.
 */
export async function openPurgeSession(
  pool: Pool,
  name: string,
  options: PurgeSessionOptions,
): Promise<{ readonly session: PurgeSession } | { readonly heldBy: Holder | undefined }> {
  const connection = await pool.connect();
  // Between two batches nobody waits for an answer; without a listener a lost connection would end the process.
  connection.on('error', () => undefined);
  try {
    await connection.query(`set idle_session_timeout = ${VANISHED_AFTER_MS}`);
    const taken = await firstRow<{ taken: boolean }>(connection, {
      text: `
        select pg_try_advisory_lock($1::bigint) as "taken"
        from (select set_config('application_name', $2::text, false)) named`,
      values: [PURGE_LOCK, name],
    });
    if (taken?.taken === true) return { session: sessionOn(connection, options) };
    const heldBy = await findHolder(connection);
    connection.release(true);
    return { heldBy };
  } catch (error) {
    connection.release(true);
    throw error;
  }
}

function sessionOn(connection: PoolClient, options: PurgeSessionOptions): PurgeSession {
  const { lockTimeoutMs, statementTimeoutMs } = options;
  const begin = `begin; set local lock_timeout = ${lockTimeoutMs}; set local statement_timeout = ${statementTimeoutMs}`;
  const queryable: Queryable = connection;
  return {
    query: (statement) => queryable.query(statement),
    transaction: async (work) => {
      try {
        await connection.query(begin);
        const result = await work(connection);
        options.beforeCommit?.();
        await connection.query('commit');
        return result;
      } catch (error) {
        // A connection that cannot even roll back is lost, and the next statement on it says so.
        await connection.query('rollback').catch(() => undefined);
        throw error;
      }
    },
    close: () => {
      connection.release(true);
    },
  };
}

async function findHolder(queryable: Queryable): Promise<Holder | undefined> {
  return firstRow<{ name: string; pid: number; since: string }>(queryable, {
    text: `
      select a.application_name as "name", a.pid as "pid",
             to_char(a.backend_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "since"
      from pg_locks l join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and l.granted and l.objsubid = 1
        and l.database = (select oid from pg_database where datname = current_database())
        and (l.classid::bigint << 32 | l.objid::bigint) = $1::bigint`,
    values: [PURGE_LOCK],
  });
}
