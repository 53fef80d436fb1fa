/**
 * The network for replications of users who are not admins (docs/http/replication.md#addresses-that-users-may-name): public addresses and those of
 * `replicator/allowed_hosts`. A name is resolved once, and the connection goes to the address that was checked.
 */
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import type { Agent, buildConnector, Dispatcher } from 'undici';
import { unreachableCause } from '../../replication/peers/client/unreachable.ts';
import { type IpAddress, type IpBlock, isIn, isPublic, parseBlock, parseIp } from './ip-address.ts';
import { isLocalName, isOfThisMachine, type OwnAddresses } from './own-addresses.ts';
import type { ProxiedFetches } from './proxied-fetch.ts';

type Fetch = typeof globalThis.fetch;

export interface GuardedNetworkOptions {
  /** The setting. Called at each request. */
  readonly allowedHosts: () => string;
  readonly proxies: Pick<ProxiedFetches, 'through'>;
  readonly own: Pick<OwnAddresses, 'isOwn'>;
  /** Returns the addresses of a name. */
  readonly resolve?: ((name: string) => Promise<readonly string[]>) | undefined;
}

interface Destination {
  /** In the form that URLs have, but without brackets. */
  readonly host: string;
  readonly port: string;
}

interface Allowance {
  readonly setting: string;
  readonly hosts: AllowedHosts;
  /** For connections to names that were checked while this was the setting. */
  agent: Agent | undefined;
}

const PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443', 'socks5:': '1080' };
/** Bun brings an `undici` of its own, which does not let its caller choose how to connect. */
const canChooseAddress = process.versions['bun'] === undefined;
const NOT_FOR_USERS =
  'only server admins may name addresses that are not public; an admin can permit others with the setting replicator/allowed_hosts.';
/** The same for every failure: otherwise it would reveal what is behind this server. */
const UNREACHABLE =
  'there is no such host, it does not answer, or its address is not public and the setting replicator/allowed_hosts does not permit it';

export class GuardedNetwork {
  readonly #options: GuardedNetworkOptions;
  readonly #resolve: (name: string) => Promise<readonly string[]>;
  #allowance: Allowance = { setting: '', hosts: new AllowedHosts(''), agent: undefined };

