import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import type { ChangeFilter, Feed, FeedEvent, FeedOptions } from '../../../../src/database/changes/contract.ts';
import { DatabaseFeeds, type WatchedDatabases } from '../../../../src/database/changes/feeds.ts';
import type { DatabaseEvent, Lease, Registry } from '../../../../src/database/registry/contract.ts';
import type { Database, Snapshot } from '../../../../src/database/store/contract.ts';
import type { DatabaseSettings } from '../../../../src/database/store/settings.ts';
import { Service, write } from '../registry/service.ts';
import { TINY_PAGES } from '../store/harness.ts';

/** What feeds hold of a database. */
export const none = { leases: 0, snapshots: 0 };
export const one = { leases: 1, snapshots: 1 };

/** What a test does in the middle of a feed. */
interface FeedHooks {
  beforeAcquire?: (() => Promise<void>) | undefined;
  /** Before each batch of changes. */
  beforeRows?: (() => Promise<void>) | undefined;
  /** Before the changes that follow are counted. */
  beforeCount?: (() => Promise<void>) | undefined;
  /** Before bodies are read of documents that were found. */
  beforeBodies?: (() => Promise<void>) | undefined;
}

/** A real registry on memory with the database `db`, which counts what feeds hold of it. */
export class Watched implements WatchedDatabases {
  readonly registry: Registry;
  readonly feeds: DatabaseFeeds;
  readonly hooks: FeedHooks = {};
  leases = 0;
  snapshots = 0;
  /** How often a database was asked for. */
  acquired = 0;
  /** How often the changes of a snapshot were. */
  read = 0;
  readonly #watched = new WeakMap<Database, Database>();

  private constructor(registry: Registry) {
    this.registry = registry;
    this.feeds = new DatabaseFeeds(this);
  }

  static async open(settings: Partial<DatabaseSettings> = {}): Promise<Watched> {
    const watched = new Watched(await new Service().open({ settings, supports: TINY_PAGES }));
    await watched.registry.create('db');
    return watched;
  }

  /** What is held at the moment. */
  get held(): { readonly leases: number; readonly snapshots: number } {
    return { leases: this.leases, snapshots: this.snapshots };
  }

  onEvent(listener: (event: DatabaseEvent) => void): () => void {
    return this.registry.onEvent(listener);
  }

  async acquire(name: string): Promise<Lease> {
    this.acquired += 1;
    await this.hooks.beforeAcquire?.();
    const lease = await this.registry.acquire(name);
    this.leases += 1;
    const { database } = lease;
    const watched = this.#watched.get(database) ?? replacing(database, { snapshot: () => this.#watch(database) });
    this.#watched.set(database, watched);
    return {
      database: watched,
      release: () => {
        this.leases -= 1;
        lease.release();
      },
    };
  }

  /** Writes documents one after another. */
  async write(...ids: readonly string[]): Promise<void> {
    for (const id of ids) await write(this.registry, 'db', id);
  }

  open(options: Partial<FeedOptions> = {}): Promise<Feed> {
    return this.feeds.open('db', {
      since: 0,
      descending: false,
      limit: Number.POSITIVE_INFINITY,
      lasts: 'on',
      timeoutMs: undefined,
      filter: everything,
      ...options,
    });
  }

  #watch(database: Database): Snapshot {
    const snapshot = database.snapshot();
    const { hooks } = this;
    const note = () => {
      this.read += 1;
    };
    this.snapshots += 1;
    return replacing(snapshot, {
      changes: async function* (options) {
        note();
        await hooks.beforeRows?.();
        for await (const rows of snapshot.changes(options)) {
          yield rows;
          await hooks.beforeRows?.();
        }
      },
      changeCount: async (since) => {
        await hooks.beforeCount?.();
        return snapshot.changeCount(since);
      },
      bodies: async (nodes) => {
        await hooks.beforeBodies?.();
        return snapshot.bodies(nodes);
      },
      release: () => {
        this.snapshots -= 1;
        snapshot.release();
      },
    });
  }
}

/** As `original`, but for some members. */
function replacing<T extends object>(original: T, members: Partial<T>): T {
  return new Proxy(original, {
    get: (_target, name) => {
      const value: unknown = Reflect.get(name in members ? members : original, name);
      return typeof value === 'function' ? value.bind(original) : value;
    },
  });
}

export const everything: ChangeFilter = {
  select: (rows) => rows.map((row) => ({ row, revs: row.revs.slice(0, 1) })),
};

export const nothing: ChangeFilter = { select: () => [] };

/** An event in a word: `1 a, 2 b`, `wait`, `end 2 +0`. */
export function shown(event: FeedEvent | undefined): string {
  if (event === undefined) return 'over';
  if (event.type === 'wait') return 'wait';
  if (event.type === 'end') return `end ${event.lastSeq} +${event.pending}`;
  return event.changes.map(({ row }) => `${row.seq} ${row.id}`).join(', ');
}

/** Reads a feed event by event; `over` when there are no more. */
export function reader(feed: Feed): { next(): Promise<string> } {
  const events = feed.events();
  return { next: async () => shown((await events.next()).value ?? undefined) };
}

export async function all(feed: Feed): Promise<string[]> {
  const events: string[] = [];
  for await (const event of feed.events()) events.push(shown(event));
  return events;
}

/** As reads fail whose database is deleted before them. */
export async function deleted(watched: Watched): Promise<never> {
  await watched.registry.delete('db');
  throw new DatabaseError('storage_deleted', 'The database was deleted.');
}
