import { DatabaseError } from '../../base/errors/database-error.ts';
import { type MaybePromise, whenReady, withEnd } from '../../base/shared/maybe-promise.ts';
import { integerSetting } from '../../base/system/config.ts';
import type { PageFile } from '../../storage/page-store.ts';
import { readOnlyError } from '../../storage/paging/page-errors.ts';
import type { RevisionHasher } from '../documents/revisions/revision-hash.ts';
import type { Database } from '../store/contract.ts';
import { openDatabase } from '../store/open-database.ts';
import type { StoredDatabase } from '../store/stored-database.ts';
import type { Lease, RegistryOptions } from './contract.ts';
import { HandleCache } from './handle-cache.ts';
import { DEFAULT_MAX_OPEN } from './settings.ts';

interface OwnedDatabasesOptions extends RegistryOptions {
  readonly hasher: RevisionHasher;
  /** The file of a database; undefined if there is none of that name. */
  readonly fileOf: (name: string) => string | undefined;
  /** Called after each change of documents of a database that exists. */
  readonly onUpdate: (name: string) => void;
}

/** Databases that this process opens for reading and writing. */
export class OwnedDatabases {
  readonly handles: HandleCache<StoredDatabase>;
  readonly #options: OwnedDatabasesOptions;

  constructor(options: OwnedDatabasesOptions) {
    this.#options = options;
    const maxOpen = () => integerSetting(options.config, 'svc', 'max_dbs_open') ?? DEFAULT_MAX_OPEN;
    const whenFree = async (name: string) => options.placement?.whenFree(name);
    this.handles = new HandleCache(maxOpen, (name) => this.#open(name), whenFree);
  }

  async #open(name: string): Promise<StoredDatabase> {
    const { fileOf, placement, store } = this.#options;
    // It has waited for its turn.
    if (placement?.owns(name) === false) throw readOnlyError(name);
    const file = fileOf(name);
    if (file === undefined) throw new DatabaseError('not_found', 'no_db_file');
    return this.openFile(name, await store.open(file, 'open'));
  }

  /** See `Registry.use`, which also checks that the database exists. */
  use<T>(name: string, use: (database: Database) => MaybePromise<T>): MaybePromise<T> {
    return whenReady(this.handles.leaseNow(name) ?? this.acquire(name), (lease) =>
      withEnd(
        () => use(lease.database),
        () => lease.release(),
      ),
    );
  }

  /** See `Registry.peek`. */
  peek(name: string): Database | undefined {
    return this.handles.peek(name);
  }

  /** See `Registry.acquire`. */
  async acquire(name: string): Promise<Lease> {
    if (this.#options.fileOf(name) === undefined) throw new DatabaseError('not_found', 'no_db_file');
    return this.handles.lease(name);
  }

  /** Opens the database of a file. If that fails, the file is closed. */
  async openFile(name: string, file: PageFile): Promise<StoredDatabase> {
    let opened: StoredDatabase | undefined;
    const onFailure = () => {
      if (opened !== undefined) this.handles.forget(name, opened);
    };
    opened = await this.openIn(name, file, onFailure);
    opened.onChange(() => {
      if (this.#options.fileOf(name) !== undefined) this.#options.onUpdate(name);
    });
    return opened;
  }

  /** The same for a database that is not kept with the others. `onFailure`: called when it can't be used any more. */
  async openIn(name: string, file: PageFile, onFailure: () => void): Promise<StoredDatabase> {
    try {
      const { supports } = this.#options.store;
      return await openDatabase({ ...this.#options, name, file, supports, onFailure });
    } catch (error) {
      await file.close().catch(() => undefined);
      throw error;
    }
  }
}
