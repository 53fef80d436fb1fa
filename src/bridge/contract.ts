import type { MaybePromise } from '../shared/maybe-promise.ts';
import type { PlainRequest, PlainResponse } from '../shared/message.ts';
import type { PortOffer } from './wire/control.ts';
import type { Carrier, WireRequest, WireResponse } from './wire/wire.ts';

/** One service: those who name the same instance share one storage, one owner and one session. */
export interface Instance {
  /** Absolute address below which requests are answered, with a slash at its end, such as `https://app.example/db/`. */
  readonly base: string;
  /** What the names of locks, channels and IndexedDB databases begin with: `settee:` and the base. */
  readonly name: string;
}

/** Reaches whoever owns the storage at the moment, and outlives owners. */
export interface OwnerLink {
  /**
   * Sends a request to the owner. Where none is there, waits for one. When the owner is lost before it answered, a read (GET, HEAD,
   * and the POSTs that only read) is sent again to the next one; a write whose outcome nobody knows is answered 503
   * `service_unavailable` with a reason that says so. Never hangs: an owner that is silent is pinged, then suspected.
   */
  handle(request: PlainRequest): Promise<PlainResponse>;
  /** Speaks over this port from now on with the owner that offers it. Closes a port that is for another link, or from one that is the owner no more. */
  usePort(offer: PortOffer, port: MessagePort): void;
  close(): void;
}

/**
 * What the worker of a page offers to that page: one function in the shape of the one door, whose calls and answers travel as `PageCalls` and
 * `PageAnswers`, and through Comlink a few controls.
 */
export interface WorkerDoor {
  /**
   * Begins to serve. Resolves when a core answers: this worker's own, or another tab's. Rejects with an Error whose message is
   * for the developer: no IndexedDB, no Web Locks.
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
  readonly logLevel?: 'error' | 'info' | 'debug' | undefined;
}

export interface WorkerStatus {
  /** `waiting`: no owner answers at the moment. */
  readonly role: 'owner' | 'follower' | 'waiting';
  /** Where the core of the owner keeps its data. */
  readonly engine: 'indexeddb';
  readonly version: string;
  readonly protocol: number;
}

/** Who sends requests through a link. */
export interface LinkOptions {
  readonly instance: Instance;
  readonly carrier: Carrier;
  /**
   * Called when nobody owns the storage and no tab's worker waits to own it. A service worker then becomes the owner itself, and gives the way to its own
   * core; a tab's worker does nothing, since it already waits for the lock.
   */
  readonly whenNobody?: (() => Promise<void>) | undefined;
}
