import { z } from 'zod';
import { createDocument, type ZodOpenApiOperationObject } from 'zod-openapi';
import { REFUSAL_CODES } from '../contracts/error-codes';
import { clientOrderIdField, symbolField } from '../contracts/fields';
import {
  orderBody,
  orderEventPageBody,
  orderListQuery,
  orderPageBody,
  pageQuery,
  pendingOrderBody,
  positionBody,
  positionHistoryPageBody,
  positionPageBody,
  problemBody,
} from '../contracts/order-api';
import { orderRequestBody } from '../contracts/order-request';
import {
  EXAMPLE_ORDER,
  EXAMPLE_ORDER_EVENT,
  EXAMPLE_PENDING,
  EXAMPLE_POSITION,
  EXAMPLE_POSITION_CHANGE,
  EXAMPLE_REQUEST,
} from './openapi-examples';
import { OPERATOR_PATHS } from './openapi-operator';
import { ANSWER_HEADERS, json, PENDING_HEADERS, problems } from './openapi-responses';

type OpenApiDocument = ReturnType<typeof createDocument>;

const DESCRIPTION = `
Orders that can be sent any number of times and are opened once.

A repeat of a request gets the first answer, byte for byte, with \`Idempotency-Replayed: true\`. What names an order is
the account of the API key and the \`clientOrderId\` that the client chose; so after a lost answer the client sends the
same body again. Quantities and prices are JSON strings, since a JSON number is read as a double.

Errors are problem documents (RFC 9457); docs/errors.md explains every code.
`.trim();

/** The OpenAPI 3.1 document of the public API, made from the contracts that the code itself uses. */
export function openApiDocument(): OpenApiDocument {
  return createDocument({
    openapi: '3.1.0',
    info: {
      title: 'Tekil',
      version: '1.0.0',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'Where this API is served' }],
    security: [{ apiKey: [] }],
    tags: [
      { name: 'Orders', description: 'Submitting, reading and cancelling orders' },
      { name: 'Positions', description: 'What the fills of an account sum up to' },
      {
        name: 'Operator',
        description: 'Deciding about executions that were set aside; needs the operator scope',
      },
    ],
    paths: {
      '/v1/orders': { post: submitOrder, get: listOrders },
      '/v1/orders/{clientOrderId}': { get: getOrder },
      '/v1/orders/{clientOrderId}/cancel': { post: cancelOrder },
      '/v1/orders/{clientOrderId}/events': { get: listOrderEvents },
      '/v1/positions': { get: listPositions },
      '/v1/positions/{symbol}': { get: getPosition },
      '/v1/positions/{symbol}/history': { get: listPositionChanges },
      ...OPERATOR_PATHS,
    },
    components: {
      schemas: { Problem: problemBody },
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key, as `tekil api-key create` shows it',
        },
      },
    },
  });
}

const orderPath = z.object({
  clientOrderId: clientOrderIdField.meta({ description: 'Percent-encoded, as any path segment' }),
});

const symbolPath = z.object({ symbol: symbolField });

const submitOrder: ZodOpenApiOperationObject = {
  operationId: 'submitOrder',
  tags: ['Orders'],
  summary: 'Submit an order, or ask for the answer to it again',
  description:
    'Send the same body again whenever an answer was lost: it is opened once, and each repeat gets the first answer. The same `clientOrderId` with another body is refused and changes nothing. `limitPrice` is sent exactly when `type` is `limit`, `expireAt` exactly when `timeInForce` is `gtd`.',
  requestParams: {
    header: z.object({
      'Idempotency-Key': clientOrderIdField
        .optional()
        .meta({ description: 'When sent, it must equal `clientOrderId`' }),
    }),
  },
  requestBody: {
    required: true,
    content: { 'application/json': { schema: orderRequestBody, example: EXAMPLE_REQUEST } },
  },
  responses: {
    '201': json({
      description: 'The order was opened',
      schema: orderBody,
      example: { ...EXAMPLE_ORDER, status: 'PENDING_NEW' },
      headers: ANSWER_HEADERS,
    }),
    '202': json({
      description: 'The outcome is not known yet; send the same body again',
      schema: pendingOrderBody,
      example: EXAMPLE_PENDING,
      headers: PENDING_HEADERS,
    }),
    ...problems(
      'MALFORMED_JSON',
      'IDEMPOTENCY_KEY_MISMATCH',
      ...REFUSAL_CODES,
      'PAYLOAD_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
      'IDEMPOTENCY_KEY_REUSED',
      'TEMPORAL_UNAVAILABLE',
    ),
  },
};

