import { databaseFault } from '../db/pg-errors';
import type { Pool } from '../db/pool';
import { insertQuarantined } from '../db/quarantine';
import { findSettled } from '../db/settled-events';
import { KafkaUnavailableError } from '../kafka/acknowledged-producer';
import type { DeadLetterProducer } from '../kafka/dead-letter';
import type { ExecutionPorts, Server } from '../kafka/execution-slice';
import { TemporalUnavailableError, type ExecutionGateway } from '../temporal/order-gateway';

/** Connects the consumer of executions with the database, Temporal and the dead letter topic. */
export function connectExecutionPorts(
  pool: Pool,
  gateway: ExecutionGateway,
  deadLetters: DeadLetterProducer,
): ExecutionPorts {
  return {
    findSettled: (executions) => findSettled(pool, executions),
    deliver: (batch) => gateway.deliver(batch),
    quarantine: async (messages) => {
      await insertQuarantined(pool, messages);
    },
    publishDeadLetters: (letters) => deadLetters.publish(letters),
    unansweredBy,
  };
}

function unansweredBy(error: unknown): Server | undefined {
  if (error instanceof TemporalUnavailableError) return 'temporal';
  if (error instanceof KafkaUnavailableError) return 'kafka';
  return databaseFault(error) === 'permanent' ? undefined : 'postgresql';
}
