/**
 * Whether the server of this page answers. `navigator.onLine` alone can't tell: it is true as long as the device has any network, whatever
 * became of the server. Fires a `change` event when that changes.
 */
export type NetworkState = 'unknown' | 'reached' | 'away' | 'offline';

const EVERY_MS = 4000;
const PATIENCE_MS = 4000;

/** Passed on to the database server, where there is one. */
const UP = '/server/_up';

export class Network extends EventTarget {
  #state: NetworkState = 'unknown';
  /** What is asked for; by `HEAD`, which no service worker of ours answers. */
  #address = UP;
  #timer: ReturnType<typeof setTimeout> | undefined;

  get state(): NetworkState {
    return this.#state;
  }

  start(): void {
    const ask = () => void this.#ask();
    addEventListener('online', ask);
    addEventListener('offline', ask);
    document.addEventListener('visibilitychange', ask);
    ask();
  }

  /** Asks again later, while somebody sees the page. */
  async #ask(): Promise<void> {
    clearTimeout(this.#timer);
    if (document.hidden && this.#state !== 'unknown') return;
    const state = await this.#find();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#ask(), EVERY_MS);
    if (state === this.#state) return;
    this.#state = state;
    this.dispatchEvent(new Event('change'));
  }

  async #find(): Promise<NetworkState> {
    if (!navigator.onLine) return 'offline';
    const init = { method: 'HEAD', cache: 'no-store', signal: AbortSignal.timeout(PATIENCE_MS) } as const;
    const status = await fetch(this.#address, init).then(
      (response) => response.status,
      () => 0,
    );
    // A page that is served without a database server: from now on the page itself is asked for.
    if (status === 404 && this.#address === UP) {
      this.#address = '/';
      return this.#find();
    }
    if (status > 0 && status < 500) return 'reached';
    return navigator.onLine ? 'away' : 'offline';
  }
}
