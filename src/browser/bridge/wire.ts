/**
 * Every message between page, worker and service worker, in one module that all three import. Messages are plain values; no class and no
 * error object crosses. Each message between tabs carries the protocol's number, since a tab may run older code than the service worker
 * that came with an update.
 */

import type { PlainHeaders } from '../../base/shared/message.ts';

/** Raised whenever a message changes its meaning or form. Sides of different numbers refuse each other, and say why. */
export const PROTOCOL = 4;

/**
 * A body that is too large to be part of the message. Between a page and its worker a port is transferred; over a BroadcastChannel, which
 * can't transfer anything, the body has a name, and its steps travel on the channels of the two sides.
 */
export interface WireStream {
  readonly stream: MessagePort | string;
  /** Total number of bytes, if known in advance. The receiver fails a body that ends with fewer. */
  readonly length?: number;
}

export type WireRequestBody = null | string | Uint8Array | Blob | WireStream;
export type WireResponseBody = null | string | Uint8Array | WireStream;

export interface WireRequest {
  readonly method: string;
  /** Absolute. */
  readonly url: string;
  readonly headers: PlainHeaders;
  readonly body: WireRequestBody;
}

export interface WireResponse {
  readonly status: number;
  readonly headers: PlainHeaders;
  readonly body: WireResponseBody;
}

/**
 * From a page to its own worker, apart from Comlink's messages: requests, each under a number that the page assigns, and the number alone to
 * abort a request. Everything sent in one turn travels as one message, since a message costs ten times as much as a part. Parts are
 * arrays because the browser clones them in half the time of objects.
 */
export interface PageCalls {
  readonly calls: readonly PageCall[];
}

export type PageCall = PageRequest | readonly [call: number];

export type PageRequest = readonly [
  call: number,
  method: string,
  url: string,
  headers: PlainHeaders,
  body: WireRequestBody,
  isAbortable: boolean,
];

/** From the worker back to its page, in the order in which the responses are ready. */
export interface PageAnswers {
  readonly answers: readonly PageAnswer[];
}

export type PageAnswer =
  | readonly [call: number, status: number, headers: PlainHeaders, body: WireResponseBody]
  /** The request could not be carried out at all. */
  | readonly [call: number, failure: string];

/** From the reader of a body to its sender. The sender sends as many chunks as it was granted, and no more. */
export type ReaderStep =
  | { readonly step: 'pull'; readonly chunks: number }
  /** The response to `ask`; keeps the lease of a body that is not pulled for a while. */
  | { readonly step: 'hold' }
  | { readonly step: 'cancel'; readonly reason: string };

/** From the sender of a body to its reader. A body that fails ends with `fail`, never with `end`. */
export type SenderStep =
  | { readonly step: 'chunk'; readonly bytes: Uint8Array }
  /** A chunk that is still text; a reader that wants bytes encodes it as UTF-8. */
  | { readonly step: 'text'; readonly text: string }
  /**
   * Sent every 10 s: shows that the sender lives, and asks whether the reader does. The sender asks, because a page's timers
   * are throttled when it is hidden, while messages are not.
   */
  | { readonly step: 'ask' }
  | { readonly step: 'end' }
  | { readonly step: 'fail'; readonly reason: string };

export type BodyStep = ReaderStep | SenderStep;

/** A message without the members that every message carries. */
export type Payload<M> = M extends unknown ? Omit<M, 'protocol' | 'from'> : never;

/** To the owner, on the channel that carries the owner's id. `from` names the sender's own channel. */
export type ToOwner = { readonly protocol: number; readonly from: string } & (
  | {
      readonly kind: 'request';
      readonly id: number;
      readonly request: WireRequest;
      readonly carrier: ParticipantKind;
      /** As in `received`. */
      readonly received?: readonly number[];
    }
  /** The responses to these requests have arrived. Service workers report this for writes (`browser/bridge/link/repeated-writes.ts`). */
  | { readonly kind: 'received'; readonly received: readonly number[] }
  | { readonly kind: 'abort'; readonly id: number }
  /** `pending`: requests whose responses the sender waits for. Answered by `pong`. */
  | { readonly kind: 'ping'; readonly pending?: readonly number[] }
  | { readonly kind: 'body'; readonly stream: string; readonly step: BodyStep }
);

