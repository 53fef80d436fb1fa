import { systemClock, systemRandom } from '../../src/base/shared/clock.ts';
import { ActiveTasks } from '../../src/base/system/active-tasks.ts';
import { createConfig } from '../../src/core/config/config-store.ts';
import type { DocId, RevId } from '../../src/database/documents/contract.ts';
import { createRevisionHasher } from '../../src/database/documents/revisions/revision-hash.ts';
import { openDatabase } from '../../src/database/store/open-database.ts';
import type { StoredDatabase } from '../../src/database/store/stored-database.ts';
import type { DesignDocument, ViewGroup, ViewIndexes, ViewReader } from '../../src/queries/views/contract.ts';
import { createViewIndexes, type ViewIndexesOptions } from '../../src/queries/views/view-indexes.ts';
import { createMemoryPageStore, MemoryMedium } from '../../src/storage/memory-page-store.ts';
import type { PageStore } from '../../src/storage/page-store.ts';
import { createTestSandbox } from '../unit/queries/sandbox/quickjs-files.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** A database and its views on one store in memory. */
export class ViewFixture {
  readonly medium: MemoryMedium;
  readonly store: PageStore;
  readonly logged: string[] = [];
  readonly tasks = new ActiveTasks(systemClock);
  readonly database: StoredDatabase;
  readonly views: ViewIndexes;
  readonly #revs = new Map<string, RevId>();

  private constructor(medium: MemoryMedium, store: PageStore, database: StoredDatabase, options: ViewFixtureOptions) {
    this.medium = medium;
    this.store = store;
    this.database = database;
    const add = (message: string) => this.logged.push(message);
    this.views = createViewIndexes({
      store,
      clock: systemClock,
      config: createConfig(options.config ?? {}),
      log: { error: add, info: add, debug: add },
      tasks: this.tasks,
      sandbox: createTestSandbox(),
      ...options.parts,
      // Nothing is stored by itself, however slow the machine is, unless a test wants it.
      settings: { idleMs: 1_000_000, checkpointMs: 1_000_000, ...options.parts?.settings },
    });
  }

  static async open(options: ViewFixtureOptions = {}): Promise<ViewFixture> {
    const medium = options.medium ?? new MemoryMedium();
    const store = options.wrap?.(createMemoryPageStore({ medium })) ?? createMemoryPageStore({ medium });
    const exists = (await store.list()).includes('db.1');
    const database = await openDatabase({
      name: 'db',
      file: await store.open('db.1', exists ? 'open' : 'create'),
      supports: store.supports,
      clock: systemClock,
      random: systemRandom,
      log: { error: () => undefined, info: () => undefined, debug: () => undefined },
      hasher: await createRevisionHasher(),
      onFailure: () => undefined,
    });
    return new ViewFixture(medium, store, database, options);
  }

  /** Writes documents by id; `undefined` deletes. */
  async write(documents: Readonly<Record<string, Json | undefined>>): Promise<void> {
    const writes = Object.entries(documents).map(([id, body]) => ({
      id: id as DocId,
      rev: this.#revs.get(id),
      deleted: body === undefined,
      body: JSON.stringify(body ?? {}),
    }));
    for (const outcome of await this.database.write(writes, { newEdits: true, durability: 'relaxed' })) {
      if (!outcome.ok) throw outcome.error;
      if (outcome.deleted) this.#revs.delete(outcome.id);
      else this.#revs.set(outcome.id, outcome.rev);
    }
  }

  revOf(id: string): RevId {
    const rev = this.#revs.get(id);
    if (rev === undefined) throw new Error(`${id} was not written`);
    return rev;
  }

  /** The views need not be stored. */
  async group(views: Json, members: Readonly<Record<string, Json>> = {}, name = 'd'): Promise<ViewGroup> {
    return this.views.open(this.database, design(views, members, name));
  }

  async close(): Promise<void> {
    await this.views.close();
    await this.database.close();
  }
}

interface ViewFixtureOptions {
  readonly medium?: MemoryMedium;
  readonly config?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly parts?: Partial<ViewIndexesOptions>;
  readonly wrap?: (store: PageStore) => PageStore;
}

export function design(views: Json, members: Readonly<Record<string, Json>> = {}, name = 'd'): DesignDocument {
  const body = JSON.stringify({ views, ...members });
  return { id: `_design/${name}` as DocId, rev: `1-${body.length}` as RevId, body };
}

/** `[id, key, value]` of each row. */
type Row = readonly [id: string, key: Json, value: Json];

export async function rowsOf(reader: ViewReader, view: string, options = {}): Promise<Row[]> {
  const found: Row[] = [];
  const { rows } = await reader.rows(view, options);
  for await (const batch of rows) {
    for (const row of batch) found.push([row.id, JSON.parse(row.keyText), JSON.parse(row.valueText)]);
  }
  return found;
}

/** `[key, value]` of each group. */
export async function groupsOf(reader: ViewReader, view: string, options = {}): Promise<[Json, Json][]> {
  const found: [Json, Json][] = [];
  for await (const batch of reader.reduce(view, options)) {
    for (const row of batch) found.push([JSON.parse(row.keyText), JSON.parse(row.valueText)]);
  }
  return found;
}

/** Opens, reads and releases. */
export async function withReader<T>(group: ViewGroup, use: (reader: ViewReader) => Promise<T>): Promise<T> {
  const reader = await group.read();
  try {
    return await use(reader);
  } finally {
    reader.release();
  }
}
