/** Messages to the service worker itself, apart from requests. */
import type { WireRequest, WireResponse } from './wire.ts';

/**
 * From a page to the service worker:
 * - `SKIP_WAITING`, as Workbox calls it: take over from the version before. Not answered.
 * - `SETTEE_CLAIM`: take control of this page. Answered, on the port that comes with it, by a service worker that serves this base.
 * - `SETTEE_DRAIN`: end the open bodies, so that a new version can take over. Answered, on the port that comes with it, when none is
 *   left.
 */
export interface ControlMessage {
  readonly type: 'SKIP_WAITING' | 'SETTEE_CLAIM' | 'SETTEE_DRAIN';
  /** Base of the page that sends this, absolute. */
  readonly base?: string;
}

/**
 * Comes with a port to the owner, which is faster than the owner's channel. The worker that owns the storage sends it to its page, which
 * forwards it unchanged to the service worker that controls the page, since in Chromium a worker can't reach the service worker itself. Not
 * answered; if it is lost, requests go on over the channel.
 */
export interface PortOffer {
  readonly type: 'SETTEE_PORT';
  readonly base: string;
  /** Id of the owner. */
  readonly owner: string;
  /** Id of the link that the port is for. */
  readonly peer: string;
}

/**
 * From a page to the service worker: a request that outlives its page (`keepalive` of Fetch). Its body is never a stream. Answered by
 * `LastingAnswer`s on the port that comes with it; a page that is being left sends no port.
 */
export interface LastingRequest {
  readonly type: 'SETTEE_LASTING';
  readonly base: string;
  /** The page's protocol. A service worker that speaks another one does not carry the request out. */
  readonly protocol: number;
  readonly request: WireRequest;
}

/** `undefined` at once: the service worker has the request, and serves this base. Then the response, whose body is never a stream. */
export interface LastingAnswer {
  readonly response: WireResponse | undefined;
}

/**
 * Keeps the service worker alive by its arrival. The worker that owns the storage sends it to its page, which forwards it unchanged to the
 * service worker that controls the page. Not answered.
 */
export interface KeepAlive {
  readonly type: 'SETTEE_ALIVE';
  readonly base: string;
}

/**
 * The state of the replications in the worker that owns the storage, which sends it to its page. A page that is left while they are not at rest
 * passes the last one on to the service worker, which continues them if no other page does. Not answered.
 */
export interface ReplicationMessage {
  readonly type: 'SETTEE_REPLICATION';
  readonly base: string;
  readonly activity: 'resting' | 'busy' | 'failing';
}

/**
 * From a worker to its page: start a worker in which functions of documents run. Two ports come with it: one for the messages to and from that
 * worker, and one on which the page reports why it ended, and is told to end it by any message. Not answered.
 */
export interface SandboxRequest {
  readonly type: 'SETTEE_SANDBOX';
  /** Address of the script. */
  readonly file: string;
}

/**
 * Another tab, which owns the storage, speaks a newer protocol than this worker. The worker tells its page once. Not answered.
 */
export interface OutdatedMessage {
  readonly type: 'SETTEE_OUTDATED';
}

/**
 * The browser has closed the storage by force, as when it clears the site's data. A worker tells its page, which replaces it: a context that
 * existed before may keep locks and files of the storage that is gone. Not answered.
 */
export interface ClearedMessage {
  readonly type: 'SETTEE_CLEARED';
}

/** The name of the Error with which a worker rejects a page of another protocol. Stays the same in all protocols. */
export const OTHER_PROTOCOL = 'OtherProtocol';

/** The name under which a page asks the browser for background synchronization (https://wicg.github.io/background-sync/spec/). */
export function syncTag(base: string): string {
  return `settee ${base}`;
}

/** From a service worker to the version that takes over: the last ids of event sources that will connect again (browser/sw/event-ids.ts). Not answered. */
export interface EventIdsMessage {
  readonly type: 'SETTEE_EVENT_IDS';
  readonly base: string;
  readonly entries: readonly (readonly [string, { readonly id: string; readonly at: number }])[];
}

export interface ControlAnswer {
  readonly protocol: number;
}

const DOWNLOAD = '#settee-download=';

/** The fragment of an address whose content a page wants to save; no server ever sees one. The name may be empty. */
export function downloadHash(name: string): string {
  return DOWNLOAD + encodeURIComponent(name);
}

/** The name in such an address, as the service worker sees it; undefined in any other. */
export function downloadName(url: string): string | undefined {
  const at = url.indexOf(DOWNLOAD);
  return at < 0 ? undefined : decoded(url.slice(at + DOWNLOAD.length));
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
