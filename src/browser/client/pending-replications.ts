/**
 * Continues replications that are not at rest when their page goes: the service worker continues them if no other page does,
 * and if the browser has background synchronization, it starts the service worker for that when the network is back.
 */
import { type ReplicationMessage, syncTag } from '../bridge/wire.ts';

/** Work that takes no longer than this is done before another context could help. */
const SHORT_MS = 2_000;

interface SyncManager {
  register(tag: string): Promise<void>;
}

export class PendingReplications {
  readonly #base: string;
  #last: ReplicationMessage | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #sync: SyncManager | undefined;

  constructor(base: string) {
    this.#base = base;
  }

  note(message: ReplicationMessage): void {
    this.#last = message.activity === 'resting' ? undefined : message;
    clearTimeout(this.#timer);
    if (!this.#last) return;
    void navigator.serviceWorker?.ready.then((registration: ServiceWorkerRegistration & { sync?: SyncManager }) => {
      this.#sync = registration.sync;
    });
    this.#timer = setTimeout(() => this.#register(), navigator.onLine ? SHORT_MS : 0);
  }

  /** The page is left, and its worker ends. */
  leave(): void {
    clearTimeout(this.#timer);
    if (!this.#last) return;
    navigator.serviceWorker?.controller?.postMessage(this.#last);
    this.#register();
    this.#last = undefined;
  }

  /** The browser may refuse, for example if the user has forbidden it. */
  #register(): void {
    this.#sync?.register(syncTag(this.#base)).catch(() => {});
  }
}
