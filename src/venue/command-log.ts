import type { VenueCommand } from '../contracts/venue-command';
import { orderWorkflowId } from '../domain/ids';

export interface LoggedCommand {
  readonly command: VenueCommand;
  /** It had come before, and nothing was done about it. */
  readonly duplicate: boolean;
}

/** When they are reached, the oldest entries are forgotten. */
const MAX_LOGGED = 10_000;
const MAX_IDENTITIES = 300_000;

/** Which commands came, and which of them had come before: (accountId, clientOrderId, command, attempt) is the identity. */
export class CommandLog {
  received = 0;
  duplicates = 0;
  readonly #identities = new Set<string>();
  readonly #entries: LoggedCommand[] = [];

  /** True when the command is the first of its identity. */
  record(command: VenueCommand): boolean {
    const identity = `${command.command} ${command.attempt ?? 1} ${orderWorkflowId(command)}`;
    const duplicate = this.#identities.has(identity);
    this.received += 1;
    if (duplicate) this.duplicates += 1;
    this.#identities.add(identity);
    this.#entries.push({ command, duplicate });
    if (this.#entries.length > MAX_LOGGED) this.#entries.shift();
    if (this.#identities.size > MAX_IDENTITIES) this.#forgetOldest();
    return !duplicate;
  }

  /** In the order of their arrival. */
  entries(filter: { readonly accountId?: string; readonly clientOrderId?: string } = {}): LoggedCommand[] {
    const { accountId, clientOrderId } = filter;
    return this.#entries.filter(
      ({ command }) =>
        (accountId === undefined || command.accountId === accountId) &&
        (clientOrderId === undefined || command.clientOrderId === clientOrderId),
    );
  }

  #forgetOldest(): void {
    const [oldest] = this.#identities;
    if (oldest !== undefined) this.#identities.delete(oldest);
  }
}
