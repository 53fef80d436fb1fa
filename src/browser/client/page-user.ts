/**
 * The handle returned by one call of `start()`. The handles of a base share one service, as when React's StrictMode starts, closes and starts
 * again: each closes its own handle, and the service ends with the last one.
 */
import type { Settee, SetteeStatus, StartOptions, TokenProvider } from './contract.ts';
import type { PageClient } from './page-client.ts';
import { closed } from './worker-supervisor.ts';

/** The users of a service that are not closed yet. */
export type PageUsers = Set<PageUser>;

export class PageUser extends EventTarget implements Settee {
  readonly base: string;
  readonly replacesFetch: boolean;
  /** Resolves when what the call waits for is ready. */
  readonly opened: Promise<this>;
  readonly #client: PageClient;
  readonly #users: PageUsers;
  /** Of the providers of tokens that were not removed yet. */
  readonly #removals = new Set<() => void>();
  #closed: Promise<void> | undefined;

  constructor(client: PageClient, users: PageUsers, { waitFor, replaceFetch = false, persist }: StartOptions) {
    super();
    this.base = client.base;
    this.replacesFetch = replaceFetch;
    this.#client = client;
    this.#users = users;
    users.add(this);
    client.addEventListener('update', this.#announceUpdate);
    if (replaceFetch) client.replaceFetch();
    this.opened = this.#open(waitFor === 'database', persist);
    if (client.isUpdateKnown) this.#announceUpdate();
  }

  async #open(doesDatabaseSuffice: boolean, persist = false): Promise<this> {
    try {
      if (!doesDatabaseSuffice) this.#client.control().catch(() => {});
      await this.#client.running;
      if (!doesDatabaseSuffice) await this.#client.controlled;
    } catch (error) {
      await this.close();
      throw error;
    }
    // The browser may ask the user, and waits for the answer.
    if (persist) void this.persist().catch(() => {});
    return this;
  }

  get controlled(): Promise<boolean> {
    return this.#client.controlled;
  }

  /** A property, so that it can be detached: `const { fetch } = settee`. */
  readonly fetch = (input: Request | URL | string, init?: RequestInit): Promise<Response> =>
    this.#closed ? this.#client.fetchElsewhere(input, init) : this.#client.fetch(input, init);

  async status(): Promise<SetteeStatus> {
    this.#mustBeOpen();
    return this.#client.status();
  }

  credentials(url: string | URL, provide: TokenProvider): () => void {
    this.#mustBeOpen();
    const remove = this.#client.tokens.add(url, provide);
    this.#removals.add(remove);
    return () => {
      this.#removals.delete(remove);
      remove();
    };
  }

  persist(): Promise<boolean> {
    return this.#client.persist();
  }

  update(): Promise<boolean> {
    return this.#client.update();
  }

  close(): Promise<void> {
    this.#closed ??= this.#leave();
    return this.#closed;
  }

  async #leave(): Promise<void> {
    this.#users.delete(this);
    for (const remove of this.#removals) remove();
    this.#client.removeEventListener('update', this.#announceUpdate);
    if (this.#users.size === 0) await this.#client.close();
    else if (![...this.#users].some(({ replacesFetch }) => replacesFetch)) this.#client.restoreFetch();
  }

  #mustBeOpen(): void {
    if (this.#closed) throw closed();
  }

  /** A caller that waits for `opened` gets a turn before the event, to add a listener. */
  readonly #announceUpdate = (): void => {
    const announce = () => this.dispatchEvent(new Event('update'));
    void this.opened.then(
      () => setTimeout(announce),
      () => {},
    );
  };
}
