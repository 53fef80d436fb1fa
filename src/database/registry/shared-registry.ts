import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import { createRevisionHasher } from '../documents/revisions/revision-hash.ts';
import type { Database, VerifyReport } from '../store/contract.ts';
import type { DatabaseEvent, FormerNote, Lease, Placement, Registry, RegistryOptions } from './contract.ts';
import { FollowedDatabases } from './followed-databases.ts';
import { type FollowedRegistry, type FollowedRegistryOptions, followRegistry } from './followed-registry.ts';
import type { BeforeClose } from './handle-cache.ts';
import { OwnedDatabases } from './owned-databases.ts';
import { openRegistry, type StoredRegistry } from './registry.ts';

/** How long requests may go on to use a database that another process is to own, in milliseconds. */
const PATIENCE_MS = 2_000;

export interface SharedRegistryOptions extends RegistryOptions {
  readonly placement: Placement;
  /** See `FollowedRegistryOptions`. */
  readonly onSecurity: (name: string) => void;
  readonly alwaysFresh: () => readonly string[];
}

export interface MemberRegistryOptions extends SharedRegistryOptions, FollowedRegistryOptions {
  /** Has the owner of the list keep a text (`Registry.keepNote`). */
  readonly keepNote: Registry['keepNote'];
}

/** Opens the databases for the process that owns their list, and some of them. Fails as `openRegistry` does. */
export async function openSharedRegistry(options: SharedRegistryOptions): Promise<Registry> {
  const { placement } = options;
  const list = await openRegistry(options);
  const registry: SharedRegistry = new SharedRegistry(placement, {
    ...{ list, own: list, owned: list.owned, alwaysFresh: options.alwaysFresh },
    followed: new FollowedDatabases({
      ...options,
      fileOf: (name) => list.fileOf(name),
      refresh: () => registry.refresh(),
      onUpdate: (name) => registry.emit({ type: 'updated', name }),
    }),
  });
  return registry;
}

/** Opens the databases for a process that owns some of them, and follows their list. Fails as `followRegistry` does. */
export async function joinSharedRegistry(options: MemberRegistryOptions): Promise<Registry> {
  const { placement } = options;
  const hasher = await createRevisionHasher(options.md5);
  const list = await followRegistry(options);
  const owned = new OwnedDatabases({
    ...{ ...options, hasher },
    fileOf: (name) => list.fileOf(name),
    onUpdate: (name) => registry.emit({ type: 'updated', name }),
  });
  const { followed } = list;
  const registry = new SharedRegistry(placement, { list, followed, own: owned, owned, keepNote: options.keepNote });
  return registry;
}

interface Parts {
  readonly list: StoredRegistry | FollowedRegistry;
  /** What uses the databases that this process owns. */
  readonly own: Pick<Registry, 'use' | 'peek' | 'acquire'>;
  readonly owned: OwnedDatabases;
  readonly followed: FollowedDatabases;
  readonly keepNote?: Registry['keepNote'];
  /** For the owner of the list, which has no list to look at: see `FollowedRegistryOptions`. */
  readonly alwaysFresh?: () => readonly string[];
}

/** A watch of a database (`Registry.watch`): while another process owns the database, it has to be looked at. */
interface Watch {
  count: number;
  end: (() => void) | undefined;
}

/** Databases that several processes share: each is owned by one of them, and read beside it by the others. */
class SharedRegistry implements Registry {
  readonly #placement: Placement;
  readonly #parts: Parts;
  readonly #listeners = new Set<(event: DatabaseEvent) => void>();
  readonly #watches = new Map<string, Watch>();

  constructor(placement: Placement, parts: Parts) {
    this.#placement = placement;
    this.#parts = parts;
    parts.list.onEvent((event) => {
      if (event.type === 'deleted') void this.#discard(event.name);
      this.emit(event);
    });
  }

