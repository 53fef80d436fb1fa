import { isDatabaseError } from '../../base/errors/database-error.ts';
import type { Log } from '../../base/system/contract.ts';
import type { DocId, RevId } from '../../database/documents/contract.ts';
import { DESIGN_RANGE } from '../../database/documents/identifiers.ts';
import type { Database } from '../../database/store/contract.ts';

/** The databases of a service and their events, as the registry has them. */
export interface Databases {
  acquire(name: string): Promise<{ readonly database: Database; release(): void }>;
  onEvent(
    listener: (event: { readonly type: 'created' | 'updated' | 'deleted'; readonly name: string }) => void,
  ): () => void;
}

interface BackgroundOptions {
  readonly databases: Databases;
  /** Milliseconds between a write and the search for new design documents. Default 300. */
  readonly delayMs?: number;
  readonly log: Log;
  /** Whether the indexes of that database are this process's own. It may change at any time. Default: they are. */
  owns?: ((database: string) => boolean) | undefined;
  build(database: Database, design: DocId): Promise<void>;
  /** The database was deleted. */
  forget(name: string): void;
}

const DELAY_MS = 300;

/**
 * Builds indexes in the background when a design document was written, so that the first query need not wait. Some time
 * after a write it searches the design documents for new ones, which costs one look into the tree if there are none.
 */
export class BackgroundBuilds {
  readonly #options: BackgroundOptions;
  readonly #endEvents: () => void;
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();
  /** By database: the revisions of the design documents at the last search, and of which database of that name they are. */
  readonly #revisions = new Map<string, { readonly uuid: string; readonly designs: ReadonlyMap<DocId, RevId> }>();
  readonly #running = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: BackgroundOptions) {
    this.#options = options;
    this.#endEvents = options.databases.onEvent(({ type, name }) => {
      if (type === 'deleted') this.#forget(name);
      else this.schedule(name);
    });
  }

  #forget(name: string): void {
    clearTimeout(this.#timers.get(name));
    this.#timers.delete(name);
    this.#revisions.delete(name);
    this.#options.forget(name);
  }

  /** Schedules a search of a database's design documents after the delay, unless one is already scheduled. */
  schedule(name: string): void {
    if (this.#isClosed || this.#timers.has(name) || !this.#isOwn(name)) return;
    const timer = setTimeout(() => {
      this.#timers.delete(name);
      const work: Promise<void> = this.#buildNew(name)
        .catch((error: unknown) => this.#failed(name, error))
        .finally(() => this.#running.delete(work));
      this.#running.add(work);
    }, this.#options.delayMs ?? DELAY_MS);
    this.#timers.set(name, timer);
  }

  /** What another process builds is not remembered as built. */
  #isOwn(name: string): boolean {
    const isOwn = this.#options.owns?.(name) !== false;
    if (!isOwn) this.#revisions.delete(name);
    return isOwn;
  }

  async #buildNew(name: string): Promise<void> {
    if (!this.#isOwn(name)) return;
    const { database, release } = await this.#options.databases.acquire(name);
    try {
      const { uuid } = database;
      const known = this.#revisions.get(name);
      // A database that was deleted meanwhile may come again with the same design documents.
      const before = known?.uuid === uuid ? known.designs : undefined;
      const designs = await designRevisions(database);
      if (designs.size > 0 || before !== undefined) this.#revisions.set(name, { uuid, designs });
      for (const [id, rev] of designs) {
        if (before?.get(id) !== rev)
          await this.#options.build(database, id).catch((error: unknown) => this.#failed(name, error));
      }
    } finally {
      release();
    }
  }

  /** Only logs the error, because a query of the view fails with the same one. */
  #failed(name: string, error: unknown): void {
    const isExpected = isDatabaseError(error, 'not_found') || isDatabaseError(error, 'storage_closed');
    if (!isExpected) this.#options.log.info(`no index was built in the background in ${name}: ${String(error)}`);
  }

  /** Begins no more builds, and waits for those that run. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#endEvents();
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    await Promise.all(this.#running);
  }
}

async function designRevisions(database: Database): Promise<Map<DocId, RevId>> {
  const revisions = new Map<DocId, RevId>();
  const snapshot = database.snapshot();
  try {
    for await (const rows of snapshot.rows(DESIGN_RANGE)) {
      for (const { id, rev } of rows) revisions.set(id, rev);
    }
  } finally {
    snapshot.release();
  }
  return revisions;
}
