/**
 * Everything that crosses a thread between page, worker and service worker, in one module that all three import. Messages are plain
 * values; no class and no error object crosses. Each carries the protocol's number: a tab may run older code than the
 * service worker that came with an update.
 */
import type { PlainHeaders } from '../../shared/message.ts';

/** Raised whenever a message changes its meaning or form. Sides of different numbers refuse each other by name. */
export const PROTOCOL = 3;

/**
 * A body that is too large to come along. Direct carriers transfer a port; over a BroadcastChannel, which can't transfer,
 * the body has a name, and its steps travel on the channels of the two sides.
 */
export interface WireStream {
  readonly stream: MessagePort | string;
  /** Bytes in all, where known before. The receiver fails a body that ends short of it. */
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
 * From a page to its own worker, beside what Comlink carries between them: a request under the page's number of it, or the number alone
 * when nobody waits for it any more. What is said in one turn travels as one message, since a message costs ten times what a part of it
 * does. Parts are lists because these are cloned in half of the time that objects take.
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

/** Back from the worker, in whichever order, as they come. */
export interface PageAnswers {
  readonly answers: readonly PageAnswer[];
}

export type PageAnswer =
  | readonly [call: number, status: number, headers: PlainHeaders, body: WireResponseBody]
  /** The request could not be carried out at all. */
  | readonly [call: number, failure: string];

/** From who reads a body to who makes it. Nothing is made without credit. */
export type ReaderStep =
  | { readonly step: 'pull'; readonly chunks: number }
  /** The answer to `ask`, which keeps the lease of a body that is not pulled for a while. */
  | { readonly step: 'hold' }
  | { readonly step: 'cancel'; readonly reason: string };

/** From who makes a body to who reads it. `fail` is never mistaken for an end. */
export type MakerStep =
  | { readonly step: 'chunk'; readonly bytes: Uint8Array }
  /** A chunk that is text still: whoever wants bytes makes them, as UTF-8. */
  | { readonly step: 'text'; readonly text: string }
  /**
   * Sent every 10 s: shows that the maker lives, and asks whether the reader does. The maker asks, because a page's timers
   * are throttled when it is hidden, while messages are not.
   */
  | { readonly step: 'ask' }
  | { readonly step: 'end' }
  | { readonly step: 'fail'; readonly reason: string };

export type BodyStep = ReaderStep | MakerStep;

/** A message but for what every message carries. */
export type Payload<M> = M extends unknown ? Omit<M, 'protocol' | 'from'> : never;

/** To the owner, on the channel that carries the owner's id. `from` names the sender's own channel. */
export type ToOwner = { readonly protocol: number; readonly from: string } & (
  | { readonly kind: 'request'; readonly id: number; readonly request: WireRequest; readonly carrier: Carrier }
  | { readonly kind: 'abort'; readonly id: number }
  /** `pending`: requests whose answers the sender waits for. */
  | { readonly kind: 'ping'; readonly pending?: readonly number[] }
  | { readonly kind: 'body'; readonly stream: string; readonly step: BodyStep }
);

/** Who carries a request: for a service worker the owner keeps it alive while bodies are open. */
export type Carrier = 'tab' | 'service-worker';

/** From the owner, on the asker's channel. */
export type FromOwner = { readonly protocol: number; readonly from: string } & (
  | { readonly kind: 'answer'; readonly id: number; readonly response: WireResponse }
  /** The owner has not begun the request and never will: it is on its way out, or speaks another protocol. */
  | { readonly kind: 'refused'; readonly id: number; readonly why: 'leaving' | 'protocol' }
  /** `unknown`: those of the ping's requests that never reached the owner. They may be sent again, whatever they are. */
  | { readonly kind: 'pong'; readonly unknown?: readonly number[] }
  | { readonly kind: 'body'; readonly stream: string; readonly step: BodyStep }
  /** The last on a port: what was sent there and not answered was not begun. The owner is still to be had on its channel. */
  | { readonly kind: 'closed' }
);

/** A new owner is there, and takes requests. */
interface OwnerAnnouncement {
  readonly kind: 'owner';
}

/** To all who serve the same base, on the channel of the instance. */
export type ToAll = {
  readonly protocol: number;
  readonly from: string;
} & (
  | OwnerAnnouncement
  /** A tab's worker wants the storage: a service worker that holds it gives it up, an owner of an older protocol as well. */
  | { readonly kind: 'wanted' }
  /** This owner did not answer pings. A tab's worker that finds the same takes the storage over. */
  | { readonly kind: 'suspect'; readonly owner: string }
  /** Owner `from` has work that may keep it from answering pings for so long: it isn't to be taken for dead meanwhile. */
  | { readonly kind: 'busy'; readonly forMs: number }
  /** The session's cookies as they now are, so that whoever becomes owner next knows them. */
  | { readonly kind: 'cookies'; readonly jar: string }
);