  async #discard(name: string): Promise<void> {
    const { owned, followed } = this.#parts;
    // What can't be closed is of no use any more in any case.
    await Promise.allSettled([owned.handles.discard(name), followed.discard(name)]);
  }

  get #list(): Registry {
    return this.#parts.list;
  }

  get serverUuid(): string {
    return this.#list.serverUuid;
  }

  get settings(): string | undefined {
    return this.#list.settings;
  }

  keepSettings(text: string): Promise<void> {
    return this.#list.keepSettings(text);
  }

  get notes(): ReadonlyMap<string, string> {
    return this.#list.notes;
  }

  keepNote(name: string, text: string | undefined, former?: FormerNote): Promise<void> {
    const { list, keepNote } = this.#parts;
    return keepNote === undefined ? list.keepNote(name, text, former) : keepNote(name, text, former);
  }

  get openCount(): number {
    const { owned, followed } = this.#parts;
    return owned.handles.size + followed.size;
  }

  get ownedCount(): number {
    return this.#parts.owned.handles.size;
  }

  lagMs(): number | undefined {
    return this.#list.lagMs?.();
  }

  names(): readonly string[] {
    return this.#list.names();
  }

  has(name: string): boolean {
    return this.#list.has(name);
  }

  async create(name: string): Promise<void> {
    await this.#list.create(name);
    await this.#giveUpIfOthers(name);
  }

  async createIfMissing(name: string): Promise<boolean> {
    const isCreated = await this.#list.createIfMissing(name);
    await this.#giveUpIfOthers(name);
    return isCreated;
  }

  async createByWriting<T>(name: string, write: (registry: Registry) => MaybePromise<T>): Promise<T> {
    try {
      return await this.#list.createByWriting(name, write);
    } finally {
      await this.#giveUpIfOthers(name);
    }
  }

  delete(name: string): Promise<void> {
    return this.#list.delete(name);
  }

  /** The list's owner creates databases that others are to own. */
  async #giveUpIfOthers(name: string): Promise<void> {
    if (!this.#placement.owns(name)) await this.#parts.owned.handles.giveUp(name, PATIENCE_MS);
  }

  use<T>(name: string, use: (database: Database) => MaybePromise<T>): MaybePromise<T> {
    const { own, followed } = this.#parts;
    return this.#placement.owns(name) ? own.use(name, use) : followed.use(name, use);
  }

  peek(name: string): Database | undefined {
    const { own, followed } = this.#parts;
    return this.#placement.owns(name) ? own.peek(name) : followed.peek(name);
  }

  async acquire(name: string): Promise<Lease> {
    const { own, followed } = this.#parts;
    return this.#placement.owns(name) ? own.acquire(name) : followed.lease(name);
  }

  verifyList(): Promise<VerifyReport> {
    return this.#list.verifyList();
  }

  onEvent(listener: (event: DatabaseEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(event: DatabaseEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  refresh(): MaybePromise<void> {
    const list = this.#list;
    return list.refresh === undefined ? this.#parts.followed.keepFresh(this.#freshElsewhere) : list.refresh();
  }

  /** The databases on which others than their readers depend, and that other processes own. */
  get #freshElsewhere(): readonly string[] {
    return (this.#parts.alwaysFresh?.() ?? []).filter((name) => !this.#placement.owns(name));
  }

  watch(name: string): () => void {
    // Deletions are noticed in the list, and ended rights in the database of users.
    const mustLook = this.#list.refresh !== undefined || this.#freshElsewhere.length > 0;
    const stopLooking = mustLook ? this.#parts.followed.keepLooking() : undefined;
    const watch = this.#watches.get(name) ?? { count: 0, end: undefined };
    watch.count += 1;
    this.#watches.set(name, watch);
    this.#lookIfOthers(name, watch);
    let isEnded = false;
    return () => {
      if (isEnded) return;
      isEnded = true;
      stopLooking?.();
      watch.count -= 1;
      if (watch.count > 0) return;
      this.#watches.delete(name);
      watch.end?.();
    };
  }

  #lookIfOthers(name: string, watch: Watch): void {
    if (!this.#placement.owns(name)) watch.end ??= this.#parts.followed.watch(name);
    else if (watch.end !== undefined) {
      watch.end();
      watch.end = undefined;
    }
  }

  noteUpdate(name: string): void {
    if (this.has(name)) this.emit({ type: 'updated', name });
  }

  async rearrange(beforeClose: BeforeClose): Promise<void> {
    const { owned } = this.#parts;
    const others = owned.handles.names().filter((name) => !this.#placement.owns(name));
    await Promise.all(others.map((name) => owned.handles.giveUp(name, PATIENCE_MS, beforeClose)));
    for (const [name, watch] of this.#watches) {
      this.#lookIfOthers(name, watch);
      // It may have changed while no one looked.
      this.emit({ type: 'updated', name });
    }
  }

  async close(): Promise<void> {
    const { list, owned, followed } = this.#parts;
    try {
      await Promise.all([owned.handles.close(), followed.close()]);
    } finally {
      await list.close();
    }
  }
}
