import type { PageStore } from '../../../src/storage/page-store.ts';
import { commitCases } from './commits.ts';
import { fencingCases } from './fencing.ts';
import { fileCases } from './files.ts';
import { followingCases } from './following.ts';
import { stateCases } from './states.ts';

/**
 * What every storage backend must do, as plain functions: they run under any test runner, and in a browser's worker as
 * well as in Node.
 */
export interface StorageContext {
  /** A new store over this context's one medium, as another tab or process has it. */
  createStore(): PageStore;
  /** Makes a closed file look as if a later version had written it. */
  makeNewer(file: string): Promise<void>;
}

export interface StorageCase {
  readonly name: string;
  run(context: StorageContext): Promise<void>;
}

/** Makes a context with an empty medium for each case, and removes it afterwards. */
export interface StorageFactory {
  create(): Promise<StorageContext>;
  dispose(context: StorageContext): Promise<void>;
}

export interface RunnableCase {
  readonly name: string;
  run(): Promise<void>;
}

export const storageCases: readonly StorageCase[] = [
  ...fileCases,
  ...commitCases,
  ...stateCases,
  ...fencingCases,
  ...followingCases,
];

/** The cases of the suite, bound to a backend. */
export function pageStoreSuite(name: string, factory: StorageFactory): RunnableCase[] {
  return storageCases.map((storageCase) => ({
    name: `${name}: ${storageCase.name}`,
    run: async () => {
      const context = await factory.create();
      const stores: PageStore[] = [];
      const createStore = (): PageStore => {
        const store = context.createStore();
        stores.push(store);
        return store;
      };
      try {
        await storageCase.run({ createStore, makeNewer: (file) => context.makeNewer(file) });
      } finally {
        for (const store of stores) await store.close();
        await factory.dispose(context);
      }
    },
  }));
}
