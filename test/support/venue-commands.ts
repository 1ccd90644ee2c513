import type { VenueCommand } from '../../src/contracts/venue-command';

/** A valid command; override what a test is about. */
export function aCommand(overrides: Partial<VenueCommand> = {}): VenueCommand {
  return {
    command: 'NEW_ORDER',
    accountId: 'acme',
    clientOrderId: 'order-1',
    symbol: 'EURUSD',
    side: 'buy',
    quantity: '10',
    type: 'limit',
    limitPrice: '1.0845',
    timeInForce: 'day',
    ...overrides,
  };
}
