/**
 * Names everything that all workers of one base share: locks, channels, and the prefix of names in IndexedDB. The names do not depend on how
 * the base is written.
 */
import type { Instance } from './contract.ts';

const PORT_SUFFIX = '|port';

/**
 * `base` is absolute, or relative to `script`, the caller's own address. The slash at its end is optional.
 * Throws an Error for an invalid base: a protocol other than http and https, a user, a query, a fragment, or a base that the script lies
 * below, since the database would answer instead of the site.
 */
export function createInstance(base: string, script: string): Instance {
  const url = parseBase(base, script);
  const path = url.pathname.endsWith('/') ? url.pathname : `${url.pathname}/`;
  const absolute = url.origin + path;
  if (script.startsWith(absolute)) throw badBase(base, "the site's own files are below it");
  return { base: absolute, name: instanceName(absolute) };
}

/** `base` is absolute, with a slash at its end. */
export function instanceName(base: string): string {
  return `settee:${base}`;
}

/**
 * `base` is absolute, or relative to `address`. Throws an Error for a base that is invalid wherever it is used; a mere word is invalid, since
 * each page and each script would resolve it to another address.
 */
export function parseBase(base: string, address: string): URL {
  if (base === '') throw badBase(base, 'it is empty');
  if (!/^(\.{0,2}\/|[a-z][a-z0-9+.-]*:)/i.test(base)) throw badBase(base, 'it does not begin with a slash');
  let url: URL;
  try {
    url = new URL(base, address);
  } catch (cause) {
    throw badBase(base, 'it is not a valid address', cause);
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw badBase(base, `its protocol is ${url.protocol}`);
  if (url.username !== '' || url.password !== '') throw badBase(base, 'it names a user');
  if (/[?#]/.test(base)) throw badBase(base, 'it has a query or a fragment');
  return url;
}

function badBase(base: string, why: string, cause?: unknown): Error {
  const remedy = 'pass a path such as "/db/" or an address such as "https://db.example.com/"';
  return new Error(`The base "${base}" can't be used, ${why}; ${remedy}`, { cause });
}

/** Exclusive: its holder owns the storage. */
export function ownerLock(instance: Instance): string {
  return `${instance.name}|owner`;
}

/**
 * The owner holds it exclusively from before it opens its core until its end; everyone that waits for a response requests it shared, and
 * learns by the grant that the owner is gone.
 */
export function aliveLock(instance: Instance, ownerId: string): string {
  return `${alivePrefix(instance)}${ownerId}`;
}

/** The channel of all participants of the instance, or that of one participant. */
export function channelName(instance: Instance, id?: string): string {
  return id === undefined ? instance.name : `${instance.name}|${id}`;
}

/** The channel on which the owner asks pages for bearer tokens. */
export function tokenChannelName({ name }: Pick<Instance, 'name'>): string {
  return `${name}|tokens`;
}

/**
 * The name of a participant for its port instead of its channel. Since this is a separate name, everything stays on the connection on which it
 * began: the response on that of its request, the chunks of a body on one, and each connection has its own signs of life.
 */
export function onPort(id: string): string {
  return `${id}${PORT_SUFFIX}`;
}

/** The participant with that name, whether it is the name for its channel or for its port. */
export function linkOf(name: string): string {
  return name.endsWith(PORT_SUFFIX) ? name.slice(0, -PORT_SUFFIX.length) : name;
}

/**
 * Id of the owner, as far as locks show. A stolen lock leaves the former owner's alive lock behind, so the owner is the client
 * that holds both. Undefined if no one owns the storage, or the owner is not ready yet.
 */
export function ownerOf(snapshot: LockManagerSnapshot, instance: Instance): string | undefined {
  const held = snapshot.held ?? [];
  const owner = held.find(({ name }) => name === ownerLock(instance));
  if (owner === undefined) return undefined;
  const prefix = alivePrefix(instance);
  const alive = held.find(
    ({ name, mode, clientId }) =>
      mode === 'exclusive' && name?.startsWith(prefix) === true && clientId === owner.clientId,
  );
  return alive?.name?.slice(prefix.length);
}

/** Whether any client owns the storage, or waits to own it. */
export function isOwnershipWanted(snapshot: LockManagerSnapshot, instance: Instance): boolean {
  const name = ownerLock(instance);
  return [...(snapshot.held ?? []), ...(snapshot.pending ?? [])].some((lock) => lock.name === name);
}

/** The fragment of an address that means the network, not the database. It never leaves the browser. */
const TO_NETWORK = '#settee-to-network';

/**
 * The address for a request that the owner of the storage makes to a server at the base itself. The service worker lets it pass. It can't judge
 * by the sender: in Chromium it does not learn of a worker that began before it took control. No app has such an address by accident.
 */
export function toNetworkAddress(instance: Instance, url: string): string {
  return isBelow(instance, url) ? `${url}${TO_NETWORK}` : url;
}

export function isForNetwork(url: string): boolean {
  return url.endsWith(TO_NETWORK);
}

/** Whether the database answers requests to this address, which is absolute, as a Request shows it. */
export function isBelow(instance: Instance, url: string): boolean {
  return url.startsWith(instance.base);
}

function alivePrefix(instance: Instance): string {
  return `${instance.name}|alive|`;
}
