import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi';
import {
  adoptRequestBody,
  decidedBody,
  decisionRequestBody,
  setAsideContentBody,
  setAsideListQuery,
  setAsidePageBody,
} from '../contracts/operator-api';
import { json, problems } from './openapi-responses';

/** The operations that need a key with the operator scope. */

const EXAMPLE_SET_ASIDE = {
  id: 'q12',
  reason: 'conflict',
  detail: 'execution E-20260314-000117 came again with other content',
  source: 'LMAX-1',
  type: 'FILL',
  executionId: 'E-20260314-000117',
  accountId: 'acme',
  clientOrderId: '2026-03-14-0001',
  timesSeen: 1,
  setAsideAt: '2026-03-14T09:26:53.589793Z',
  decision: null,
};

const EXAMPLE_CONTENT = {
  ...EXAMPLE_SET_ASIDE,
  payload: '{"source":"LMAX-1","type":"FILL","executionId":"E-20260314-000117","quantity":"2.5"}',
  contentHash: '5f2b4d5c9d1f6f0a3a1d8e4b7c6a59483726150f0e1d2c3b4a59687786a5b4c3',
  firstContentHash: 'sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00112233445566778899aabbccddeeff0',
  firstContent: { quantity: '2.4', price: '1.0845' },
  message: null,
};

const EXAMPLE_REASON = { reason: 'a typing error of the venue, agreed by phone' };

const EXAMPLE_DECIDED = {
  id: 'q12',
  decision: {
    decision: 'discard',
    ...EXAMPLE_REASON,
    decidedBy: 'api-key:0123456789abcdef',
    outcome: 'discarded',
    accountId: null,
    clientOrderId: null,
    decidedAt: '2026-03-14T11:02:10.118204Z',
  },
  repeated: false,
};

const executionPath = z.object({
  executionRef: z.string().meta({ description: 'The `id` of the list', examples: ['q12'] }),
});

const listSetAside: ZodOpenApiOperationObject = {
  operationId: 'listSetAsideExecutions',
  tags: ['Operator'],
  summary: 'List executions that were set aside, newest first',
  requestParams: { query: setAsideListQuery },
  responses: {
    '200': json({
      description: 'A page of executions that wait for a decision, or of all',
      schema: setAsidePageBody,
      example: { executions: [EXAMPLE_SET_ASIDE], nextCursor: null },
    }),
    ...problems('OPERATOR_ONLY'),
  },
};

const getSetAside: ZodOpenApiOperationObject = {
  operationId: 'getSetAsideExecution',
  tags: ['Operator'],
  summary: 'Read one of them whole',
  requestParams: { path: executionPath },
  responses: {
    '200': json({ description: 'The execution', schema: setAsideContentBody, example: EXAMPLE_CONTENT }),
    ...problems('INVALID_PATH', 'OPERATOR_ONLY', 'EXECUTION_NOT_FOUND'),
  },
};

function decision(
  operationId: string,
  summary: string,
  schema: z.ZodType = decisionRequestBody,
): { readonly post: ZodOpenApiOperationObject } {
  return {
    post: {
      operationId,
      tags: ['Operator'],
      summary,
      description:
        'The decision is recorded with its reason and the id of the key. The same decision again changes nothing; another one is refused.',
      requestParams: { path: executionPath },
      requestBody: {
        required: true,
        content: { 'application/json': { schema, example: EXAMPLE_REASON } },
      },
      responses: {
        '200': json({ description: 'It is decided', schema: decidedBody, example: EXAMPLE_DECIDED }),
        ...problems(
          'MALFORMED_JSON',
          'INVALID_PATH',
          'OPERATOR_ONLY',
          'EXECUTION_NOT_FOUND',
          'ALREADY_DECIDED',
          'DECISION_IMPOSSIBLE',
          'PAYLOAD_TOO_LARGE',
          'UNSUPPORTED_MEDIA_TYPE',
          'TEMPORAL_UNAVAILABLE',
        ),
      },
    },
  };
}

export const OPERATOR_PATHS: ZodOpenApiPathsObject = {
  '/v1/operator/executions': { get: listSetAside },
  '/v1/operator/executions/{executionRef}': { get: getSetAside },
  '/v1/operator/executions/{executionRef}/replay': decision(
    'replayExecution',
    'Apply an event in quarantine, now that its cause is mended',
  ),
  '/v1/operator/executions/{executionRef}/adopt': decision(
    'adoptExecution',
    'Apply a parked execution to its order, or to the one that is named',
    adoptRequestBody,
  ),
  '/v1/operator/executions/{executionRef}/discard': decision('discardExecution', 'Never apply it'),
};
