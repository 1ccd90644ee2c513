import { databaseFault } from '../db/pg-errors';
import type { Pool } from '../db/pool';
import { findProcessed } from '../db/processed-events';
import { insertQuarantined } from '../db/quarantine';
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
    findProcessed: (identities) => findProcessed(pool, identities),
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
