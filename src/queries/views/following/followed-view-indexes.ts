import { collationVersion } from '../../../base/collation/string-order.ts';
import { isDatabaseError } from '../../../base/errors/database-error.ts';
import { CacheBudget } from '../../../base/shared/cache-budget.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import type { Database, DatabaseOrigin } from '../../../database/store/contract.ts';
import type { FollowedFile, PageStore } from '../../../storage/page-store.ts';
import { readOnlyError } from '../../../storage/paging/page-errors.ts';
import type { Databases } from '../background-builds.ts';
import type { DesignDocument, ViewGroup, ViewIndexes } from '../contract.ts';
import { DefinitionCache } from '../definition-cache.ts';
import { indexFile } from '../index-files.ts';
import { IndexCache } from '../indexes/index-cache.ts';
import { type FunctionSource, ViewFunctions } from '../indexes/view-functions.ts';
import { defaultViewSettings, type ViewSettings } from '../settings.ts';
import type { ViewIndexesOptions } from '../view-indexes.ts';
import { FollowedGroup } from './followed-group.ts';
import { FollowedIndex } from './followed-index.ts';
import { MappedMemory } from './mapped-memory.ts';

/** The number of indexes that could not be followed of which something is kept. */
const MAX_MISSING = 200;

export interface FollowedViewIndexesOptions extends Omit<ViewIndexesOptions, 'tasks'> {
  /** The databases as a reader follows them: acquiring one refreshes it. */
  readonly databases: Pick<Databases, 'acquire'>;
}

/**
 * Creates the view indexes of a service that only reads databases which another one owns: it uses the indexes that the owner has stored, and writes
 * nothing. What needs the owner fails with `not_owner`.
 */
export function followViewIndexes(options: FollowedViewIndexesOptions): ViewIndexes {
  return new FollowedViewIndexes(options);
}

class FollowedViewIndexes implements ViewIndexes {
  readonly #options: FollowedViewIndexesOptions;
  readonly #settings: ViewSettings;
  readonly #cache: CacheBudget;
  readonly #functions: ViewFunctions;
  readonly #indexes: IndexCache<FollowedIndex>;
  readonly #definitions = new DefinitionCache();
  readonly #memory: MappedMemory;
  /** For their files. The rest changes when another owner comes. */
  readonly #origins = new WeakMap<Database, Pick<DatabaseOrigin, 'file'>>();
  /** By file, of indexes that could not be followed: the sequence that their databases had then. The latest comes last. */
  readonly #missing = new Map<string, number>();
  #collation: string | undefined;

  constructor(options: FollowedViewIndexesOptions) {
    this.#options = options;
    this.#settings = { ...defaultViewSettings, ...options.settings };
    this.#cache = options.cache ?? new CacheBudget(this.#settings.cacheBytes);
    const { sandbox, mappers = {}, config, log } = options;
    this.#functions = new ViewFunctions({ sandbox, mappers, config, log });
    this.#indexes = new IndexCache(this.#settings.maxIdle, log);
    this.#memory = new MappedMemory(this.#settings.dirtyBytes);
  }

  /** Returns a group without a promise if its index is open. */
  open(database: Database, designDocument: DesignDocument): MaybePromise<ViewGroup> {
    const origin = this.#origins.get(database);
    const definition = origin && this.#definitions.known(origin, designDocument);
    if (origin === undefined || definition === undefined) return this.#open(database, designDocument);
    const index = this.#indexes.leaseOpen(indexFile(origin, definition));
    return index === undefined ? this.#open(database, designDocument) : this.#group(index, database, designDocument);
  }

  async #open(database: Database, designDocument: DesignDocument): Promise<ViewGroup> {
    const origin = this.#origins.get(database) ?? (await database.origin());
    this.#origins.set(database, origin);
    const definition = await this.#definitions.of(origin, designDocument);
    this.#functions.checkLanguage(definition.language);
    const file = indexFile(origin, definition);
    const index = await this.#indexes.lease(file, () =>
      this.#follow(file, database, { definition, scope: origin.file }),
    );
    return this.#group(index, database, designDocument);
  }

  #group(index: FollowedIndex, database: Database, { id, body }: DesignDocument): ViewGroup {
    const functions = { definition: index.definition, scope: index.scope, designId: id, body };
    return new FollowedGroup(index, { database, functions }, () => this.#indexes.release(index.file, index));
  }

  async #follow(
    file: string,
    { name, updateSeq }: Database,
    parts: Pick<FunctionSource, 'definition' | 'scope'>,
  ): Promise<FollowedIndex> {
    const { store, databases, clock, engine = '' } = this.#options;
    this.#collation ??= collationVersion(engine);
    const followed = await followFile(store, file).catch((error: unknown) => {
      this.#noteMissing(file, updateSeq);
      throw error;
    });
    const shownSeq = this.#missing.get(file) ?? 0;
    this.#missing.delete(file);
    return new FollowedIndex(followed, {
      ...parts,
      ...{ databaseName: name, shownSeq, clock, collation: this.#collation },
      ...{ functions: this.#functions, supports: store.supports, settings: this.#settings, cache: this.#cache },
      refreshDatabase: async () => (await databases.acquire(name)).release(),
      onMapped: (index, bytes) => this.#memory.note(index, bytes),
      onClosed: (index) => this.#memory.forget(index),
    });
  }

  #noteMissing(file: string, updateSeq: number): void {
    this.#missing.delete(file);
    this.#missing.set(file, updateSeq);
    for (const oldest of this.#missing.keys()) {
      if (this.#missing.size <= MAX_MISSING) return;
      this.#missing.delete(oldest);
    }
  }

  /** It may have to read all documents. */
  temporary({ name }: Database): Promise<ViewGroup> {
    return refuse(name);
  }

  cleanup({ name }: Database): Promise<void> {
    return refuse(name);
  }

  /** The owner builds what is needed. */
  async build(): Promise<void> {}

  forget(name: string): void {
    this.#indexes.dropDatabase(name);
  }

  close(database?: string): Promise<void> {
    return this.#indexes.close(database);
  }
}

/** The owner has not built the index yet if there is no file, and knows better why it can't be opened. */
async function followFile(store: PageStore, file: string): Promise<FollowedFile> {
  try {
    const followed = await store.follow?.(file);
    if (followed !== undefined) return followed;
  } catch (error) {
    if (!isDatabaseError(error)) throw error;
  }
  throw readOnlyError(file);
}

async function refuse(database: string): Promise<never> {
  throw readOnlyError(`the indexes of ${database}`);
}
