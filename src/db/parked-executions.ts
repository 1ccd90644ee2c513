import type { Execution } from '../domain/execution';
import { executionContentHash } from '../domain/execution-hash';
import type { OrderKey } from '../domain/ids';
import { allRows, type PoolClient } from './pool';

/**
 * Keeps executions of an order that does not exist here. The caller holds the lock on the order's key.
 * Returns those that were not parked before.
 */
export async function parkExecutions(
  connection: PoolClient,
  executions: readonly Execution[],
): Promise<Execution[]> {
  const rows = await allRows<{ execution: Execution }>(connection, {
    text: `
      insert into parked_executions
        (source, event_type, execution_id, account_id, client_order_id, content_hash, execution)
      select e.execution ->> 'source', e.execution ->> 'type', e.execution ->> 'executionId',
             e.execution ->> 'accountId', e.execution ->> 'clientOrderId', decode(e.hash, 'hex'), e.execution
      from unnest($1::jsonb[], $2::text[]) as e (execution, hash)
      on conflict on constraint parked_executions_pkey do nothing
      returning execution as "execution"`,
    values: [executions.map((execution) => JSON.stringify(execution)), executions.map(executionContentHash)],
  });
  return rows.map((row) => row.execution);
}

/** Takes out everything that waits for an order, in the order in which it came. What was decided about stays. */
export async function takeParked(connection: PoolClient, key: OrderKey): Promise<Execution[]> {
  const rows = await allRows<{ execution: Execution }>(connection, {
    text: `
      with taken as (
        delete from parked_executions
        where account_id = $1::text and client_order_id = $2::text and decision_id is null
        returning sequence, execution
      )
      select execution as "execution" from taken order by sequence`,
    values: [key.accountId, key.clientOrderId],
  });
  return rows.map((row) => row.execution);
}