  readonly fetch: Fetch = (input, init) => unified(() => this.#fetch(input, init), init?.signal);
  readonly fetchThrough: ((proxy: string) => Fetch) | undefined;

  constructor(options: GuardedNetworkOptions) {
    this.#options = options;
    this.#resolve = options.resolve ?? resolveName;
    const { through } = options.proxies;
    this.fetchThrough =
      through &&
      ((proxy) => (input, init) => unified(() => this.#fetchBy(through, proxy, [input, init]), init?.signal));
  }

  isOwn(url: string): Promise<boolean> {
    return this.#options.own.isOwn(url);
  }

  /** Why users may not name that address; also undefined if that is unknown before its name is resolved. */
  refusal(url: string): string | undefined {
    const destination = destinationOf(url);
    if (this.#mayName(destination)) return undefined;
    const { host, port } = destination;
    const isRefused = isIP(host) === 0 ? isLocalName(host) : !this.#mayReach(host, port);
    return isRefused ? NOT_FOR_USERS : undefined;
  }

  async close(): Promise<void> {
    await this.#allowance.agent?.destroy();
  }

  async #fetch(input: Parameters<Fetch>[0], init: RequestInit | undefined): Promise<Response> {
    const destination = destinationOf(addressOf(input));
    if (this.#mayName(destination) || isIP(destination.host) !== 0) {
      await this.#addressesFor(destination);
      return fetch(input, init);
    }
    if (!canChooseAddress) throw new Error('this runtime resolves names by itself');
    const undici = await import('undici');
    const { current } = this;
    current.agent ??= new undici.Agent({ connect: this.#connector(undici) });
    return Reflect.apply(undici.fetch, undefined, [input, { ...init, dispatcher: current.agent satisfies Dispatcher }]);
  }

  /** Also checks the address that a proxy is asked for: the proxy may stand in a private network. */
  async #fetchBy(through: (proxy: string) => Fetch, proxy: string, request: Parameters<Fetch>): Promise<Response> {
    await this.#addressesFor(destinationOf(addressOf(request[0])));
    const byName = destinationOf(proxy);
    const [address = byName.host] = await this.#addressesFor(byName);
    const host = isIP(address) === 6 ? `[${address}]` : address;
    const url = new URL(proxy);
    const login = url.username === '' && url.password === '' ? '' : `${url.username}:${url.password}@`;
    return through(`${url.protocol}//${login}${host}:${byName.port}`)(...request);
  }

  #connector({ buildConnector }: typeof import('undici')): buildConnector.connector {
    return (options, callback) => {
      const destination = { host: options.hostname, port: options.port || (PORTS[options.protocol] ?? '') };
      this.#addressesFor(destination).then(
        (addresses) => buildConnector({ lookup: always(addresses) })(options, callback),
        (error: Error) => callback(error, null),
      );
    };
  }

  /** Returns the addresses that may be connected to; none if the name alone is enough. Fails if it may not be requested. */
  async #addressesFor(destination: Destination): Promise<readonly string[]> {
    if (this.#mayName(destination)) return [];
    const { host, port } = destination;
    const addresses = isIP(host) === 0 ? await this.#resolve(host) : [host];
    if (addresses.length > 0 && addresses.every((address) => this.#mayReach(address, port))) return addresses;
    throw new Error(NOT_FOR_USERS);
  }

  #mayName({ host, port }: Destination): boolean {
    return this.current.hosts.hasName(host, port);
  }

  #mayReach(address: string, port: string): boolean {
    const ip = parseIp(address);
    if (ip === undefined) return false;
    return this.current.hosts.hasAddress(ip, port) || (isPublic(ip) && !isOfThisMachine(ip));
  }

  /** Connections that another setting permitted are no longer used. */
  get current(): Allowance {
    const setting = this.#options.allowedHosts();
    if (setting === this.#allowance.setting) return this.#allowance;
    void this.#allowance.agent?.close();
    this.#allowance = { setting, hosts: new AllowedHosts(setting), agent: undefined };
    return this.#allowance;
  }
}

async function unified(work: () => Promise<Response>, signal: AbortSignal | null | undefined): Promise<Response> {
  try {
    return await work();
  } catch (failure) {
    if (signal?.aborted === true) throw failure;
    throw new TypeError('fetch failed', { cause: unreachableCause(UNREACHABLE) });
  }
}

function addressOf(input: Parameters<Fetch>[0]): string {
  return typeof input === 'string' ? input : 'url' in input ? input.url : input.href;
}

/** Schemes other than `http:` leave numbers of an address as they are written. */
function destinationOf(text: string): Destination {
  const { protocol, host, port } = new URL(text);
  const { hostname } = new URL(`http://${host}`);
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port || (PORTS[protocol] ?? '') };
}

async function resolveName(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

/** Replaces a lookup in the name system; undefined if that lookup is allowed. */
function always(addresses: readonly string[]): LookupFunction | undefined {
  if (addresses.length === 0) return undefined;
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_name, { all }, callback) => {
    const [first] = found;
    if (all === true || first === undefined) callback(null, found);
    else callback(null, first.address, first.family);
  };
}

interface AllowedName {
  /** In lower case. With `isSuffix` all names with this ending. */
  readonly name: string;
  readonly isSuffix: boolean;
  /** Undefined: all ports. */
  readonly port: string | undefined;
}

interface AllowedBlock {
  readonly block: IpBlock;
  readonly port: string | undefined;
}

/** The setting `replicator/allowed_hosts`: hosts that users who are not admins may name. */
export class AllowedHosts {
  readonly #names: AllowedName[] = [];
  readonly #blocks: AllowedBlock[] = [];
  readonly #takesAll: boolean;

  /** Skips anything that is not an entry: the configuration refuses it. */
  constructor(setting: string) {
    const entries = setting.split(/[\s,]+/).filter((entry) => entry !== '');
    this.#takesAll = entries.includes('*');
    for (const entry of entries) this.#add(entry.toLowerCase());
  }

  /** `name` in the form that URLs have. */
  hasName(name: string, port: string): boolean {
    const plain = name.replace(/\.$/, '');
    return (
      this.#takesAll ||
      this.#names.some((one) => fitsPort(one, port) && (one.isSuffix ? plain.endsWith(one.name) : plain === one.name))
    );
  }

  hasAddress(address: IpAddress, port: string): boolean {
    return this.#takesAll || this.#blocks.some((one) => fitsPort(one, port) && isIn(address, one.block));
  }

  #add(entry: string): void {
    const bare = parseBlock(entry);
    const [, host = '', port] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(entry) ?? [];
    const address = parseIp(host) === undefined ? undefined : parseBlock(host.replace(/^\[(.*)\]$/, '$1'));
    const block = bare ?? address;
    if (block !== undefined) this.#blocks.push({ block, port: bare === undefined ? port : undefined });
    else if (host.startsWith('*.')) this.#names.push({ name: nameOf(host.slice(2), '.'), isSuffix: true, port });
    else if (host !== '') this.#names.push({ name: nameOf(host), isSuffix: false, port });
  }
}

function fitsPort({ port }: { readonly port: string | undefined }, asked: string): boolean {
  return port === undefined || port === asked;
}

/** Names with letters of other scripts, in the form that URLs have. */
function nameOf(name: string, before = ''): string {
  const url = `http://${name}`;
  return before + (URL.canParse(url) ? new URL(url).hostname : name).replace(/\.$/, '');
}
