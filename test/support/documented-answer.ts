import type { z } from 'zod';
import { decidedBody, setAsideContentBody, setAsidePageBody } from '../../src/contracts/operator-api';
import {
  orderBody,
  orderEventPageBody,
  orderPageBody,
  pendingOrderBody,
  positionBody,
  positionHistoryPageBody,
  positionPageBody,
  problemBody,
} from '../../src/contracts/order-api';
import { openApiDocument } from '../../src/http/openapi';
import type { HttpAnswer } from './http-api';

const document = openApiDocument();

/** What each success is, by `METHOD path status`. */
const CONTRACTS: Readonly<Record<string, z.ZodType>> = {
  'POST /v1/orders 201': orderBody,
  'POST /v1/orders 202': pendingOrderBody,
  'GET /v1/orders 200': orderPageBody,
  'GET /v1/orders/{clientOrderId} 200': orderBody,
  'POST /v1/orders/{clientOrderId}/cancel 200': orderBody,
  'POST /v1/orders/{clientOrderId}/cancel 202': orderBody,
  'GET /v1/orders/{clientOrderId}/events 200': orderEventPageBody,
  'GET /v1/operator/executions 200': setAsidePageBody,
  'GET /v1/operator/executions/{executionRef} 200': setAsideContentBody,
  'POST /v1/operator/executions/{executionRef}/replay 200': decidedBody,
  'POST /v1/operator/executions/{executionRef}/adopt 200': decidedBody,
  'POST /v1/operator/executions/{executionRef}/discard 200': decidedBody,
  'GET /v1/positions 200': positionPageBody,
  'GET /v1/positions/{symbol} 200': positionBody,
  'GET /v1/positions/{symbol}/history 200': positionHistoryPageBody,
};

/** Holds an answer to the OpenAPI document and to its contract: status, content type, code, members, headers. */
export function expectDocumented(method: string, path: string, answer: HttpAnswer): void {
  expect(answer.headers['x-request-id']).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
  expect(answer.headers['cache-control']).toBe('no-store');
  if (answer.status >= 400) problemBody.parse(answer.json);
  const template = templateOf(path);
  const operation = operationOf(template, method);
  // A path or method that does not exist is no operation's answer.
  if (operation === undefined) return;
  const response = operation.responses[String(answer.status)];
  const schema = response?.content[answer.headers['content-type'] ?? '']?.schema;
  if (response === undefined || schema === undefined) {
    throw new Error(`not documented for ${method} ${template}: ${answer.status} ${answer.body}`);
  }
  if (answer.status >= 400) {
    expect(schema.properties?.code.enum).toContain(answer.json['code']);
  } else {
    CONTRACTS[`${method} ${template} ${answer.status}`]!.parse(answer.json);
  }
  const documented = Object.keys(response.headers).map((name) => name.toLowerCase());
  const sent = ['location', 'idempotency-replayed', 'retry-after'].filter((name) => name in answer.headers);
  expect(documented).toEqual(expect.arrayContaining(sent));
}

function templateOf(path: string): string {
  const [pathname = ''] = path.split('?');
  const templates = Object.keys(document.paths ?? {});
  const matches = (template: string): boolean =>
    new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(pathname);
  return templates.find(matches) ?? pathname;
}

interface Operation {
  readonly responses: Readonly<Record<string, DocumentedResponse>>;
}

interface DocumentedResponse {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly content: Readonly<Record<string, { readonly schema: DocumentedSchema }>>;
}

/** Of a problem, where only its codes are asked for here. */
interface DocumentedSchema {
  readonly properties?: { readonly code: { readonly enum: readonly string[] } };
}

function operationOf(template: string, method: string): Operation | undefined {
  const item = document.paths?.[template] as unknown as Readonly<Record<string, Operation>> | undefined;
  return item?.[method.toLowerCase()];
}
