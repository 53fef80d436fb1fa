import {
  createIndexedDbPageStore,
  type IndexedDbPageStoreOptions,
} from '../../../src/storage/indexeddb/indexeddb-page-store.ts';
import { canWriteAtOnce } from '../../../src/storage/indexeddb/journal-folder.ts';
import { createOpfsJournalFiles } from '../../../src/storage/indexeddb/opfs-journal-files.ts';
import { INDEXEDDB_FORMAT } from '../../../src/storage/indexeddb/schema.ts';
import { pageStoreSuite, type StorageContext, type StorageFactory } from '../../conformance/storage/suite.ts';
import { runCases } from '../outcome.ts';

/** Runs the storage suite on this browser's IndexedDB, in a worker as the core has it, and posts the outcome as it grows. */
const prefixes = new WeakMap<StorageContext, string>();

/** One segment for every record after the first, so that the suite's short scripts come to them. */
const journalFiles = createOpfsJournalFiles(undefined, 1);

const factoryWith = (options: Pick<IndexedDbPageStoreOptions, 'journalFiles'>): StorageFactory => ({
  create: async () => {
    const prefix = `suite:${crypto.randomUUID()}|`;
    const context: StorageContext = {
      createStore: () => createIndexedDbPageStore({ prefix, ...options }),
      makeNewer: async (file) => (await opened(indexedDB.open(`${prefix}${file}`, INDEXEDDB_FORMAT + 1))).close(),
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
});

function opened<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

await runCases(
  [
    ...pageStoreSuite('indexeddb', factoryWith({})),
    ...(canWriteAtOnce()
      ? pageStoreSuite('with journal files', factoryWith({ journalFiles: async () => journalFiles }))
      : []),
  ],
  (outcome) => postMessage(outcome),
);
