/** One feed of changes for each database, shared by all that follow it on a page. */
import { pause } from '../../base/shared/clock.ts';

/** After a failure: the first pause before the feed starts again, and the longest. */
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;

/** What the feed needs of a `Database`. */
interface Followed {
  all(options: { readonly limit: 0; readonly update_seq: true }): Promise<{ readonly update_seq?: number }>;
  changes(options: {
    readonly since: number;
    readonly live: true;
    readonly signal: AbortSignal;
  }): AsyncIterable<{ readonly id: string }>;
}

export interface Follower {
  /** Documents with these ids have changed. Undefined: any may have, so that all must be read. That comes first, once nothing later is missed. */
  changed(ids: ReadonlySet<string> | undefined): void;
  /** The feed has failed, and will be started again. */
  failed(error: unknown): void;
}

/** What all entries of the package have in common: each has a copy of this module. The number changes when a feed is called otherwise. */
const FEEDS = Symbol.for('settee.feeds.1');

/** Calls the follower until the returned function is called. */
export function follow(database: Followed, follower: Follower): () => void {
  const feeds = feedsOfPage();
  let feed = feeds.get(database);
  if (feed === undefined) {
    feed = new SharedFeed(database);
    feeds.set(database, feed);
  }
  return feed.add(follower);
}

function feedsOfPage(): WeakMap<object, Pick<SharedFeed, 'add'>> {
  const page = globalThis as { [FEEDS]?: WeakMap<object, Pick<SharedFeed, 'add'>> };
  page[FEEDS] ??= new WeakMap();
  return page[FEEDS];
}

class SharedFeed {
  readonly #database: Followed;
  readonly #followers = new Set<Follower>();
  #running: AbortController | undefined;
  /** Whether every change from now on is reported. */
  #isComplete = false;
  #changed = new Set<string>();

  constructor(database: Followed) {
    this.#database = database;
  }

  add(follower: Follower): () => void {
    this.#followers.add(follower);
    if (this.#running === undefined) this.#start();
    else queueMicrotask(() => this.#welcome(follower));
    return () => {
      this.#followers.delete(follower);
      // Frameworks often leave and join again within one turn: at each start of an effect in React's strict mode, and when a list is shown again.
      setTimeout(() => this.#stopIfUnused(), 0);
    };
  }

  /** Who comes to a feed that runs has read nothing yet. */
  #welcome(follower: Follower): void {
    if (this.#isComplete && this.#followers.has(follower)) follower.changed(undefined);
  }

  #start(): void {
    this.#running = new AbortController();
    void this.#run(this.#running.signal);
  }

  #stopIfUnused(): void {
    if (this.#followers.size > 0) return;
    this.#running?.abort();
    this.#running = undefined;
    this.#isComplete = false;
    this.#changed.clear();
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (let ms = FIRST_PAUSE_MS; !signal.aborted; ms = Math.min(2 * ms, MAX_PAUSE_MS)) {
      try {
        const { update_seq: since = 0 } = await this.#database.all({ limit: 0, update_seq: true });
        if (signal.aborted) return;
        this.#isComplete = true;
        this.#notify(undefined);
        for await (const { id } of this.#database.changes({ since, live: true, signal })) {
          ms = FIRST_PAUSE_MS;
          this.#collect(id, signal);
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#isComplete = false;
        for (const follower of [...this.#followers]) follower.failed(error);
      }
      await pause(ms);
    }
  }

  /** The changes of one response come one after another, and are reported together. */
  #collect(id: string, signal: AbortSignal): void {
    if (this.#changed.size === 0) {
      setTimeout(() => {
        const ids = this.#changed;
        this.#changed = new Set();
        if (!signal.aborted) this.#notify(ids);
      }, 0);
    }
    this.#changed.add(id);
  }

  #notify(ids: ReadonlySet<string> | undefined): void {
    for (const follower of [...this.#followers]) follower.changed(ids);
  }
}
