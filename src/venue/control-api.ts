import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type ErrorRequestHandler, type Express, type Request } from 'express';
import { z } from 'zod';
import { fieldFaults } from '../contracts/fields';
import type { Logger } from '../observability/logger';
import { behaviourBook } from './behaviour';
import type { ExecutionPublisher } from './execution-publisher';
import type { SimulatedVenue } from './simulated-venue';

/** What the control API asks of the simulated quote feed. */
export interface FeedControls {
  setMode(mode: 'ticks' | 'heartbeats' | 'silent'): void;
  skip(count: number): void;
  repeat(): void;
  newSession(): void;
  delaySource(delayMs: number): void;
}

export interface ControlApiParts {
  readonly venue: SimulatedVenue;
  readonly publisher: Pick<ExecutionPublisher, 'publishRaw'>;
  readonly feed: FeedControls;
  readonly logger: Logger;
}

const BODY_LIMIT = '2mb';
const MAX_TIMES = 10_000;

const emission = z.strictObject({
  /** Published as it is, right or wrong. */
  execution: z.record(z.string(), z.unknown()).optional(),
  /** Instead of `execution`: the text of the value. */
  value: z.string().optional(),
  /** The order's workflow id when left out. */
  key: z.string().optional(),
  times: z.number().int().min(1).max(MAX_TIMES).default(1),
});

const feedCount = z.strictObject({ count: z.number().int().min(1).max(1_000_000).default(1) });
const feedDelay = z.strictObject({ delayMs: z.number().int().min(0).max(86_400_000) });

/** Steers the simulated venue and its feed. For this machine only: it has no authentication. */
export function createControlApi(parts: ControlApiParts): Express {
  const { venue, publisher } = parts;
  const app = express();
  app.disable('x-powered-by');
  app.use(express.json({ limit: BODY_LIMIT }));

  app.get('/v1/behaviour', (_request, response) => {
    response.json(venue.behaviours);
  });
  app.put('/v1/behaviour', (request, response) => {
    venue.behaviours = behaviourBook.parse(request.body);
    response.json(venue.behaviours);
  });
  app.post('/v1/executions', async (request, response) => {
    const { times, ...message } = emission.parse(request.body);
    await publisher.publishRaw(rawMessage(message), times);
    response.status(202).json({ published: times });
  });
  app.get('/v1/commands', (request, response) => {
    const { received, duplicates } = venue.commands;
    response.json({ received, duplicates, commands: venue.commands.entries(orderFilter(request)) });
  });
  addFeedRoutes(app, parts.feed);

  app.use((_request, response) => {
    response.status(404).json({ error: 'there is nothing here' });
  });
  app.use(errorAnswer(parts.logger));
  return app;
}

/** Serves the control API. `port` 0 picks a free one. */
export async function startControlApi(
  options: { readonly host: string; readonly port: number },
  parts: ControlApiParts,
): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const app = createControlApi(parts);
  const server = await new Promise<Server>((resolve, reject) => {
    const listening = app.listen(options.port, options.host, (error) => {
      if (error === undefined) resolve(listening);
      else reject(error);
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function addFeedRoutes(app: Express, feed: FeedControls): void {
  const actions: Readonly<Record<string, (body: unknown) => void>> = {
    silence: () => {
      feed.setMode('silent');
    },
    heartbeats: () => {
      feed.setMode('heartbeats');
    },
    resume: () => {
      feed.setMode('ticks');
    },
    skip: (body) => {
      feed.skip(feedCount.parse(body ?? {}).count);
    },
    repeat: () => {
      feed.repeat();
    },
    'new-session': () => {
      feed.newSession();
    },
    delay: (body) => {
      feed.delaySource(feedDelay.parse(body).delayMs);
    },
  };
  for (const [name, act] of Object.entries(actions)) {
    app.post(`/v1/feed/${name}`, (request, response) => {
      act(request.body);
      response.json({ feed: name });
    });
  }
}

function rawMessage(message: Omit<z.output<typeof emission>, 'times'>): { key: string; value: string } {
  const { execution = {}, value = JSON.stringify(execution) } = message;
  const { accountId, clientOrderId } = execution;
  return { key: message.key ?? `order:${String(accountId)}:${String(clientOrderId)}`, value };
}

function orderFilter({ query }: Request): { accountId?: string; clientOrderId?: string } {
  const { accountId, clientOrderId } = query;
  return {
    ...(typeof accountId === 'string' ? { accountId } : {}),
    ...(typeof clientOrderId === 'string' ? { clientOrderId } : {}),
  };
}

function errorAnswer(logger: Logger): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) next(error);
    else if (error instanceof z.ZodError) response.status(400).json({ errors: fieldFaults(error) });
    else if (isClientError(error)) response.status(400).json({ error: error.message });
    else {
      logger.error({ err: error }, 'the control API failed');
      response.status(503).json({ error: 'it did not work; the log says why' });
    }
  };
}

/** What express's body parser throws about a body that it cannot read. */
function isClientError(error: unknown): error is Error {
  return error instanceof Error && 'expose' in error && error.expose === true;
}
