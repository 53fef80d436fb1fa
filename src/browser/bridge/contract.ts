import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import type { ParticipantKind, PortOffer, WireRequest, WireResponse } from './wire.ts';

/** One service: all workers of the same instance share one storage, one owner and one session. */
export interface Instance {
  /** Absolute address below which requests are answered, with a slash at its end, such as `https://app.example/db/`. */
  readonly base: string;
  /** The prefix of the names of locks, channels and IndexedDB databases: `settee:` and the base. */
  readonly name: string;
}

/** Reaches the present owner of the storage, and outlives owners. */
export interface OwnerLink {
  /**
   * Sends a request to the owner, and waits for one if there is none. When the owner is lost before it answered, a request that only
   * reads is sent again to the next owner; a write whose outcome is unknown is answered 503 `service_unavailable` with a reason that
   * says so. Never hangs: an owner that is silent is pinged, then reported to the workers that can take the storage over.
   */
  handle(request: PlainRequest): Promise<PlainResponse>;
  /** Uses this port from now on to reach the owner that offers it. Closes a port that is for another link, or from a former owner. */
  usePort(offer: PortOffer, port: MessagePort): void;
  close(): void;
}

/**
 * What the worker of a page offers to that page: `handle`, whose calls and responses travel as `PageCalls` and `PageAnswers`, and,
 * through Comlink, a few controls.
 */
export interface PageWorker {
  /**
   * Starts to serve. Resolves when a core answers: this worker's own, or another tab's. Rejects with an Error whose message tells the
   * developer why that fails and what to do, for example if there is no IndexedDB or no Web Locks. The Error has the name
   * `OTHER_PROTOCOL` if the page, or the tab that owns the storage, speaks another protocol.
   */
  open(options: WorkerOptions): Promise<void>;
  /** Streams travel as transferred ports. `call` is the page's number for the request, if `abort` may follow for it. */
  handle(request: WireRequest, call?: number): MaybePromise<WireResponse>;
  abort(call: number): void;
  status(): Promise<WorkerStatus>;
  /** Finishes what is in progress, checkpoints, and gives the storage up if this worker owns it. */
  close(): Promise<void>;
}

export interface WorkerOptions {
  readonly base: string;
  readonly protocol: number;
  /** Settings by section and key, over the defaults; the settings of the worker that becomes the owner take effect. */
  readonly settings?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
  readonly logLevel?: 'error' | 'warning' | 'info' | 'debug' | 'request' | undefined;
}

export interface WorkerStatus {
  /** `waiting`: no owner answers at the moment. */
  readonly role: 'owner' | 'follower' | 'waiting';
  /** Where the core of the owner keeps its data. */
  readonly engine: 'indexeddb';
  readonly version: string;
  readonly protocol: number;
}

/** What a link needs to know about the sender of its requests. */
export interface LinkOptions {
  readonly instance: Instance;
  readonly carrier: ParticipantKind;
  /**
   * Called when no one owns the storage and no tab's worker waits to own it. A service worker then becomes the owner itself, with a core
   * of its own; a tab's worker passes nothing here, since it already waits for the lock.
   */
  readonly provideOwner?: (() => Promise<void>) | undefined;
  /** Called once, when the owner of the storage is found to speak a newer protocol: it answers nothing until this side is reloaded. */
  readonly onOutdated?: (() => void) | undefined;
}
