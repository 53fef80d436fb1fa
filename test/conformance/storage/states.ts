import { assert } from 'chai';
import type { ErrorCode } from '../../../src/base/errors/database-error.ts';
import type { PageFile, PageStore } from '../../../src/storage/page-store.ts';
import { allPages, rejects, relaxed, storedContent } from './expectations.ts';
import type { StorageCase, StorageContext } from './suite.ts';

/** Every operation of a file, as it may be called on a file with page 2, and `nextJournal` not used yet. */
const OPERATIONS: readonly { readonly name: string; readonly writes: boolean; run(file: PageFile): unknown }[] = [
  { name: 'read text', writes: false, run: (file) => file.read(2, 'text') },
  { name: 'read bytes', writes: false, run: (file) => file.read(3, 'bytes') },
  { name: 'pageNumbers', writes: false, run: (file) => allPages(file) },
  { name: 'isCurrent', writes: false, run: (file) => file.isCurrent() },
  { name: 'size', writes: false, run: (file) => file.size() },
  {
    name: 'append',
    writes: true,
    run: (file) => file.commit(relaxed({ journal: { number: file.opening.nextJournal, text: 'appended' } })),
  },
  {
    name: 'append with pages',
    writes: true,
    run: (file) =>
      file.commit(
        relaxed({
          journal: { number: file.opening.nextJournal, text: 'appended' },
          writePages: [{ number: 8, value: 'eight' }],
        }),
      ),
  },
  {
    name: 'write pages',
    writes: true,
    run: (file) => file.commit(relaxed({ writePages: [{ number: 4, value: 'four' }] })),
  },
  { name: 'drop pages', writes: true, run: (file) => file.commit(relaxed({ dropPages: [2] })) },
  { name: 'write the head', writes: true, run: (file) => file.commit(relaxed({ head: 'replaced' })) },
  {
    name: 'truncate',
    writes: true,
    run: (file) => file.commit(relaxed({ truncateJournal: file.opening.nextJournal })),
  },
  { name: 'flush', writes: true, run: (file) => file.commit({ durability: 'strict' }) },
  { name: 'compact', writes: true, run: (file) => file.compact?.() },
];

interface Situation {
  readonly name: string;
  /** The code that the operations fail with; undefined where they succeed. */
  readonly refuses: ErrorCode | undefined;
  readonly refusesReads: ErrorCode | undefined;
  bring(file: PageFile, store: PageStore, context: StorageContext): Promise<unknown>;
}

const SITUATIONS: readonly Situation[] = [
  { name: 'an open file', refuses: undefined, refusesReads: undefined, bring: async () => undefined },
  {
    name: 'a file of which another one was closed',
    refuses: undefined,
    refusesReads: undefined,
    bring: async (_file, store) => (await store.open('other', 'create')).close(),
  },
  {
    name: 'a closed file',
    refuses: 'storage_closed',
    refusesReads: 'storage_closed',
    bring: (file) => file.close(),
  },
  {
    name: 'a closing file',
    refuses: 'storage_closed',
    refusesReads: 'storage_closed',
    bring: async (file) => {
      void file.close();
    },
  },
  {
    name: 'a file of a closed store',
    refuses: 'storage_closed',
    refusesReads: 'storage_closed',
    bring: (_file, store) => store.close(),
  },
  {
    name: 'a file that its store destroyed',
    refuses: 'storage_deleted',
    refusesReads: 'storage_deleted',
    bring: (_file, store) => store.destroy('file'),
  },
  {
    name: 'a file that was destroyed underneath, once a commit noticed',
    refuses: 'storage_deleted',
    refusesReads: 'storage_deleted',
    bring: async (file, _store, context) => {
      await context.createStore().destroy('file');
      await rejects('storage_deleted', () => file.commit(relaxed({ head: 'lost' })));
    },
  },
  {
    name: 'a file that was destroyed underneath and created anew, once a commit noticed',
    refuses: 'storage_deleted',
    refusesReads: 'storage_deleted',
    bring: async (file, _store, context) => {
      const other = context.createStore();
      await other.destroy('file');
      await other.open('file', 'create');
      await rejects('storage_deleted', () => file.commit(relaxed({ head: 'lost' })));
    },
  },
  {
    name: 'a fenced file',
    refuses: 'storage_fenced',
    refusesReads: undefined,
    bring: (_file, _store, context) => context.createStore().open('file', 'open'),
  },
  {
    name: 'a file that its own store opened again',
    refuses: 'storage_fenced',
    refusesReads: undefined,
    bring: (_file, store) => store.open('file', 'open'),
  },
];

