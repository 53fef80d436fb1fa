import { collationVersion } from '../../base/collation/string-order.ts';
import { type DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import { CacheBudget } from '../../base/shared/cache-budget.ts';
import type { Clock } from '../../base/shared/clock.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { ActiveTasks } from '../../base/system/active-tasks.ts';
import type { Config, Log } from '../../base/system/contract.ts';
import type { DocId } from '../../database/documents/contract.ts';
import type { Database, DatabaseOrigin } from '../../database/store/contract.ts';
import type { PageFile, PageStore } from '../../storage/page-store.ts';
import type { Sandbox } from '../sandbox/contract.ts';
import type { DesignDocument, MapperFactory, ViewGroup, ViewIndexes } from './contract.ts';
import { DefinitionCache } from './definition-cache.ts';
import { designDocumentsOf, indexFile, indexFilesOf } from './index-files.ts';
import { IndexCache } from './indexes/index-cache.ts';
import { IndexLease } from './indexes/index-lease.ts';
import { ViewFunctions } from './indexes/view-functions.ts';
import { isOpen, ViewIndex, type ViewIndexOptions } from './indexes/view-index.ts';
import { defaultViewSettings, type ViewSettings } from './settings.ts';
import { type GroupDefinition, parseDefinition, parseTemporary } from './trees/definition.ts';

export interface ViewIndexesOptions {
  readonly store: PageStore;
  readonly clock: Clock;
  readonly config: Config;
  readonly log: Log;
  readonly tasks: ActiveTasks;
  /** Without one, views of the language `javascript` fail with `not_implemented`. */
  readonly sandbox?: Sandbox | undefined;
  /** The mappers of other languages, by name. */
  readonly mappers?: Readonly<Record<string, MapperFactory>>;
  readonly settings?: Partial<ViewSettings>;
  /** Bounds the memory of all page caches together. Default: one of `settings.cacheBytes` for the indexes. */
  readonly cache?: CacheBudget;
  /** Name and version of the JavaScript engine, because another one may order strings differently. */
  readonly engine?: string;
}

/** Creates the view indexes of a service. Their `close` has to be called before the databases are closed. */
export function createViewIndexes(options: ViewIndexesOptions): ViewIndexes {
  return new StoredViewIndexes(options);
}

class StoredViewIndexes implements ViewIndexes {
  readonly #options: ViewIndexesOptions;
  readonly #settings: ViewSettings;
  readonly #cache: CacheBudget;
  readonly #functions: ViewFunctions;
  readonly #indexes: IndexCache<ViewIndex>;
  readonly #definitions = new DefinitionCache();
  readonly #origins = new WeakMap<Database, DatabaseOrigin>();
  /**
   * Files that were created here, or are being created, and whose indexes have not been built in the background: a query that does not update
   * creates one, too.
   */
  readonly #created = new Set<string>();
  #collation: string | undefined;

  constructor(options: ViewIndexesOptions) {
    this.#options = options;
    this.#settings = { ...defaultViewSettings, ...options.settings };
    this.#cache = options.cache ?? new CacheBudget(this.#settings.cacheBytes);
    const { sandbox, mappers = {}, config, log } = options;
    this.#functions = new ViewFunctions({ sandbox, mappers, config, log });
    this.#indexes = new IndexCache(this.#settings.maxIdle, log);
  }

  /** Returns a group without a promise if its index is open. */
  open(database: Database, designDocument: DesignDocument): MaybePromise<ViewGroup> {
    const origin = this.#origins.get(database);
    if (origin === undefined) return this.#openGroup(database, designDocument);
    const definition = this.#definitions.known(origin, designDocument);
    if (definition === undefined) return this.#openGroup(database, designDocument);
    const index = this.#indexes.leaseOpen(indexFile(origin, definition));
    if (index === undefined) return this.#openGroup(database, designDocument);
    return this.#group(index, database, origin, designDocument);
  }

  async #openGroup(database: Database, designDocument: DesignDocument): Promise<ViewGroup> {
    const origin = await this.#originOf(database);
    const definition = await this.#definitions.of(origin, designDocument);
    this.#functions.checkLanguage(definition.language);
    const index = await this.#lease(database, origin, definition);
    return this.#group(index, database, origin, designDocument);
  }

  #lease(database: Database, origin: DatabaseOrigin, definition: GroupDefinition): Promise<ViewIndex> {
    const file = indexFile(origin, definition);
    return this.#indexes.lease(file, async (damage) => {
      if (damage !== undefined) await this.#removeDamaged(file, database, damage);
      try {
        return await this.#openIndex(file, database, origin, definition);
      } catch (error) {
        if (!isDatabaseError(error, 'storage_corrupt') || !isOpen(database)) throw error;
        await this.#removeDamaged(file, database, error);
        return this.#openIndex(file, database, origin, definition);
      }
    });
  }

  /** Removes a damaged index. All that an index has can be made again from the documents. */
  async #removeDamaged(file: string, { name }: Database, damage: DatabaseError): Promise<void> {
    this.#options.log.error(
      `an index of ${name} is damaged: ${file}. It is removed, and built again when a query needs it`,
      damage,
    );
    await this.#options.store.destroy(file);
  }

  #group(index: ViewIndex, database: Database, origin: DatabaseOrigin, { id, body }: DesignDocument): ViewGroup {
    const functions = { definition: index.definition, scope: origin.file, designId: id, body };
    return new IndexLease(
      index,
      { database, origin, functions },
      {
        again: () => this.#lease(database, origin, index.definition),
        release: (leased) => this.#indexes.release(indexFile(origin, index.definition), leased),
      },
    );
  }

  async #originOf(database: Database): Promise<DatabaseOrigin> {
    const known = this.#origins.get(database);
    if (known !== undefined) return known;
    const origin = await database.origin();
    this.#origins.set(database, origin);
    return origin;
  }

  async #openIndex(
    file: string,
    database: Database,
    origin: DatabaseOrigin,
    definition: GroupDefinition,
  ): Promise<ViewIndex> {
    const { page, isNew } = await this.#openFile(file);
    try {
      // Fails if the database was deleted meanwhile: its files may have been removed before this one was created.
      database.snapshot().release();
      return await ViewIndex.open(this.#indexParts(database, definition), page, origin);
    } catch (error) {
      await page.close().catch(() => undefined);
      if (isNew) await this.#options.store.destroy(file).catch(() => undefined);
      throw error;
    }
  }

  async #openFile(file: string): Promise<{ readonly page: PageFile; readonly isNew: boolean }> {
    const { store } = this.#options;
    try {
      return { page: await store.open(file, 'open'), isNew: false };
    } catch (error) {
      if (!isDatabaseError(error, 'storage_missing')) throw error;
      return { page: await this.#createFile(file), isNew: true };
    }
  }

  /** The file is listed some time before the store has opened it, so it is noted before. */
  async #createFile(file: string): Promise<PageFile> {
    this.#created.add(file);
    try {
      return await this.#options.store.open(file, 'create');
    } catch (error) {
      this.#created.delete(file);
      throw error;
    }
  }

  #indexParts(database: Database, definition: GroupDefinition): ViewIndexOptions {
    const { store, clock, log, tasks, engine = '' } = this.#options;
    this.#collation ??= collationVersion(engine);
    return {
      definition,
      databaseName: database.name,
      functions: this.#functions,
      supports: store.supports,
      settings: this.#settings,
      cache: this.#cache,
      clock,
      log,
      tasks,
      collation: this.#collation,
    };
  }

  async temporary(database: Database, definitionText: string): Promise<ViewGroup> {
    const origin = await this.#originOf(database);
    const { body, docIds } = parseTemporary(definitionText);
    const definition = await parseDefinition(body);
    this.#functions.checkLanguage(definition.language);
    const index = ViewIndex.temporary(this.#indexParts(database, definition), docIds);
    const functions = { definition, scope: origin.file, designId: '_temp_view', body };
    return new IndexLease(index, { database, origin, functions }, undefined);
  }

  async cleanup(database: Database): Promise<void> {
    const origin = await this.#originOf(database);
    // The files are listed first, because a later one is of a design document that was written meanwhile.
    const files = await indexFilesOf(this.#options.store, origin);
    let wanted = await this.#wantedFiles(database, origin);
    for (const file of files) {
      if (wanted.has(file)) continue;
      // Removing files takes a while, in which a design document may have been written again.
      wanted = await this.#wantedFiles(database, origin);
      if (wanted.has(file)) continue;
      await this.#indexes.drop(file, () => this.#options.store.destroy(file));
      this.#created.delete(file);
    }
  }

  async #wantedFiles(database: Database, origin: DatabaseOrigin): Promise<Set<string>> {
    const wanted = new Set<string>();
    for (const design of await designDocumentsOf(database)) {
      const definition = await this.#definitions.of(origin, design).catch(() => undefined);
      if (definition !== undefined) wanted.add(indexFile(origin, definition));
    }
    return wanted;
  }

  async build(database: Database, id: DocId): Promise<void> {
    const origin = await this.#originOf(database);
    const design = (await designDocumentsOf(database)).find((document) => document.id === id);
    if (design === undefined) return;
    const definition = await this.#definitions.of(origin, design);
    const file = indexFile(origin, definition);
    if (definition.views.size === 0 || !(await this.#needsBuild(origin, file))) return;
    const group = await this.open(database, design);
    try {
      if ((await group.info()).updateSeq === 0) (await group.read('before')).release();
    } finally {
      group.release();
      this.#created.delete(file);
    }
  }

  /** Whether there is no index, or one that may be empty still. */
  async #needsBuild(origin: DatabaseOrigin, file: string): Promise<boolean> {
    const files = await indexFilesOf(this.#options.store, origin);
    // Asked for after the listing, because a query may create the file meanwhile.
    return !files.includes(file) || this.#created.has(file);
  }

  forget(name: string): void {
    this.#indexes.dropDatabase(name);
  }

  close(database?: string): Promise<void> {
    return this.#indexes.close(database);
  }
}