/** Where a participant of an instance runs. The owner keeps a service worker alive while bodies are open through it. */
export type ParticipantKind = 'tab' | 'service-worker';

/** From the owner, on the channel of the request's sender. */
export type FromOwner = { readonly protocol: number; readonly from: string } & (
  | { readonly kind: 'answer'; readonly id: number; readonly response: WireResponse }
  /** The owner has not begun the request and never will: it is giving the storage up, or speaks another protocol. */
  | { readonly kind: 'refused'; readonly id: number; readonly why: 'leaving' | 'protocol' }
  /** `unknown`: the requests of the ping that never reached the owner. They may be sent again, even if they write. */
  | { readonly kind: 'pong'; readonly unknown?: readonly number[] }
  | { readonly kind: 'body'; readonly stream: string; readonly step: BodyStep }
  /** The last message on a port: requests that were sent over it and not answered were not begun. The owner still answers on its channel. */
  | { readonly kind: 'closed' }
);

/** To all participants of the same base, on the channel of the instance. */
export type ToAll = {
  readonly protocol: number;
  readonly from: string;
} /** A new owner is there, and takes requests. */ & (
  | { readonly kind: 'owner' }
  /** A tab's worker wants the storage: a service worker that holds it gives it up, and so does an owner of an older protocol. */
  | { readonly kind: 'wanted' }
  /** This owner did not answer the sender's pings. A tab's worker that gets no response either takes the storage over. */
  | { readonly kind: 'suspect'; readonly owner: string }
  /** Owner `from` has work that may keep it from answering pings for this long, and must not be taken for dead meanwhile. */
  | { readonly kind: 'busy'; readonly forMs: number }
  /** The browser has closed the owner's storage by force, as when it clears the site's data: every tab's worker must be replaced. */
  | { readonly kind: 'cleared' }
  /** The session's cookies after a change, so that the next owner has them. */
  | { readonly kind: 'cookies'; readonly jar: string }
  /** The replications that requests have started, after a change and for the same reason. */
  | { readonly kind: 'replications'; readonly requests: string }
);

/**
 * About bearer tokens for other servers, which apps in pages provide, on the channel of tokens (`tokenChannelName`). The owner's replications
 * ask, in a tab's worker or the service worker; pages answer.
 */
export type TokenMessage = {
  readonly protocol: number;
} /** From the owner to all pages. `url`: the database of the peer. Each page with a provider for it says `token-coming` at once. */ & (
  | { readonly kind: 'token-wanted'; readonly question: string; readonly url: string }
  | { readonly kind: 'token-coming'; readonly question: string; readonly page: string }
  /** `expires`: milliseconds since the epoch. */
  | {
      readonly kind: 'token';
      readonly question: string;
      readonly page: string;
      readonly token: string;
      readonly expires?: number;
    }
  /** The app has none at present, as when no one is logged in; with a reason if it failed. `isOffline`: because there is no network. */
  | {
      readonly kind: 'no-token';
      readonly question: string;
      readonly page: string;
      readonly reason?: string;
      readonly isOffline?: boolean;
    }
  /** A page can answer for databases at or below the prefix now; without one, a page was opened. */
  | { readonly kind: 'provider-added'; readonly prefix?: string }
  | { readonly kind: 'provider-removed'; readonly prefix: string }
);

// ——— messages between a page, its worker and the service worker, apart from requests ———

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
 * `KeepaliveAnswer`s on the port that comes with it; a page that is being left sends no port.
 */
export interface KeepaliveRequest {
  readonly type: 'SETTEE_LASTING';
  readonly base: string;
  /** The page's protocol. A service worker that speaks another one does not carry the request out. */
  readonly protocol: number;
  readonly request: WireRequest;
}

/** `undefined` at once: the service worker has the request, and serves this base. Then the response, whose body is never a stream. */
export interface KeepaliveAnswer {
  readonly response: WireResponse | undefined;
}

/**
 * Keeps the service worker alive by its arrival. The worker that owns the storage sends it to its page, which forwards it unchanged to the
 * service worker that controls the page. Not answered.
 */
export interface AliveMessage {
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
