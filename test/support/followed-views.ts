import { systemClock } from '../../src/base/shared/clock.ts';
import { silentLog } from '../../src/base/system/log.ts';
import { createConfig } from '../../src/core/config/config-store.ts';
import type { Database } from '../../src/database/store/contract.ts';
import { type FollowedDatabase, followDatabase } from '../../src/database/store/following/followed-database.ts';
import { createQueryMappers } from '../../src/queries/find/query-mapper.ts';
import type { DesignDocument, ViewGroup, ViewIndexes } from '../../src/queries/views/contract.ts';
import {
  type FollowedViewIndexesOptions,
  followViewIndexes,
} from '../../src/queries/views/following/followed-view-indexes.ts';
import type { PageStore } from '../../src/storage/page-store.ts';
import { createTestSandbox } from '../unit/queries/sandbox/quickjs-files.ts';

/** A database and its views as another process reads them that does not own them. */
export class FollowedViews {
  readonly database: FollowedDatabase;
  readonly views: ViewIndexes;
  readonly #store: PageStore;

  private constructor(store: PageStore, database: FollowedDatabase, views: ViewIndexes) {
    this.#store = store;
    this.database = database;
    this.views = views;
  }

  /** `owned`: the database as its owner has it. `store`: over the same medium, and only this one's. */
  static async open(
    owned: Pick<Database, 'name' | 'origin'>,
    store: PageStore,
    parts: Partial<FollowedViewIndexesOptions> = {},
  ): Promise<FollowedViews> {
    const { name } = owned;
    const file = await store.follow?.((await owned.origin()).file);
    if (file === undefined) throw new Error('this store follows no files');
    const common = { clock: systemClock, log: silentLog };
    const database = await followDatabase({ ...common, name, file, supports: store.supports, cache: 2 ** 20 });
    const acquire = async () => {
      await database.refresh();
      return { database, release: () => undefined };
    };
    const views = followViewIndexes({
      ...{ ...common, store, config: createConfig({}), databases: { acquire } },
      ...{ sandbox: createTestSandbox(), mappers: { query: createQueryMappers() } },
      ...parts,
    });
    return new FollowedViews(store, database, views);
  }

  /** Opens a group for a request that comes now. */
  async group(design: DesignDocument): Promise<ViewGroup> {
    await this.database.refresh();
    return this.views.open(this.database, design);
  }

  async close(): Promise<void> {
    await this.views.close();
    await this.database.close();
    await this.#store.close();
  }
}
