import { must } from '../../base/shared/assert.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import { readOnlyError } from '../../storage/paging/page-errors.ts';
import type { Database } from '../store/contract.ts';
import type { FollowedDatabase } from '../store/following/followed-database.ts';
import type { DatabaseEvent, Lease, Registry, RegistryOptions } from './contract.ts';
import { REGISTRY_FILE } from './database-list.ts';
import { FollowedDatabases } from './followed-databases.ts';
import { shutDown } from './handle-cache.ts';
import { type ListContent, readListContent } from './list-content.ts';

export interface FollowedRegistryOptions
  extends Pick<RegistryOptions, 'store' | 'clock' | 'config' | 'log' | 'cache' | 'counters'> {
  /** The databases that every `refresh` looks at, too, because others than their readers depend on them. */
  readonly alwaysFresh: () => readonly string[];
  /** Called when a database is found to have another security object. */
  readonly onSecurity: (name: string) => void;
  /** Called when other texts are found with the list. */
  readonly onNotes: () => void;
}

/** Opens the databases of a storage that another process owns, for reading. Fails with `storage_missing` if no one has begun a list in it. */
export async function followRegistry(options: FollowedRegistryOptions): Promise<FollowedRegistry> {
  const registry = new FollowedRegistry(options);
  try {
    await registry.open();
    return registry;
  } catch (error) {
    await registry.close();
    throw error;
  }
}

/** The databases as another process, their owner, lists them: for reading. */
export class FollowedRegistry implements Registry {
  /** The databases that are open. */
  readonly followed: FollowedDatabases;
  readonly #options: FollowedRegistryOptions;
  readonly #listeners = new Set<(event: DatabaseEvent) => void>();
  #openedList: FollowedDatabase | undefined;
  #readContent: ListContent | undefined;
  /** The moment of the list from which the content was read. */
  #readAt: unknown;
  #reading: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: FollowedRegistryOptions) {
    this.#options = options;
    this.followed = new FollowedDatabases({
      ...options,
      fileOf: (name) => this.fileOf(name),
      refresh: () => this.refresh(),
      onUpdate: (name) => this.#emit({ type: 'updated', name }),
    });
  }

  async open(): Promise<void> {
    this.#openedList = await this.followed.follow(REGISTRY_FILE, REGISTRY_FILE);
    await this.#readList();
  }

  get #list(): FollowedDatabase {
    return must(this.#openedList, 'the registry is used after it was opened');
  }

  get #content(): ListContent {
    return must(this.#readContent, 'the registry is used after it was opened');
  }

  refresh(): MaybePromise<void> {
    if (this.#isClosed) throw shutDown();
    return whenReady(this.#list.refresh(), () => {
      const isRead = this.#readAt === this.#list.moment && this.#reading === undefined;
      const fresh = () => this.followed.keepFresh(this.#options.alwaysFresh());
      return isRead ? fresh() : this.#readAgain().then(fresh);
    });
  }

  #readAgain(): Promise<void> {
    if (this.#reading !== undefined) {
      return this.#reading.then(() => (this.#readAt === this.#list.moment ? undefined : this.#readAgain()));
    }
    const reading = this.#readList().finally(() => {
      this.#reading = undefined;
    });
    this.#reading = reading;
    return reading;
  }

  async #readList(): Promise<void> {
    const { moment } = this.#list;
    const content = await readListContent(this.#list);
    const before = this.#readContent;
    this.#readContent = content;
    this.#readAt = moment;
    if (before === undefined) return;
    if (!isSame(before.notes, content.notes)) this.#options.onNotes();
    await this.#notice(before.entries, content.entries);
  }

  async #notice(before: ListContent['entries'], after: ListContent['entries']): Promise<void> {
    const timeSlice = new TimeSlice();
    for (const [name, { file }] of before) {
      if (timeSlice.isDue) await timeSlice.rest();
      if (after.get(name)?.file === file) continue;
      await this.followed.discard(name);
      this.#emit({ type: 'deleted', name });
    }
    for (const [name, { file }] of after) {
      if (timeSlice.isDue) await timeSlice.rest();
      if (before.get(name)?.file !== file) this.#emit({ type: 'created', name });
    }
  }

  get serverUuid(): string {
    return this.#content.serverUuid ?? '';
  }

  get settings(): string | undefined {
    return this.#content.settings?.text;
  }

  get notes(): ReadonlyMap<string, string> {
    return this.#content.notes;
  }

  lagMs(): number {
    const { lagMs } = this.followed.looks;
    // What has failed once is tried again, also if there are no requests.
    void Promise.resolve()
      .then(() => this.refresh())
      .catch(() => undefined);
    return lagMs;
  }

  get openCount(): number {
    return this.followed.size;
  }

  names(): readonly string[] {
    return [...this.#content.entries.keys()].sort();
  }

  has(name: string): boolean {
    return this.#content.entries.has(name);
  }

  /** The file of a database; undefined if there is none of that name. */
  fileOf(name: string): string | undefined {
    return this.#content.entries.get(name)?.file;
  }

  peek(name: string): Database | undefined {
    return this.followed.peek(name);
  }

  use<T>(name: string, use: (database: Database) => MaybePromise<T>): MaybePromise<T> {
    return this.followed.use(name, use);
  }

  async acquire(name: string): Promise<Lease> {
    return this.followed.lease(name);
  }

  watch(name: string): () => void {
    return this.followed.watch(name);
  }

  onEvent(listener: (event: DatabaseEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #emit(event: DatabaseEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  keepSettings(): Promise<never> {
    return refuse();
  }

  keepNote(): Promise<never> {
    return refuse();
  }

  create(): Promise<never> {
    return refuse();
  }

  createIfMissing(): Promise<never> {
    return refuse();
  }

  createByWriting(): Promise<never> {
    return refuse();
  }

  delete(): Promise<never> {
    return refuse();
  }

  verifyList(): Promise<never> {
    return refuse();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#reading?.catch(() => undefined);
    await this.followed.close();
    await this.#openedList?.close();
    await this.#options.store.close();
  }
}

function isSame(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return one.size === other.size && [...one].every(([key, value]) => other.get(key) === value);
}

async function refuse(): Promise<never> {
  throw readOnlyError('the list of databases');
}