async function prepared(store: PageStore): Promise<PageFile> {
  const file = await store.open('file', 'create');
  const writePages = [
    { number: 2, value: 'two' },
    { number: 3, value: new Uint8Array([3]) },
  ];
  await file.commit(relaxed({ writePages, head: 'first' }));
  return file;
}

/** Each operation in each state that a file can be in. */
const operationCases: readonly StorageCase[] = SITUATIONS.flatMap((situation) =>
  OPERATIONS.map((operation) => ({
    name: `${operation.name} on ${situation.name}`,
    run: async (context: StorageContext) => {
      const store = context.createStore();
      const file = await prepared(store);
      if (operation.name === 'compact' && file.compact === undefined) return;
      await situation.bring(file, store, context);
      const code = operation.writes ? situation.refuses : situation.refusesReads;
      if (code === undefined) await operation.run(file);
      else await rejects(code, () => operation.run(file), operation.name);
      await file.close();
      await file.close();
    },
  })),
);

const lifeCases: readonly StorageCase[] = [
  {
    name: 'close waits for the commit under way, which then is there',
    run: async (context) => {
      const store = context.createStore();
      const file = await prepared(store);
      const commit = file.commit(relaxed({ journal: { number: 2, text: 'in flight' }, head: 'second' }));
      await file.close();
      await commit;
      const content = await storedContent(store, 'file');
      assert.deepEqual([content.head, content.journal], ['second', [[2, 'in flight']]]);
    },
  },
  {
    name: 'closing the store waits for the commits under way in all its files',
    run: async (context) => {
      const store = context.createStore();
      const files = [await store.open('a', 'create'), await store.open('b', 'create')];
      const commits = files.map((file) => file.commit(relaxed({ journal: { number: 2, text: file.name } })));
      await store.close();
      await Promise.all(commits);
      for (const name of ['a', 'b']) {
        assert.deepEqual((await storedContent(context.createStore(), name)).journal, [[2, name]]);
      }
    },
  },
  {
    name: 'a closed store refuses everything but closing',
    run: async (context) => {
      const store = context.createStore();
      await store.close();
      await store.close();
      await rejects('storage_closed', () => store.list());
      await rejects('storage_closed', () => store.open('file', 'create'));
      await rejects('storage_closed', () => store.open('file', 'open'));
      await rejects('storage_closed', () => store.destroy('file'));
      assert.deepEqual(await context.createStore().list(), []);
    },
  },
  {
    name: 'a store that is closed while a file is opening leaves none open',
    run: async (context) => {
      const store = context.createStore();
      await (await store.open('file', 'create')).close();
      const opening = store.open('file', 'open');
      const refused = rejects('storage_closed', () => opening, 'the opening');
      await store.close();
      await refused;
      assert.isAtLeast((await context.createStore().open('file', 'open')).opening.epoch, 2);
    },
  },
  {
    name: 'a file is destroyed while a commit is under way: the commit settles, the file is gone',
    run: async (context) => {
      const store = context.createStore();
      const file = await prepared(store);
      const commit = file.commit(relaxed({ journal: { number: 2, text: 'x' } })).catch(() => undefined);
      await store.destroy('file');
      await commit;
      assert.deepEqual(await store.list(), []);
      await rejects('storage_deleted', () => file.read(2, 'text'));
    },
  },
  {
    name: 'a walk over page numbers ends with an error when the file is closed meanwhile',
    run: async (context) => {
      const store = context.createStore();
      const file = await store.open('walk', 'create');
      const writePages = Array.from({ length: 1500 }, (_, index) => ({ number: 2 * index, value: 'p' }));
      await file.commit(relaxed({ writePages }));
      await rejects('storage_closed', async () => {
        for await (const batch of file.pageNumbers(0)) {
          assert.isAbove(batch.length, 0);
          await file.close();
        }
      });
    },
  },
];

export const stateCases: readonly StorageCase[] = [...operationCases, ...lifeCases];
