import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';

/** A name is looked up again after this; what it last meant is used meanwhile. */
const LOOKUP_TTL_MS = 5_000;
/** More instances than anybody runs; the time that an ask has is divided among them. */
const MAX_INSTANCES = 8;

/** The addresses of a name. */
export type LookUp = (name: string) => Promise<readonly string[]>;

/** One instance of quote-health, or a name that has not been looked up yet. */
export interface GateInstance {
  readonly url: URL;
  /** How people call it. */
  readonly label: string;
  /** @throws when the name cannot be looked up */
  readonly address: () => string | Promise<string>;
}

const lookUpAll: LookUp = async (name) => {
  const found = await lookup(name, { all: true });
  return found.map(({ address }) => address);
};

/** Where the instances of a gate are: several addresses, or one name that stands for several. */
export class GateAddresses {
  readonly #names: readonly Name[];

  /** @throws when one of the comma-separated addresses is no URL */
  constructor(urls: string, lookUp: LookUp = lookUpAll) {
    this.#names = urls.split(',').map((text) => new Name(new URL(text.trim().replace(/\/+$/, '')), lookUp));
  }

  instances(): readonly GateInstance[] {
    return this.#names.flatMap((name) => name.instances()).slice(0, MAX_INSTANCES);
  }
}

class Name {
  readonly #url: URL;
  readonly #host: string;
  readonly #lookUp: LookUp;
  #instances: readonly GateInstance[];
  #lookedUpMs = -Infinity;
  #lookingUp: Promise<readonly GateInstance[]> | undefined;

  constructor(url: URL, lookUp: LookUp) {
    this.#url = url;
    this.#host = url.hostname.replace(/^\[|\]$/g, '');
    this.#lookUp = lookUp;
    if (isIP(this.#host) === 0) {
      const address = async () => this.#firstAddress();
      this.#instances = [{ url, label: labelOf(url), address }];
      this.#refresh();
    } else {
      this.#instances = [{ url, label: labelOf(url), address: () => this.#host }];
      this.#lookedUpMs = Infinity;
    }
  }

  instances(): readonly GateInstance[] {
    if (performance.now() - this.#lookedUpMs > LOOKUP_TTL_MS) this.#refresh();
    return this.#instances;
  }

  #refresh(): void {
    // Whoever needs the addresses and has none waits for the same promise and hears of its failure.
    this.#resolve().catch(() => undefined);
  }

  async #firstAddress(): Promise<string> {
    const [first] = await this.#resolve();
    if (first === undefined) throw new Error(`${this.#host} has no address`);
    return first.address();
  }

  #resolve(): Promise<readonly GateInstance[]> {
    this.#lookingUp ??= this.#lookUpInstances().finally(() => (this.#lookingUp = undefined));
    return this.#lookingUp;
  }

  async #lookUpInstances(): Promise<readonly GateInstance[]> {
    const addresses = await this.#lookUp(this.#host);
    const instances = addresses.map((address) => ({
      url: this.#url,
      label: addresses.length === 1 ? labelOf(this.#url) : `${labelOf(this.#url)} (${address})`,
      address: () => address,
    }));
    if (instances.length === 0) throw new Error(`${this.#host} has no address`);
    this.#instances = instances;
    this.#lookedUpMs = performance.now();
    return instances;
  }
}

function labelOf(url: URL): string {
  return url.href.replace(/\/$/, '');
}
