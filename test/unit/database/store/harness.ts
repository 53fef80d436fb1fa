import { assert, must } from '../../../../src/base/shared/assert.ts';
import type { Clock } from '../../../../src/base/shared/clock.ts';
import { type MaybePromise, whenReady } from '../../../../src/base/shared/maybe-promise.ts';
import { ActiveTasks } from '../../../../src/base/system/active-tasks.ts';
import type { Log } from '../../../../src/base/system/contract.ts';
import type { DocId, RevId } from '../../../../src/database/documents/contract.ts';
import { parseDocId } from '../../../../src/database/documents/identifiers.ts';
import {
  createRevisionHasher,
  type RevisionHasher,
} from '../../../../src/database/documents/revisions/revision-hash.ts';
import { parseRevId, toRevId } from '../../../../src/database/documents/revisions/revisions.ts';
import type { Database, WriteGuard } from '../../../../src/database/store/contract.ts';
import { type FollowedDatabase, followDatabase } from '../../../../src/database/store/following/followed-database.ts';
import { describeLoss, openDatabase } from '../../../../src/database/store/open-database.ts';
import type { DatabaseSettings } from '../../../../src/database/store/settings.ts';
import type { StoredDatabase } from '../../../../src/database/store/stored-database.ts';
import { createMemoryPageStore, MemoryMedium } from '../../../../src/storage/memory-page-store.ts';
import type {
  Commit,
  FollowedFile,
  JournalRecord,
  Opening,
  PageFile,
  PageNumber,
  PageStore,
  PageStoreSupport,
  PageValue,
} from '../../../../src/storage/page-store.ts';

/** A database on a medium of its own, whose every storage operation can be watched, delayed, failed and falsified. */

export const id = (text: string): DocId => parseDocId(text);
export const rev = (text: string): RevId => parseRevId(text);

/** A clock that stands still until it is told to go on. */
export class ManualClock implements Clock {
  time = 1_700_000_000_000;
  now(): number {
    return this.time;
  }
  monotonic(): number {
    return this.time;
  }
}

/** What a test does to the operations of a store. Each may throw or reject, and so fail the operation. */
export interface StorageHooks {
  beforeCommit?(commit: Commit, file: string): MaybePromise<void>;
  afterCommit?(commit: Commit, file: string): MaybePromise<void>;
  onRead?(page: PageNumber, value: PageValue | undefined): MaybePromise<PageValue | undefined>;
  beforeOpen?(file: string, mode: 'create' | 'open'): MaybePromise<void>;
  beforeDestroy?(file: string): MaybePromise<void>;
  beforeClose?(file: string): MaybePromise<void>;
  onCompact?(file: string): MaybePromise<void>;
  onSize?(bytes: number): number;
}

/** A store that passes everything on to another one, through hooks. */
export class HookedStore implements PageStore {
  readonly supports: PageStoreSupport;
  readonly #inner: PageStore;
  readonly #hooks: StorageHooks;

  constructor(inner: PageStore, hooks: StorageHooks, supports: Partial<PageStoreSupport> = {}) {
    this.#inner = inner;
    this.#hooks = hooks;
    this.supports = { ...inner.supports, ...supports };
  }

  list(): Promise<string[]> {
    return this.#inner.list();
  }

