/** Which URLs lead to this server itself: by its addresses, by its names, and by names that are resolved to its addresses. */
import { lookup } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import { type IpAddress, type IpBlock, isIn, parseBlock, parseIp } from './ip-address.ts';

export interface OwnAddressesOptions {
  /** Where the server listens, such as `http://127.0.0.1:5984/`; undefined while it does not listen. */
  readonly url: () => string | undefined;
  /** Its additional names. */
  readonly names: readonly string[];
  /** Whether a host, possibly with a port, is a virtual one. */
  readonly isVirtualHost: (host: string) => boolean;
}

/** A name that takes longer to resolve counts as another server's: the rules for the network then apply to it. */
const MAX_LOOKUP_MS = 2_000;
const LOCAL_NAME = /^(?:.+\.)?localhost$/;
const LOOPBACK = ['127.0.0.0/8', '::1'].flatMap((text) => parseBlock(text) ?? []);
const UNSPECIFIED = ['0.0.0.0', '::'].flatMap((text) => parseBlock(text) ?? []);

export class OwnAddresses {
  readonly #options: OwnAddressesOptions;
  readonly #names: ReadonlySet<string>;

  constructor(options: OwnAddressesOptions) {
    this.#options = options;
    this.#names = new Set(options.names.map(plainName));
  }

  async isOwn(url: string): Promise<boolean> {
    const own = this.#options.url();
    if (own === undefined) return false;
    const { protocol, port, hostname: listening } = new URL(own);
    const asked = new URL(url);
    if (asked.protocol !== protocol || asked.port !== port) return false;
    const name = plainName(asked.hostname);
    if (this.#names.has(name) || this.#options.isVirtualHost(asked.host)) return true;
    const addresses = await addressesOf(name);
    return addresses.length > 0 && addresses.every((address) => isReached(address, parseIp(listening)));
  }
}

/** Whether it is an address of this machine. */
export function isOfThisMachine(address: IpAddress): boolean {
  const blocks = Object.values(networkInterfaces()).flatMap((all = []) =>
    all.flatMap((one) => parseBlock(one.address) ?? []),
  );
  return isAnyOf(address, [...LOOPBACK, ...UNSPECIFIED, ...blocks]);
}

export function isLocalName(name: string): boolean {
  return LOCAL_NAME.test(plainName(name));
}

/** Whether a connection to that address reaches a server that listens at that other one. */
function isReached(address: IpAddress, listening: IpAddress | undefined): boolean {
  if (listening === undefined) return false;
  if (isAnyOf(listening, UNSPECIFIED)) return isOfThisMachine(address);
  // The system takes it for this machine.
  if (isAnyOf(address, UNSPECIFIED)) return isAnyOf(listening, LOOPBACK);
  return address.every((group, index) => group === listening[index]);
}

async function addressesOf(name: string): Promise<readonly IpAddress[]> {
  const literal = parseIp(name);
  if (literal !== undefined) return [literal];
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<readonly { readonly address: string }[]>((resolve) => {
    timer = setTimeout(() => resolve([]), MAX_LOOKUP_MS);
  });
  const found = lookup(name, { all: true }).catch(() => []);
  const addresses = await Promise.race([found, late]);
  clearTimeout(timer);
  return addresses.map(({ address }) => parseIp(address)).filter((address) => address !== undefined);
}

function isAnyOf(address: IpAddress, blocks: readonly IpBlock[]): boolean {
  return blocks.some((block) => isIn(address, block));
}

function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
