import { createIndexedDbPageStore } from '../../../src/storage/indexeddb/indexeddb-page-store.ts';
import { pageStoreSuite, type StorageContext, type StorageFactory } from '../../conformance/storage/suite.ts';
import { runCases } from '../outcome.ts';

/** Runs the storage suite on this browser's IndexedDB, in a worker as the core has it, and posts the outcome as it grows. */
const prefixes = new WeakMap<StorageContext, string>();

const factory: StorageFactory = {
  create: async () => {
    const prefix = `suite:${crypto.randomUUID()}|`;
    const context: StorageContext = {
      createStore: () => createIndexedDbPageStore({ prefix }),
      makeNewer: async (file) => (await opened(indexedDB.open(`${prefix}${file}`, 3))).close(),
    };
    prefixes.set(context, prefix);
    return context;
  },
  dispose: async (context) => {
    const prefix = prefixes.get(context) ?? '';
    for (const { name = '' } of await indexedDB.databases()) {
      if (name.startsWith(prefix)) await opened(indexedDB.deleteDatabase(name));
    }
  },
};

function opened<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

await runCases(pageStoreSuite('indexeddb', factory), (outcome) => postMessage(outcome));