const listOrders: ZodOpenApiOperationObject = {
  operationId: 'listOrders',
  tags: ['Orders'],
  summary: 'List orders, newest first',
  requestParams: { query: orderListQuery },
  responses: {
    '200': json({
      description: 'A page of orders',
      schema: orderPageBody,
      example: { orders: [EXAMPLE_ORDER], nextCursor: null },
    }),
    ...problems(),
  },
};

const getOrder: ZodOpenApiOperationObject = {
  operationId: 'getOrder',
  tags: ['Orders'],
  summary: 'Read an order as it stands',
  requestParams: { path: orderPath },
  responses: {
    '200': json({ description: 'The order', schema: orderBody, example: EXAMPLE_ORDER }),
    ...problems('INVALID_PATH', 'ORDER_NOT_FOUND'),
  },
};

const cancelOrder: ZodOpenApiOperationObject = {
  operationId: 'cancelOrder',
  tags: ['Orders'],
  summary: 'Ask the venue to cancel an order',
  description:
    'The order is cancelled only when the venue says so, and a fill that overtakes the cancel is booked. Asking again changes nothing.',
  requestParams: { path: orderPath },
  responses: {
    '200': json({
      description: 'The order is cancelled already',
      schema: orderBody,
      example: { ...EXAMPLE_ORDER, status: 'CANCELLED' },
    }),
    '202': json({
      description: 'The venue is being asked',
      schema: orderBody,
      example: { ...EXAMPLE_ORDER, cancelRequestedAt: '2026-03-14T09:27:01.204117Z' },
    }),
    ...problems('INVALID_PATH', 'ORDER_NOT_FOUND', 'ORDER_NOT_CANCELLABLE', 'TEMPORAL_UNAVAILABLE'),
  },
};

const listOrderEvents: ZodOpenApiOperationObject = {
  operationId: 'listOrderEvents',
  tags: ['Orders'],
  summary: 'Read what happened to an order, oldest first',
  requestParams: { path: orderPath, query: pageQuery },
  responses: {
    '200': json({
      description: 'A page of events',
      schema: orderEventPageBody,
      example: { events: [EXAMPLE_ORDER_EVENT], nextCursor: null },
    }),
    ...problems('INVALID_PATH', 'ORDER_NOT_FOUND'),
  },
};

const listPositions: ZodOpenApiOperationObject = {
  operationId: 'listPositions',
  tags: ['Positions'],
  summary: 'List positions, by symbol',
  requestParams: { query: pageQuery },
  responses: {
    '200': json({
      description: 'A page of positions',
      schema: positionPageBody,
      example: { positions: [EXAMPLE_POSITION], nextCursor: null },
    }),
    ...problems(),
  },
};

const getPosition: ZodOpenApiOperationObject = {
  operationId: 'getPosition',
  tags: ['Positions'],
  summary: 'Read the position in a symbol',
  requestParams: { path: symbolPath },
  responses: {
    '200': json({ description: 'The position', schema: positionBody, example: EXAMPLE_POSITION }),
    ...problems('INVALID_PATH', 'POSITION_NOT_FOUND'),
  },
};

const listPositionChanges: ZodOpenApiOperationObject = {
  operationId: 'listPositionChanges',
  tags: ['Positions'],
  summary: 'Read what changed a position, newest first',
  description:
    'Each fill, bust and correction with the position after it, as it was known then. Nothing is taken back: a bust is a change of its own, behind the fill that it voids.',
  requestParams: { path: symbolPath, query: pageQuery },
  responses: {
    '200': json({
      description: 'A page of changes',
      schema: positionHistoryPageBody,
      example: { changes: [EXAMPLE_POSITION_CHANGE], nextCursor: null },
    }),
    ...problems('INVALID_PATH', 'POSITION_NOT_FOUND'),
  },
};
