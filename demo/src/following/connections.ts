/** The connections of the page's feeds: whether they are open, and when they begin and end. */

export type ConnectionState = 'open' | 'interrupted' | 'closed';

/** Whether the feeds of the page, taken together, are connected. Fires a `change` event when that changes. */
export class Connections extends EventTarget {
  readonly #states = new Map<object, ConnectionState>();

  set(feed: object, state: ConnectionState): void {
    const before = this.state;
    this.#states.set(feed, state);
    if (this.state !== before) this.dispatchEvent(new Event('change'));
  }

  /** `interrupted` while one of them is, `closed` while there is none. */
  get state(): ConnectionState {
    const states = [...this.#states.values()];
    return states.find((state) => state === 'interrupted') ?? states.find((state) => state === 'open') ?? 'closed';
  }
}

/**
 * A page that is left may be kept in the back/forward cache, where its connections are cut: they end with the page, and start over with one that
 * comes back.
 */
export function followPage(signal: AbortSignal, onLeave: () => void, onReturn: () => void): void {
  addEventListener('pagehide', onLeave, { signal });
  addEventListener('pageshow', ({ persisted }) => persisted && onReturn(), { signal });
}
