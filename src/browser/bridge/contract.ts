import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import type { PortOffer } from './wire/control.ts';
import type { Sender, WireRequest, WireResponse } from './wire/wire.ts';

/** One service: all workers of the same instance share one storage, one owner and one session. */
export interface Instance {
  /** Absolute address below which requests are answered, with a slash at its end, such as `https://app.example/db/`. */
  readonly base: string;
  /** What the names of locks, channels and IndexedDB databases begin with: `settee:` and the base. */
  readonly name: string;
}

/** Reaches the present owner of the storage, and outlives owners. */
export interface OwnerLink {
  /**
   * Sends a request to the owner, and waits for one where there is none. When the owner is lost before it answered, a request that only
   * reads is sent again to the next owner; a write whose outcome nobody knows is answered 503 `service_unavailable` with a reason that
   * says so. Never hangs: an owner that is silent is pinged, then reported to those who can take the storage over.
   */
  handle(request: PlainRequest): Promise<PlainResponse>;
  /** Uses this port from now on to reach the owner that offers it. Closes a port that is for another link, or from an owner that is none any more. */
  usePort(offer: PortOffer, port: MessagePort): void;
  close(): void;
}

/**
 * What the worker of a page offers to that page: `handle`, whose calls and answers travel as `PageCalls` and `PageAnswers`, and through
 * Comlink a few controls.
 */
export interface PageWorker {
  /**
   * Begins to serve. Resolves when a core answers: this worker's own, or another tab's. Rejects with an Error whose message tells the
   * developer why that can't be and what to do, for example where there is no IndexedDB or no Web Locks. The Error has the name
   * `OTHER_PROTOCOL` where the page, or the tab that owns the storage, speaks another protocol.
   */
  open(options: WorkerOptions): Promise<void>;
  /** Streams travel as transferred ports. `call` is the page's number of the request, where `abort` may come for it. */
  handle(request: WireRequest, call?: number): MaybePromise<WireResponse>;
  abort(call: number): void;
  status(): Promise<WorkerStatus>;
  /** Finishes what is under way, checkpoints, and gives the storage up if this worker owns it. */
  close(): Promise<void>;
}

export interface WorkerOptions {
  readonly base: string;
  readonly protocol: number;
  /** Settings by section and key, over the defaults; those of the worker that becomes owner count. */
  readonly settings?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
  readonly logLevel?: 'error' | 'info' | 'debug' | 'request' | undefined;
}

export interface WorkerStatus {
  /** `waiting`: no owner answers at the moment. */
  readonly role: 'owner' | 'follower' | 'waiting';
  /** Where the core of the owner keeps its data. */
  readonly engine: 'indexeddb';
  readonly version: string;
  readonly protocol: number;
}

/** What a link is to know of whoever sends requests through it. */
export interface LinkOptions {
  readonly instance: Instance;
  readonly carrier: Sender;
  /**
   * Called when nobody owns the storage and no tab's worker waits to own it. A service worker then becomes the owner itself, with a core
   * of its own; a tab's worker passes nothing here, since it already waits for the lock.
   */
  readonly whenNobody?: (() => Promise<void>) | undefined;
  /** Called, once, when the storage is found to be owned by somebody who speaks a newer protocol: it answers nothing until this side is loaded anew. */
  readonly onOutdated?: (() => void) | undefined;
}
