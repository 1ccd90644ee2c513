import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { serverAddress } from './environment';

/** What an operator does with the Temporal CLI. */
export interface OperatorClient {
  readonly client: Client;
  /** `temporal workflow reset --type FirstWorkflowTask`. */
  resetToFirstTask(workflowId: string): Promise<void>;
  close(): Promise<void>;
}

export async function temporalClient(address = serverAddress('TEMPORAL_ADDRESS')): Promise<OperatorClient> {
  const connection = await Connection.connect({ address });
  const client = new Client({ connection });
  return {
    client,
    resetToFirstTask: async (workflowId) => {
      const history = await client.workflow.getHandle(workflowId).fetchHistory();
      const completed = history.events?.find((event) => event.workflowTaskCompletedEventAttributes != null);
      await client.workflowService.resetWorkflowExecution({
        namespace: 'default',
        workflowExecution: { workflowId },
        reason: 'a test resets the run',
        workflowTaskFinishEventId: completed?.eventId ?? null,
        requestId: randomUUID(),
      });
    },
    close: () => connection.close(),
  };
}
