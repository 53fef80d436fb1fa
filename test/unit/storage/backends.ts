import 'fake-indexeddb/auto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IDBFactory } from 'fake-indexeddb';
import { open } from 'lmdb';
import { must } from '../../../src/base/shared/assert.ts';
import { createIndexedDbPageStore } from '../../../src/storage/indexeddb/indexeddb-page-store.ts';
import type { LoadJournalFiles } from '../../../src/storage/indexeddb/journal-files.ts';
import { createOpfsJournalFiles } from '../../../src/storage/indexeddb/opfs-journal-files.ts';
import { INDEXEDDB_FORMAT } from '../../../src/storage/indexeddb/schema.ts';
import type { EarlyCommits } from '../../../src/storage/indexeddb/write-transaction.ts';
import { createLmdbPageStore } from '../../../src/storage/lmdb/lmdb-page-store.ts';
import { createMemoryPageStore, MemoryMedium } from '../../../src/storage/memory-page-store.ts';
import type { StorageContext, StorageFactory } from '../../conformance/storage/suite.ts';
import { FakeFileSystem, FakeSyncAccessHandle } from './fake-file-system.ts';

/** The three backends as they can be tested in Node: IndexedDB is a fake here, the real ones are tested in browsers. */
export interface Backend {
  readonly name: 'memory' | 'lmdb' | 'indexeddb' | 'indexeddb with journal files';
  readonly factory: StorageFactory;
}

async function createMemoryContext(): Promise<StorageContext> {
  const medium = new MemoryMedium();
  return {
    createStore: () => createMemoryPageStore({ medium }),
    makeNewer: async (file) => {
      must(medium.files.get(file)).format = 2;
    },
  };
}

export function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'settee-storage-'));
}

async function makeNewerLmdb(folder: string, file: string): Promise<void> {
  const root = open<string, string>({ path: join(folder, file, 'data-1.mdb'), noSubdir: true, maxDbs: 4 });
  const state = root.openDB<string, string>({ name: 'state', encoding: 'string', useVersions: true });
  await state.put('owner', '{"format":3,"somethingNew":true}', 1);
  await root.close();
}

function lmdbFactory(): StorageFactory {
  const folders = new WeakMap<StorageContext, string>();
  return {
    create: async () => {
      const folder = await temporaryFolder();
      const context: StorageContext = {
        createStore: () => createLmdbPageStore(folder),
        makeNewer: (file) => makeNewerLmdb(folder, file),
      };
      folders.set(context, folder);
      return context;
    },
    dispose: (context) => rm(must(folders.get(context)), { recursive: true, force: true }),
  };
}

interface IndexedDbOptions {
  readonly earlyCommits?: EarlyCommits;
  readonly journalFiles?: LoadJournalFiles;
}

async function createIndexedDbContext(options: IndexedDbOptions = {}): Promise<StorageContext> {
  const factory = new IDBFactory();
  return {
    createStore: () => createIndexedDbPageStore({ prefix: 'settee:', indexedDB: factory, ...options }),
    makeNewer: (file) =>
      new Promise((resolve, reject) => {
        const request = factory.open(`settee:${file}`, INDEXEDDB_FORMAT + 1);
        request.onerror = () => reject(request.error);
        request.onsuccess = () => {
          request.result.close();
          resolve();
        };
      }),
  };
}

/** IndexedDB as it is used in browsers where not every transaction can be committed early. */
export function indexedDbWithEarlyCommits(earlyCommits: EarlyCommits): StorageFactory {
  return { create: () => createIndexedDbContext({ earlyCommits }), dispose: async () => undefined };
}

Object.assign(globalThis, { FileSystemSyncAccessHandle: FakeSyncAccessHandle });

/** With a journal file from the second record on. */
function createContextWithFiles(): Promise<StorageContext> {
  const files = createOpfsJournalFiles(new FakeFileSystem().getDirectory, 1);
  return createIndexedDbContext({ journalFiles: async () => files });
}

export const backends: readonly Backend[] = [
  { name: 'memory', factory: { create: createMemoryContext, dispose: async () => undefined } },
  { name: 'lmdb', factory: lmdbFactory() },
  { name: 'indexeddb', factory: { create: () => createIndexedDbContext(), dispose: async () => undefined } },
  { name: 'indexeddb with journal files', factory: { create: createContextWithFiles, dispose: async () => undefined } },
];

export function backendNamed(name: Backend['name']): Backend {
  return must(backends.find((backend) => backend.name === name));
}

/** The same backend, with every store behind the fault wrapper or any other. */
export function wrapped(
  factory: StorageFactory,
  wrap: (store: ReturnType<StorageContext['createStore']>) => ReturnType<StorageContext['createStore']>,
): StorageFactory {
  const inner = new WeakMap<StorageContext, StorageContext>();
  return {
    create: async () => {
      const context = await factory.create();
      const outer: StorageContext = {
        createStore: () => wrap(context.createStore()),
        makeNewer: (file) => context.makeNewer(file),
      };
      inner.set(outer, context);
      return outer;
    },
    dispose: (context) => factory.dispose(must(inner.get(context))),
  };
}
