/**
 * Names everything that all workers of one base share: locks, channels, and the prefix of names in IndexedDB. The names are the same however
 * the base is written.
 */
import type { Instance } from './contract.ts';

const PORT_SUFFIX = '|port';

/**
 * `base` is absolute, or relative to `script`, the caller's own address. The slash at its end is optional.
 * Throws an Error for what can't be a base: another protocol than http and https, a user, a query, a fragment, and what the script lies
 * below, since the database would answer instead of the site.
 */
export function createInstance(base: string, script: string): Instance {
  const url = parseBase(base, script);
  const path = url.pathname.endsWith('/') ? url.pathname : `${url.pathname}/`;
  const absolute = url.origin + path;
  if (script.startsWith(absolute)) throw badBase(base, "the site's own files are below it");
  return { base: absolute, name: `settee:${absolute}` };
}

/**
 * `base` is absolute, or relative to `address`. Throws an Error for what can't be a base wherever it is used; a mere word is none, since each
 * page and each script would make another address of it.
 */
export function parseBase(base: string, address: string): URL {
  if (base === '') throw badBase(base, 'it is empty');
  if (!/^(\.{0,2}\/|[a-z][a-z0-9+.-]*:)/i.test(base)) throw badBase(base, 'it begins with no slash');
  let url: URL;
  try {
    url = new URL(base, address);
  } catch (cause) {
    throw badBase(base, 'it is no address', cause);
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw badBase(base, `its protocol is ${url.protocol}`);
  if (url.username !== '' || url.password !== '') throw badBase(base, 'it names a user');
  if (/[?#]/.test(base)) throw badBase(base, 'it has a query or a fragment');
  return url;
}

function badBase(base: string, why: string, cause?: unknown): Error {
  const remedy = 'give a path such as "/db/" or an address such as "https://db.example.com/"';
  return new Error(`The base "${base}" can't be used, ${why}; ${remedy}`, { cause });
}

/** Exclusive: whoever holds it owns the storage. */
export function ownerLock(instance: Instance): string {
  return `${instance.name}|owner`;
}

/**
 * Held exclusively by that owner from before it opens its core until its end; whoever waits for an answer requests it shared, and
 * knows by the grant that the owner is gone.
 */
export function aliveLock(instance: Instance, ownerId: string): string {
  return `${alivePrefix(instance)}${ownerId}`;
}

/** The channel of all who serve the instance, or that of one participant. */
export function channelName(instance: Instance, id?: string): string {
  return id === undefined ? instance.name : `${instance.name}|${id}`;
}

/**
 * The name of a participant where it uses a port instead of its channel. Since that is a name of its own, everything stays on the way on which
 * it began: the answer on that of its request, the chunks of a body on one, and each way has signs of life of its own.
 */
export function onPort(id: string): string {
  return `${id}${PORT_SUFFIX}`;
}

/** The participant of that name, whether it is the name for its channel or for its port. */
export function linkOf(name: string): string {
  return name.endsWith(PORT_SUFFIX) ? name.slice(0, -PORT_SUFFIX.length) : name;
}

/**
 * Id of the owner, as far as locks tell. A lock that was stolen leaves the former owner's alive lock behind, so what counts is
 * that the same client holds both. Undefined where nobody owns the storage, or the owner is not ready yet.
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

/** Whether anybody owns the storage, or waits to own it. */
export function isOwnershipWanted(snapshot: LockManagerSnapshot, instance: Instance): boolean {
  const name = ownerLock(instance);
  return [...(snapshot.held ?? []), ...(snapshot.pending ?? [])].some((lock) => lock.name === name);
}

/** The fragment of an address that means the network, not the database. It never leaves the browser. */
const TO_NETWORK = '#settee-to-network';

/**
 * The address for a request that the owner of the storage makes to a server at the base itself. The service worker lets it pass. It can't go by
 * who sends the request: in Chromium it is not told of a worker that began before it took control. No app has such an address by accident.
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