  async open(file: string, mode: 'create' | 'open'): Promise<PageFile> {
    await this.#hooks.beforeOpen?.(file, mode);
    return new HookedFile(await this.#inner.open(file, mode), this.#hooks, this.supports.maxPageBytes);
  }

  async follow(file: string): Promise<FollowedFile> {
    if (this.#inner.follow === undefined) throw new Error('this store follows no files');
    return this.#inner.follow(file);
  }

  async destroy(file: string): Promise<void> {
    await this.#hooks.beforeDestroy?.(file);
    await this.#inner.destroy(file);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}

class HookedFile implements PageFile {
  readonly #inner: PageFile;
  readonly #hooks: StorageHooks;
  readonly #maxPageBytes: number;

  constructor(inner: PageFile, hooks: StorageHooks, maxPageBytes: number) {
    this.#inner = inner;
    this.#hooks = hooks;
    this.#maxPageBytes = maxPageBytes;
  }

  get name(): string {
    return this.#inner.name;
  }

  get opening(): Opening {
    return this.#inner.opening;
  }

  read(page: PageNumber, kind: 'text'): MaybePromise<string | undefined>;
  read(page: PageNumber, kind: 'bytes'): MaybePromise<Uint8Array | undefined>;
  read(page: PageNumber, kind: 'text' | 'bytes'): MaybePromise<PageValue | undefined> {
    const read = (): MaybePromise<PageValue | undefined> =>
      kind === 'text' ? this.#inner.read(page, 'text') : this.#inner.read(page, 'bytes');
    const { onRead } = this.#hooks;
    if (onRead === undefined) return read();
    const value = read();
    return value instanceof Promise ? value.then((late) => onRead(page, late)) : onRead(page, value);
  }

  async commit(commit: Commit): Promise<void> {
    for (const { number, value } of commit.writePages ?? []) {
      assert(value.length <= this.#maxPageBytes, () => `page ${number} has ${value.length} bytes`);
    }
    await this.#hooks.beforeCommit?.(commit, this.name);
    await this.#inner.commit(commit);
    await this.#hooks.afterCommit?.(commit, this.name);
  }

  append(journal: JournalRecord): MaybePromise<boolean> {
    const commit: Commit = { durability: 'relaxed', journal };
    const { beforeCommit, afterCommit } = this.#hooks;
    const after = (isAppended: boolean): MaybePromise<boolean> =>
      whenReady(isAppended ? afterCommit?.(commit, this.name) : undefined, () => isAppended);
    return whenReady(beforeCommit?.(commit, this.name), () => whenReady(this.#inner.append?.(journal) ?? false, after));
  }

  pageNumbers(from: PageNumber): AsyncIterable<readonly PageNumber[]> {
    return this.#inner.pageNumbers(from);
  }

  whenFollowersPass(): Promise<void> | undefined {
    return this.#inner.whenFollowersPass?.();
  }

  isCurrent(): Promise<boolean> {
    return this.#inner.isCurrent();
  }

  async size(): Promise<number> {
    const bytes = await this.#inner.size();
    return this.#hooks.onSize?.(bytes) ?? bytes;
  }

  async compact(): Promise<void> {
    await this.#hooks.onCompact?.(this.name);
  }

  async close(): Promise<void> {
    await this.#hooks.beforeClose?.(this.name);
    await this.#inner.close();
  }
}

/** Settings with which everything happens after a handful of writes. */
export const TINY: Partial<DatabaseSettings> = {
  journalBytes: 2_000,
  journalRecords: 5,
  dirtyBytes: 20_000,
  sliceBytes: 500,
  packFrom: 800,
  idleMs: 100_000,
};

/** Page sizes with which a few documents make trees of several levels and bodies of several pages. */
export const TINY_PAGES: Partial<PageStoreSupport> = { leafBytes: 300, bodyPageBytes: 400, maxPageBytes: 1_000 };

export interface BenchOptions {
  readonly medium?: MemoryMedium;
  readonly settings?: Partial<DatabaseSettings>;
  readonly supports?: Partial<PageStoreSupport>;
  readonly hooks?: StorageHooks;
  /** Puts another store around the bench's own. */
  readonly wrap?: (store: PageStore) => PageStore;
}

export const FILE = 'file';

/** One medium, and the databases that are opened on it one after another (or, as rivals, at once). */
export class Bench {
  readonly medium: MemoryMedium;
  readonly clock = new ManualClock();
  readonly tasks = new ActiveTasks(this.clock);
  readonly failures: unknown[] = [];
  readonly logged: string[] = [];
  /** Set: damaged journals are cut off when the file is opened, and what goes is noted here. */
  repairs: string[] | undefined;
  readonly hooks: StorageHooks;
  readonly #options: BenchOptions;
  static #hasher: Promise<RevisionHasher> | undefined;
  #seed = 1;

  constructor(options: BenchOptions = {}) {
    this.#options = options;
    this.medium = options.medium ?? new MemoryMedium();
    this.hooks = options.hooks ?? {};
  }

  /** A bench over what a crash at this moment would leave. */
  crashed(hooks: StorageHooks = {}): Bench {
    return new Bench({ ...this.#options, medium: this.medium.clone(), hooks });
  }

  async open(settings: Partial<DatabaseSettings> = {}): Promise<StoredDatabase> {
    const store = this.store();
    const file = await store.open(FILE, this.medium.files.has(FILE) ? 'open' : 'create');
    Bench.#hasher ??= createRevisionHasher();
    return openDatabase({
      name: 'db',
      file,
      supports: store.supports,
      clock: this.clock,
      log: this.log,
      hasher: await Bench.#hasher,
      tasks: this.tasks,
      random: (bytes) => bytes.fill(this.#seed++),
      settings: { ...this.#options.settings, ...settings },
      onFailure: (error) => this.failures.push(error),
      onDamagedRecord:
        this.repairs && ((file, number, behind) => this.repairs?.push(describeLoss(number, `in ${file}`, behind))),
    });
  }

  /** Follows the file, as another process does. */
  async follow(settings: { readonly snapshotMaxAgeMs?: number } = {}): Promise<FollowedDatabase> {
    const store = this.store();
    const file = await must(store.follow?.(FILE));
    const { clock, log } = this;
    return followDatabase({ name: 'db', file, supports: store.supports, clock, log, cache: 2 ** 20, ...settings });
  }

  store(): PageStore {
    const store = new HookedStore(createMemoryPageStore({ medium: this.medium }), this.hooks, this.#options.supports);
    return this.#options.wrap?.(store) ?? store;
  }

  get log(): Log {
    const add = (message: string) => this.logged.push(message);
    return { error: add, info: add, debug: add };
  }
}

/** What can be seen of one document. */
export interface SeenDocument {
  readonly seq: number;
  /** `rev`, `rev!` for a deleted leaf, then `=` and the body; the winner first. */
  readonly leaves: readonly string[];
}

export interface SeenDatabase {
  readonly documents: Readonly<Record<string, SeenDocument>>;
  /** `seq id deleted`, in order. */
  readonly changes: readonly string[];
  readonly rows: readonly string[];
  readonly locals: Readonly<Record<string, string>>;
  readonly docCount: number;
  readonly docDelCount: number;
  readonly updateSeq: number;
}

/** Reads everything through one snapshot. */
export async function seeAll(database: Pick<Database, 'snapshot'>): Promise<SeenDatabase> {
  const snapshot = database.snapshot();
  try {
    const documents: Record<string, SeenDocument> = {};
    const changes: string[] = [];
    for await (const batch of snapshot.changes({ since: 0 })) {
      const records = await snapshot.documents(batch.map((change) => change.id));
      for (const [index, change] of batch.entries()) {
        changes.push(`${change.seq} ${change.id}${change.deleted ? ' deleted' : ''}`);
        const record = records[index];
        if (record === undefined) throw new Error(`${change.id} is in the changes and nowhere else`);
        const bodies = await snapshot.bodies(record.leaves);
        const leaves = record.leaves.map((leaf, at) =>
          showLeaf(toRevId(leaf.generation, leaf.hash), leaf.deleted, bodies[at]),
        );
        documents[change.id] = { seq: record.seq, leaves };
      }
    }
    const rows: string[] = [];
    for await (const batch of snapshot.rows({})) for (const row of batch) rows.push(row.id);
    const locals: Record<string, string> = {};
    for await (const batch of snapshot.locals({})) {
      for (const local of batch) locals[local.id] = `${local.rev} ${local.body}`;
    }
    const { docCount, docDelCount, updateSeq } = snapshot;
    return { documents, changes, rows, locals, docCount, docDelCount, updateSeq };
  } finally {
    snapshot.release();
  }
}

export function showLeaf(leaf: string, deleted: boolean, body: string | undefined): string {
  return `${leaf}${deleted ? '!' : ''}=${body ?? '(none)'}`;
}

export interface EasyWrite {
  readonly rev?: string;
  readonly deleted?: boolean;
  readonly body?: string;
  readonly ids?: readonly string[];
}

export const NEW_EDITS = { newEdits: true, durability: 'relaxed' } as const;
const MERGED = { newEdits: false, durability: 'relaxed' } as const;

/** Writes one document and gives its revision; fails with the outcome's error. */
export async function put(database: Pick<Database, 'write'>, name: string, write: EasyWrite = {}): Promise<RevId> {
  const [outcome] = await database.write([toWrite(name, write)], NEW_EDITS);
  if (outcome?.ok !== true) throw outcome?.error;
  return outcome.rev;
}

/** Merges one revision, as replication does. */
export async function merge(
  database: Pick<Database, 'write'>,
  name: string,
  write: EasyWrite & { rev: string },
): Promise<void> {
  const [outcome] = await database.write([toWrite(name, write)], MERGED);
  if (outcome?.ok !== true) throw outcome?.error;
}

export function toWrite(name: string, write: EasyWrite = {}) {
  const { deleted = false, body = '{"n":1}', ids } = write;
  const known = write.rev === undefined ? undefined : rev(write.rev);
  const revisions = ids === undefined ? undefined : { start: Number.parseInt(write.rev ?? '1', 10), ids };
  return { id: id(name), rev: known, deleted, body, revisions };
}

/** The bodies of a document's leaves, the winner first, as `showLeaf` shows them. */
export async function leavesOf(database: Pick<Database, 'snapshot'>, name: string): Promise<readonly string[]> {
  const snapshot = database.snapshot();
  try {
    const record = await snapshot.document(id(name));
    if (record === undefined) return [];
    const bodies = await snapshot.bodies(record.leaves);
    return record.leaves.map((leaf, at) => showLeaf(toRevId(leaf.generation, leaf.hash), leaf.deleted, bodies[at]));
  } finally {
    snapshot.release();
  }
}

/** Many more turns than what is tested takes: how many it takes depends on how long each of its steps did. */
const TURNS = 50;

/** Lets everything that needs no timer and no I/O come to its end. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** A promise and what settles it. */
export class Gate {
  readonly opened: Promise<void>;
  #open: () => void = () => undefined;

  constructor() {
    this.opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#open();
  }
}

/** Opens a new database of that bench whose writes the guard validates. */
export async function openGuarded(bench: Bench, guard: WriteGuard): Promise<StoredDatabase> {
  const store = bench.store();
  return openDatabase({
    name: 'db',
    file: await store.open(FILE, 'create'),
    supports: store.supports,
    clock: bench.clock,
    log: bench.log,
    hasher: await createRevisionHasher(),
    tasks: bench.tasks,
    random: (bytes) => bytes.fill(1),
    createGuard: () => guard,
    onFailure: () => undefined,
  });
}
