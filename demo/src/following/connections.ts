/** Whether the feeds of the page, taken together, are connected. Fires a `change` event when that changes. */
export type ConnectionState = 'open' | 'interrupted' | 'closed';

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
