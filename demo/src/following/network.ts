/**
 * Whether the server of this page answers. `navigator.onLine` alone can't tell: it is true as long as the device has any network, whatever
 * became of the server. Fires a `change` event when that changes.
 */
import type { KnownServer } from '../data/known-server.ts';
import { Again } from './again.ts';

export type NetworkState = 'unknown' | 'reached' | 'away' | 'offline';

const EVERY_MS = 4000;
const MAX_MS = 32_000;
const PATIENCE_MS = 4000;

/** Passed on to the database server, where there is one. */
const UP = '/server/_up';

export class Network extends EventTarget {
  readonly #server: KnownServer;
  readonly #again = new Again(() => this.#ask(), {
    firstMs: EVERY_MS,
    maxMs: MAX_MS,
    restMs: EVERY_MS,
    isWanted: () => !document.hidden,
  });
  #state: NetworkState = 'unknown';
  /** What is asked for; by `HEAD`, which no service worker of ours answers. */
  #address = UP;

  constructor(server: KnownServer) {
    super();
    this.#server = server;
  }

  get state(): NetworkState {
    return this.#state;
  }

  /** Whether the page is served with a database server beside it, which may be away. */
  get hasServer(): boolean {
    return this.#address === UP;
  }

  start(): void {
    const ask = () => void this.#again.now();
    addEventListener('online', ask);
    addEventListener('offline', ask);
    document.addEventListener('visibilitychange', () => document.hidden || ask());
    void this.#again.start();
  }

  async #ask(): Promise<boolean> {
    const state = await this.#find();
    if (state !== this.#state) {
      this.#state = state;
      this.dispatchEvent(new Event('change'));
    }
    return state === 'reached';
  }

  async #find(): Promise<NetworkState> {
    if (!navigator.onLine) return 'offline';
    const init = { method: 'HEAD', cache: 'no-store', signal: AbortSignal.timeout(PATIENCE_MS) } as const;
    const answer = await fetch(this.#address, init).catch(() => undefined);
    if (answer) this.#server.note(answer);
    const status = answer?.status ?? 0;
    // A page that is served without a database server: from now on the page itself is asked for.
    if (status === 404 && this.#address === UP) {
      this.#address = '/';
      return this.#find();
    }
    if (status > 0 && status < 500) return 'reached';
    return navigator.onLine ? 'away' : 'offline';
  }
}
