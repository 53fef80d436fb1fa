import { assert } from 'chai';
import { must } from '../../../src/base/shared/assert.ts';
import type { PageFile } from '../../../src/storage/page-store.ts';
import { allPages, readPage, rejects, relaxed, storedContent } from './expectations.ts';
import type { StorageCase, StorageContext } from './suite.ts';

const EPOCH_2 = 2 * 2 ** 32;

/** What a commit writes, and what of it is seen when. */
export const commitCases: readonly StorageCase[] = [
  {
    name: 'pages give back what was written, whatever characters and bytes',
    run: async (context) => {
      const file = await createFile(context);
      const text = 'plain, "quoted"\n\ttab, \u0000 nul, é, 中文, 🙂, \u2028';
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
      await file.commit(
        relaxed({
          writePages: [
            { number: 2, value: text },
            { number: 3, value: bytes },
            { number: 4, value: '' },
            { number: 5, value: new Uint8Array() },
          ],
        }),
      );
      assert.equal(await file.read(2, 'text'), text);
      assert.deepEqual(await readPage(file, 3), [...bytes]);
      assert.equal(await file.read(4, 'text'), '');
      assert.deepEqual(await readPage(file, 5), []);
      assert.isUndefined(await file.read(6, 'text'));
      assert.isUndefined(await file.read(7, 'bytes'));
    },
  },
  {
    name: 'a bytes page is a plain Uint8Array of its own',
    run: async (context) => {
      const file = await createFile(context);
      const buffer = new Uint8Array([9, 1, 2, 3, 9]);
      await file.commit(relaxed({ writePages: [{ number: 1, value: buffer.subarray(1, 4) }] }));
      buffer.fill(0);
      const page = await file.read(1, 'bytes');
      assert.strictEqual(Object.getPrototypeOf(page), Uint8Array.prototype);
      assert.deepEqual(page, new Uint8Array([1, 2, 3]));
    },
  },
  {
    name: 'what was read stays as it is while other pages are written, read and dropped',
    run: async (context) => {
      const file = await createFile(context);
      const sizes = [100, 5000, 32_736, 40_000, 200_000];
      await file.commit(
        relaxed({ writePages: sizes.map((size, at) => ({ number: 2 * at + 1, value: filled(size, at) })) }),
      );
      const pages = await Promise.all(sizes.map((_, at) => file.read(2 * at + 1, 'bytes')));
      await file.commit(relaxed({ dropPages: sizes.map((_, at) => 2 * at + 1) }));
      await file.commit(
        relaxed({ writePages: sizes.map((size, at) => ({ number: 2 * at + 101, value: filled(size, 77) })) }),
      );
      for (const at of sizes.keys()) await file.read(2 * at + 101, 'bytes');
      for (const [at, size] of sizes.entries()) assert.deepEqual(pages[at], filled(size, at), `page of ${size} bytes`);
    },
  },
  {
    name: 'pages of every size up to the largest work',
    run: async (context) => {
      const store = context.createStore();
      const file = await store.open('sizes', 'create');
      const { leafBytes, bodyPageBytes, maxPageBytes } = store.supports;
      for (const [at, size] of [1, leafBytes, bodyPageBytes, bodyPageBytes + 1, maxPageBytes].entries()) {
        await file.commit(
          relaxed({
            writePages: [
              { number: 2 * at, value: 'x'.repeat(size) },
              { number: 2 * at + 1, value: filled(size, 7) },
            ],
          }),
        );
        assert.equal(await file.read(2 * at, 'text'), 'x'.repeat(size));
        assert.deepEqual(await file.read(2 * at + 1, 'bytes'), filled(size, 7));
      }
    },
  },
  {
    name: 'reads that are asked for together, also during a commit, each get their page',
    run: async (context) => {
      const file = await createFile(context);
      const numbers = Array.from({ length: 50 }, (_, index) => 2 * index);
      await file.commit(relaxed({ writePages: numbers.map((number) => ({ number, value: `page ${number}` })) }));
      const commit = file.commit(relaxed({ writePages: [{ number: 1000, value: 'later' }], head: 'h' }));
      const pages = await Promise.all(numbers.map((number) => file.read(number, 'text')));
      assert.deepEqual(
        pages,
        numbers.map((number) => `page ${number}`),
      );
      await commit;
      assert.equal(await file.read(1000, 'text'), 'later');
    },
  },
  {
    name: 'all parts of a commit happen: record, pages, drops, head and truncation',
    run: async (context) => {
      const store = context.createStore();
      const file = await store.open('whole', 'create');
      await file.commit(relaxed({ journal: { number: 2, text: 'two' } }));
      await file.commit(relaxed({ journal: { number: 3, text: 'three' }, writePages: [{ number: 8, value: 'old' }] }));
      await file.commit({
        durability: 'strict',
        journal: { number: 4, text: 'four' },
        writePages: [{ number: 10, value: 'new' }],
        dropPages: [8, 12],
        head: 'head',
        truncateJournal: 3,
      });
      assert.deepEqual(await storedContent(context.createStore(), 'whole'), {
        head: 'head',
        journal: [
          [3, 'three'],
          [4, 'four'],
        ],
        pages: [[10, 'new']],
      });
    },
  },
  {
    name: 'each part of a commit may be left out, and all of them',
    run: async (context) => {
      const store = context.createStore();
      const file = await store.open('parts', 'create');
      for (const durability of ['relaxed', 'strict'] as const) {
        await file.commit({ durability });
        await file.commit({ durability, head: durability });
        await file.commit({ durability, writePages: [] });
        await file.commit({ durability, dropPages: [] });
        await file.commit({ durability, dropPages: [99] });
        await file.commit({ durability, truncateJournal: 1 });
      }
      assert.deepEqual(await storedContent(context.createStore(), 'parts'), {
        head: 'strict',
        journal: [],
        pages: [],
      });
    },
  },
  {
    name: 'a dropped page is gone, the others stay',
    run: async (context) => {
      const file = await createFile(context);
      await file.commit(relaxed({ writePages: [2, 4, 6].map((number) => ({ number, value: `p${number}` })) }));
      await file.commit(relaxed({ dropPages: [4] }));
      assert.isUndefined(await file.read(4, 'text'));
      assert.deepEqual(await allPages(file), [2, 6]);
    },
  },
  {
    name: 'page numbers come in ascending order from the given one, text and bytes together, beyond one batch',
    run: async (context) => {
      const file = await createFile(context);
      const numbers = Array.from({ length: 2500 }, (_, index) => EPOCH_2 + index);
      const writePages = [...numbers, 7, 2].map((number) => ({
        number,
        value: number % 2 === 0 ? 'text' : new Uint8Array([1]),
      }));
      await file.commit(relaxed({ writePages }));
      assert.deepEqual(await allPages(file), [2, 7, ...numbers]);
      assert.deepEqual(await allPages(file, 7), [7, ...numbers]);
      assert.deepEqual(await allPages(file, 8), numbers);
      assert.deepEqual(await allPages(file, EPOCH_2 + 2499), [EPOCH_2 + 2499]);
      assert.deepEqual(await allPages(file, EPOCH_2 + 2500), []);
    },
  },
  {
    name: 'the largest page number works',
    run: async (context) => {
      const file = await createFile(context);
      const number = Number.MAX_SAFE_INTEGER;
      await file.commit(relaxed({ writePages: [{ number, value: new Uint8Array([5]) }] }));
      assert.deepEqual(await readPage(file, number), [5]);
      assert.deepEqual(await allPages(file), [number]);
    },
  },
  {
    name: 'journal records come back in order at the next open, also with empty and long texts',
    run: async (context) => {
      const store = context.createStore();
      const file = await store.open('journal', 'create');
      const texts = ['', 'one', 'x'.repeat(100_000), '🙂\n', ...Array.from({ length: 300 }, (_, at) => `r${at}`)];
      for (const [at, text] of texts.entries()) await file.commit(relaxed({ journal: { number: at + 2, text } }));
      const reopened = await store.open('journal', 'open');
      assert.deepEqual(
        reopened.opening.journal,
        texts.map((text, at) => ({ number: at + 2, text })),
      );
      assert.equal(reopened.opening.nextJournal, texts.length + 3);
    },
  },
  {
    name: 'claims take a number each, and are not among the records',
    run: async (context) => {
      const store = context.createStore();
      const first = await store.open('claims', 'create');
      await first.commit(relaxed({ journal: { number: 2, text: 'a' } }));
      const second = await store.open('claims', 'open');
      assert.equal(second.opening.nextJournal, 4);
      await second.commit(relaxed({ journal: { number: 4, text: 'b' } }));
      await store.open('claims', 'open');
      const fourth = await store.open('claims', 'open');
      assert.equal(fourth.opening.nextJournal, 7);
      assert.deepEqual(fourth.opening.journal, [
        { number: 2, text: 'a' },
        { number: 4, text: 'b' },
      ]);
    },
  },
  {
    name: 'a truncation removes the records below it; numbering goes on, also after all were removed',
    run: async (context) => {
      const store = context.createStore();
      const first = await store.open('truncated', 'create');
      for (const number of [2, 3, 4]) await first.commit(relaxed({ journal: { number, text: `${number}` } }));
      await first.commit(relaxed({ truncateJournal: 4, head: 'h' }));
      const second = await store.open('truncated', 'open');
      assert.deepEqual(second.opening.journal, [{ number: 4, text: '4' }]);
      assert.equal(second.opening.nextJournal, 6);
      await second.commit(relaxed({ truncateJournal: 6 }));
      const third = await store.open('truncated', 'open');
      assert.deepEqual(third.opening.journal, []);
      assert.equal(third.opening.nextJournal, 7);
      await third.commit(relaxed({ journal: { number: 7, text: '7' } }));
      const fourth = await store.open('truncated', 'open');
      assert.deepEqual(fourth.opening.journal, [{ number: 7, text: '7' }]);
      assert.equal(fourth.opening.nextJournal, 9);
    },
  },
  {
    name: 'a record of any other number than the next is a mistake of the program, and changes nothing',
    run: async (context) => {
      const store = context.createStore();
      const file = await store.open('numbers', 'create');
      for (const number of [0, 1, 3, 2.5, Number.NaN]) {
        const error = await file.commit(relaxed({ journal: { number, text: 'x' }, head: 'x' })).catch(String);
        assert.match(String(error), /Invariant broken/);
      }
      await file.commit(relaxed({ journal: { number: 2, text: 'two' } }));
      const content = await storedContent(context.createStore(), 'numbers');
      assert.deepEqual(content, { head: undefined, journal: [[2, 'two']], pages: [] });
    },
  },
  {
    name: 'the head is replaced as a whole',
    run: async (context) => {
      const store = context.createStore();
      const file = await store.open('head', 'create');
      await file.commit(relaxed({ head: `long ${'x'.repeat(2000)}` }));
      await file.commit(relaxed({ head: 'é short' }));
      assert.equal((await store.open('head', 'open')).opening.head, 'é short');
    },
  },
  {
    name: 'commits that follow each other quickly survive in a prefix',
    run: async (context) => {
      const store = context.createStore();
      const file = await store.open('prefix', 'create');
      for (let number = 2; number < 60; number += 1) {
        await file.commit(
          relaxed({ journal: { number, text: `${number}` }, writePages: [{ number: 2 * number, value: 'p' }] }),
        );
      }
      const reopened = await store.open('prefix', 'open');
      const numbers = reopened.opening.journal.map((record) => record.number);
      assert.deepEqual(
        numbers,
        Array.from({ length: 58 }, (_, index) => index + 2),
      );
      assert.equal((await allPages(reopened)).length, 58);
    },
  },
  {
    name: 'the size grows with what is written, and shrinks where the backend says so',
    run: async (context) => {
      const store = context.createStore();
      const file = await store.open('sized', 'create');
      const before = await file.size();
      const pages = Array.from({ length: 40 }, (_, index) => 2 * index + 1);
      await file.commit(relaxed({ writePages: pages.map((number) => ({ number, value: filled(30_000, number) })) }));
      const full = await file.size();
      assert.isAtLeast(full, before + 40 * 30_000);
      await file.commit(relaxed({ dropPages: pages.slice(1) }));
      if (!store.supports.shrinks) await must(file.compact?.bind(file), 'compact')();
      assert.isBelow(await file.size(), full / 4);
      assert.deepEqual(await file.read(1, 'bytes'), filled(30_000, 1));
    },
  },
  {
    name: 'the size counts the journal, and what a later owner finds of it',
    run: async (context) => {
      const store = context.createStore();
      const file = await store.open('journalled', 'create');
      const before = await file.size();
      // Enough for a backend that measures whole blocks.
      const text = 'x'.repeat(100_000);
      const first = file.opening.nextJournal;
      await file.commit(relaxed({ journal: { number: first, text } }));
      await file.commit(relaxed({ journal: { number: first + 1, text } }));
      assert.isAtLeast(await file.size(), before + 150_000);
      await file.close();
      const reopened = await store.open('journalled', 'open');
      assert.isAtLeast(await reopened.size(), before + 150_000);
      if (!store.supports.shrinks) return;
      await reopened.commit(relaxed({ head: 'head', truncateJournal: first + 1 }));
      assert.isBelow(await reopened.size(), before + 150_000);
      assert.isAtLeast(await reopened.size(), before + 100_000);
    },
  },
  {
    name: 'only backends that do not shrink by themselves have a compaction',
    run: async (context) => {
      const store = context.createStore();
      const file = await store.open('compactible', 'create');
      assert.equal(file.compact === undefined, store.supports.shrinks);
    },
  },
  {
    name: 'a compaction keeps everything, reads go on and commits wait; numbering and epoch go on after it',
    run: async (context) => {
      const store = context.createStore();
      const file = await store.open('compacted', 'create');
      if (file.compact === undefined) return;
      for (const number of [2, 3, 4]) await file.commit(relaxed({ journal: { number, text: `${number}` } }));
      await file.commit(relaxed({ truncateJournal: 3, head: 'h', writePages: [{ number: 2, value: 'two' }] }));
      const compaction = file.compact();
      const commit = file.commit(relaxed({ journal: { number: 5, text: '5' } }));
      assert.equal(await file.read(2, 'text'), 'two');
      await Promise.all([compaction, commit]);
      assert.equal(await file.read(2, 'text'), 'two');
      assert.isTrue(await file.isCurrent());
      await file.commit(relaxed({ journal: { number: 6, text: '6' }, writePages: [{ number: 4, value: 'four' }] }));
      await file.compact();
      await file.close();
      const reopened = await context.createStore().open('compacted', 'open');
      assert.equal(reopened.opening.epoch, 2);
      assert.equal(reopened.opening.nextJournal, 8);
      assert.deepEqual(await storedContent(context.createStore(), 'compacted'), {
        head: 'h',
        journal: [3, 4, 5, 6].map((number) => [number, `${number}`] as const),
        pages: [
          [2, 'two'],
          [4, 'four'],
        ],
      });
    },
  },
  {
    name: 'a page that is larger than allowed is a mistake of the program, and nothing of its commit happens',
    run: async (context) => {
      const store = context.createStore();
      const file = await store.open('toolarge', 'create');
      const value = new Uint8Array(store.supports.maxPageBytes + 1);
      const error = await file.commit(relaxed({ writePages: [{ number: 1, value }], head: 'x' })).catch(String);
      assert.match(String(error), /Invariant broken/);
      assert.isUndefined(await file.read(1, 'bytes'));
      await rejects('storage_exists', () => store.open('toolarge', 'create'));
      assert.isUndefined((await store.open('toolarge', 'open')).opening.head);
    },
  },
];

function createFile(context: StorageContext): Promise<PageFile> {
  return context.createStore().open('file', 'create');
}

function filled(length: number, value: number): Uint8Array {
  return new Uint8Array(length).fill(value);
}
