import { assert } from '../domain/assert';
import type { Now } from '../domain/quote-gate';
import type { NumberedPacket } from './moldudp64';

/** What may wait behind a hole: at 20,000 packets a second, a fifth of a second of them. */
export const MAX_HELD_PACKETS = 4_096;
/** And of however large packets. */
export const MAX_HELD_BYTES = 16 * 1024 * 1024;
/** Of a message, however short. */
const MESSAGE_OVERHEAD_BYTES = 100;

export interface HeldPacket {
  readonly packet: NumberedPacket;
  readonly arrived: Now;
  /** Its first number, and the one after its last; the same for what uses none. */
  readonly from: bigint;
  readonly to: bigint;
}

/** Packets that wait for a missing number, in the order of their numbers. */
export class HeldPackets {
  readonly #packets: HeldPacket[] = [];
  #bytes = 0;

  get size(): number {
    return this.#packets.length;
  }

  get first(): HeldPacket | undefined {
    return this.#packets[0];
  }

  /** When the first of them came, whichever it is. */
  get since(): Now | null {
    return this.#packets.reduce<Now | null>(
      (first, { arrived }) => (first === null || arrived.monotonicMs < first.monotonicMs ? arrived : first),
      null,
    );
  }

  get isOverfull(): boolean {
    return this.#packets.length > MAX_HELD_PACKETS || this.#bytes > MAX_HELD_BYTES;
  }

  /** False when the like of it waits already: the first copy wins. */
  insert(packet: HeldPacket): boolean {
    let at = this.#packets.length;
    for (; at > 0; at -= 1) {
      const before = this.#packets[at - 1];
      if (before === undefined || isBefore(before, packet)) break;
      if (isAlike(before, packet)) return false;
    }
    this.#packets.splice(at, 0, packet);
    this.#bytes += bytesOf(packet.packet);
    return true;
  }

  takeFirst(): HeldPacket {
    const first = this.#packets.shift();
    assert(first !== undefined, 'nothing waits');
    this.#bytes -= bytesOf(first.packet);
    return first;
  }
}

function isBefore(one: HeldPacket, other: HeldPacket): boolean {
  return one.from < other.from || (one.from === other.from && one.to < other.to);
}

function isAlike(one: HeldPacket, other: HeldPacket): boolean {
  return one.from === other.from && one.to === other.to && one.packet.kind === other.packet.kind;
}

function bytesOf(packet: NumberedPacket): number {
  if (packet.kind !== 'messages') return 0;
  return packet.messages.reduce((sum, message) => sum + message.length + MESSAGE_OVERHEAD_BYTES, 0);
}
