export interface Invitation {
  readonly apiUrl: string;
  readonly apiKey: string;
  readonly temporalUiUrl: string | undefined;
  readonly logFolder: string;
  /** Makes the order of the example one that was never sent before. */
  readonly orderSuffix: string;
}

/** What stands in the terminal once everything runs: where it is, and three commands that work as they are. */
export function invitationText(invitation: Invitation): string {
  const { apiUrl, apiKey, temporalUiUrl, logFolder, orderSuffix } = invitation;
  const order = {
    clientOrderId: `try-${orderSuffix}`,
    symbol: 'EURUSD',
    side: 'buy',
    quantity: '10',
    type: 'market',
    timeInForce: 'gtc',
  };
  const authorization = `-H 'Authorization: Bearer ${apiKey}'`;
  const submit = [
    `curl -i ${apiUrl}/v1/orders ${authorization}`,
    `-H 'Content-Type: application/json' -d '${JSON.stringify(order)}'`,
  ].join(' ');
  return `
Tekil runs.

  API            ${apiUrl}
  API key        ${apiKey}
  Temporal UI    ${temporalUiUrl ?? '(of the Temporal server that you set)'}
  Logs           ${logFolder}

Try it in another terminal.

  Submit an order:
${submit}

  Submit it again: the same answer, now with "Idempotency-Replayed: true":
${submit}

  See the position that its fills made:
curl ${apiUrl}/v1/positions ${authorization}

"npm run demo" in another terminal tells the whole story. Ctrl-C stops everything.
`;
}
