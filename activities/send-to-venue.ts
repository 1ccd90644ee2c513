import type { VenueCommand } from '../src/contracts/venue-command';
import type { ActivityDependencies } from './dependencies';
import { step } from './failures';

/**
 * Publishes a command to the venue's topic. A lost acknowledgement means that it is published again: venue bridges act
 * on (accountId, clientOrderId, command) once.
 */
export async function sendToVenue(deps: ActivityDependencies, command: VenueCommand): Promise<void> {
  await step(`publishing ${command.command} to the venue`, () => deps.publishCommand(command));
}
