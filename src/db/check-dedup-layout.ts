import { allRows, type Queryable } from './pool';

/** The keys that make a repeat harmless, as columns; their order does not matter. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  fill_amendments: ['source', 'event_type', 'execution_id'],
  fills: ['source', 'execution_id'],
  idempotency_keys: ['account_id', 'client_order_id'],
  orders: ['account_id', 'client_order_id'],
  parked_executions: ['source', 'event_type', 'execution_id', 'content_hash'],
  processed_events: ['source', 'event_type', 'event_id'],
};
const DEDUP_TABLES = [...Object.keys(KEYS), 'quarantined_events'];

/** Raised at start: with such a table a repeat would be taken for something new. */
export class DedupLayoutError extends Error {
  override readonly name = 'DedupLayoutError';
}

/**
 * Looks whether the tables that repeats are known by can know them. A column whose default differs from row to row,
 * such as `now()`, makes a unique key that is never met twice: in a key, or as what a table is partitioned by, it is
 * refused. So is a table that has lost its key, or on the partitioned layout the trigger that keeps it.
 * @throws {DedupLayoutError} naming every table, key and column that is wrong, and what would be right.
 */
export async function checkDedupLayout(queryable: Queryable): Promise<void> {
  const faults = [...(await volatileKeys(queryable)), ...(await missingKeys(queryable))];
  if (faults.length === 0) return;
  throw new DedupLayoutError(
    `The database would not recognise repeats:\n${faults.map((fault) => `  ${fault}`).join('\n')}`,
  );
}

/**
 * The default is judged by the functions in its expression, not by its words: `now()` under another name is found, too.
 * The catalogue keeps no dependency on functions of PostgreSQL itself, so they are read from the stored expression.
 */
async function volatileKeys(queryable: Queryable): Promise<string[]> {
  const rows = await allRows<{ key: string; table: string; column: string; default: string }>(queryable, {
    text: `
      with dedup as (
        select oid, relname from pg_class
        where relnamespace = (select relnamespace from pg_class where oid = to_regclass('processed_events'))
          and relkind in ('r', 'p')
          and (relname = any($1::text[]) or pg_partition_root(oid) = to_regclass('processed_events'))
      ), keys as (
        select d.oid, d.relname, x.relname as key, unnest(i.indkey[0 : i.indnkeyatts - 1]) as number
        from dedup d join pg_index i on i.indrelid = d.oid join pg_class x on x.oid = i.indexrelid
        where i.indisunique
        union all
        select d.oid, d.relname, 'the partition key', unnest(p.partattrs::smallint[])
        from dedup d join pg_partitioned_table p on p.partrelid = d.oid
      )
      select k.key as "key", k.relname as "table", a.attname as "column",
             pg_get_expr(f.adbin, f.adrelid) as "default"
      from keys k
      join pg_attribute a on a.attrelid = k.oid and a.attnum = k.number and a.attgenerated = ''
      join pg_attrdef f on f.adrelid = k.oid and f.adnum = k.number
      where f.adbin::text ~ 'SQLVALUEFUNCTION|NEXTVALUEEXPR'
         or exists (
           select from regexp_matches(f.adbin::text, ':(?:funcid|opfuncid) (\\d+)', 'g') as m
           join pg_proc on pg_proc.oid = m[1]::oid
           where pg_proc.provolatile <> 'i')
      order by 2, 1, 3`,
    values: [DEDUP_TABLES],
  });
  return rows.map(
    ({ key, table, column, default: text }) =>
      `${key} of ${table} contains ${column}, whose default is ${text}: each repeat would get another value and pass as new. The key must hold only what the event or the request itself carries.`,
  );
}

async function missingKeys(queryable: Queryable): Promise<string[]> {
  const rows = await allRows<{ table: string; partitioned: boolean; trigger: boolean; keys: string[] }>(
    queryable,
    {
      text: `
      select c.relname as "table", c.relkind = 'p' as "partitioned",
        exists (
          select from pg_trigger t
          where t.tgrelid = c.oid and t.tgname = 'processed_events_identity' and t.tgenabled in ('O', 'A')
        ) as "trigger",
        array(
          select (select string_agg(a.attname, ' ' order by a.attname)
                  from pg_attribute a
                  where a.attrelid = c.oid and a.attnum = any(i.indkey[0 : i.indnkeyatts - 1]))
          from pg_index i
          where i.indrelid = c.oid and i.indisunique and i.indisvalid
            and i.indpred is null and i.indexprs is null
        ) as "keys"
      from unnest($1::text[]) as name join pg_class c on c.oid = to_regclass(name)`,
      values: [Object.keys(KEYS)],
    },
  );
  return Object.entries(KEYS).flatMap(([table, columns]) => {
    const found = rows.find((row) => row.table === table);
    if (found === undefined) return [`there is no table ${table}: run "tekil migrate".`];
    const key = found.partitioned ? [...columns, 'event_time'] : columns;
    const faults: string[] = [];
    if (!found.keys.includes(key.toSorted().join(' '))) {
      faults.push(`${table} has no valid unique key of exactly (${key.join(', ')}).`);
    }
    if (found.partitioned && !found.trigger) {
      faults.push(
        `${table} is partitioned and its trigger processed_events_identity is missing or disabled: an event that comes again with another time would pass as new.`,
      );
    }
    return faults;
  });
}
