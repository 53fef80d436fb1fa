import { assert } from 'chai';
import { allPages, rejects, relaxed, storedContent } from './expectations.ts';
import type { StorageCase } from './suite.ts';

/** Making, finding, opening and removing files. */
export const fileCases: readonly StorageCase[] = [
  {
    name: 'an empty medium has no files',
    run: async (context) => assert.deepEqual(await context.createStore().list(), []),
  },
  {
    name: 'a file just created has epoch 1, no head, no journal, no pages; its first record is number 2',
    run: async (context) => {
      const file = await context.createStore().open('fresh', 'create');
      assert.equal(file.name, 'fresh');
      assert.equal(file.opening.epoch, 1);
      assert.isUndefined(file.opening.head);
      assert.deepEqual(file.opening.journal, []);
      assert.equal(file.opening.nextJournal, 2);
      assert.deepEqual(await allPages(file), []);
      assert.isTrue(await file.isCurrent());
    },
  },
  {
    name: 'names are listed in order, also by another store',
    run: async (context) => {
      const store = context.createStore();
      for (const name of ['b', 'a.2', 'a-1', 'a_1', 'a~1', '0']) await store.open(name, 'create');
      assert.deepEqual(await store.list(), ['0', 'a-1', 'a.2', 'a_1', 'a~1', 'b']);
      assert.deepEqual(await context.createStore().list(), ['0', 'a-1', 'a.2', 'a_1', 'a~1', 'b']);
    },
  },
  {
    name: 'a name of 100 characters works; other names are refused as a mistake of the program',
    run: async (context) => {
      const store = context.createStore();
      const longest = `a${'x'.repeat(99)}`;
      await store.open(longest, 'create');
      assert.deepEqual(await store.list(), [longest]);
      for (const bad of ['', 'A', '_a', '.a', '../a', 'a/b', 'a b', 'ä', `${longest}x`]) {
        for (const run of [() => store.open(bad, 'create'), () => store.open(bad, 'open'), () => store.destroy(bad)]) {
          const error = await run().then(
            () => undefined,
            (thrown: unknown) => thrown,
          );
          assert.instanceOf(error, Error, bad);
          assert.match(String(error), /Invariant broken/, bad);
        }
      }
      assert.deepEqual(await store.list(), [longest]);
    },
  },
  {
    name: 'creating a file that is there fails with storage_exists and leaves it to its owner',
    run: async (context) => {
      const store = context.createStore();
      const owner = await store.open('twice', 'create');
      await owner.commit(relaxed({ head: 'kept' }));
      await rejects('storage_exists', () => store.open('twice', 'create'));
      await rejects('storage_exists', () => context.createStore().open('twice', 'create'));
      assert.isTrue(await owner.isCurrent());
      await owner.commit(relaxed({ head: 'still mine' }));
    },
  },
  {
    name: 'opening a file that is not there fails with storage_missing and does not make it',
    run: async (context) => {
      const store = context.createStore();
      await rejects('storage_missing', () => store.open('nowhere', 'open'));
      assert.deepEqual(await store.list(), []);
      await rejects('storage_missing', () => store.open('nowhere', 'open'));
      assert.equal((await store.open('nowhere', 'create')).opening.epoch, 1);
    },
  },
  {
    name: 'what was committed is there at the next open, in another store, too',
    run: async (context) => {
      const first = context.createStore();
      const file = await first.open('kept', 'create');
      await file.commit(relaxed({ writePages: [{ number: 4, value: 'four' }], head: 'h1' }));
      await file.commit(relaxed({ journal: { number: 2, text: 'two' } }));
      await first.close();
      assert.deepEqual(await storedContent(context.createStore(), 'kept'), {
        head: 'h1',
        journal: [[2, 'two']],
        pages: [[4, 'four']],
      });
    },
  },
  {
    name: 'a destroyed file is gone; destroying it again does nothing; created anew it is empty, with epoch 1',
    run: async (context) => {
      const store = context.createStore();
      const file = await store.open('gone', 'create');
      await file.commit(relaxed({ journal: { number: 2, text: 'old' }, head: 'old' }));
      await file.close();
      await store.open('other', 'create');
      await store.destroy('gone');
      await store.destroy('gone');
      assert.deepEqual(await store.list(), ['other']);
      await rejects('storage_missing', () => store.open('gone', 'open'));
      const again = await store.open('gone', 'create');
      assert.equal(again.opening.epoch, 1);
      assert.isUndefined(again.opening.head);
      assert.deepEqual(again.opening.journal, []);
    },
  },
  {
    name: 'files do not share pages, journals or heads',
    run: async (context) => {
      const store = context.createStore();
      const left = await store.open('left', 'create');
      const right = await store.open('right', 'create');
      await left.commit(relaxed({ writePages: [{ number: 2, value: 'left' }], head: 'left' }));
      await right.commit(relaxed({ journal: { number: 2, text: 'right' } }));
      assert.deepEqual(await storedContent(context.createStore(), 'left'), {
        head: 'left',
        journal: [],
        pages: [[2, 'left']],
      });
      assert.deepEqual(await storedContent(context.createStore(), 'right'), {
        head: undefined,
        journal: [[2, 'right']],
        pages: [],
      });
    },
  },
  {
    name: 'a file of a newer format is refused, and stays as it is',
    run: async (context) => {
      const store = context.createStore();
      const file = await store.open('newer', 'create');
      await file.commit(relaxed({ head: 'old' }));
      await file.close();
      await context.makeNewer('newer');
      await rejects('storage_newer_format', () => store.open('newer', 'open'));
      await rejects('storage_newer_format', () => context.createStore().open('newer', 'open'));
      assert.deepEqual(await store.list(), ['newer']);
      await store.destroy('newer');
      assert.deepEqual(await store.list(), []);
    },
  },
  {
    name: 'every opening raises the epoch by one',
    run: async (context) => {
      const store = context.createStore();
      await (await store.open('often', 'create')).close();
      for (const epoch of [2, 3, 4]) {
        const file = await store.open('often', 'open');
        assert.equal(file.opening.epoch, epoch);
        await file.close();
      }
      assert.equal((await context.createStore().open('often', 'open')).opening.epoch, 5);
    },
  },
  {
    name: 'openings at the same time get epochs of their own; only the highest is current',
    run: async (context) => {
      const store = context.createStore();
      await (await store.open('race', 'create')).close();
      const files = await Promise.all([1, 2, 3].map(() => store.open('race', 'open')));
      const byEpoch = files.sort((left, right) => left.opening.epoch - right.opening.epoch);
      assert.deepEqual(
        byEpoch.map((file) => file.opening.epoch),
        [2, 3, 4],
      );
      assert.deepEqual(await Promise.all(byEpoch.map((file) => file.isCurrent())), [false, false, true]);
    },
  },
  {
    name: 'many files can be open at once',
    run: async (context) => {
      const store = context.createStore();
      const names = Array.from({ length: 120 }, (_, index) => `f${String(index).padStart(3, '0')}`);
      const files = [];
      for (const name of names) files.push(await store.open(name, 'create'));
      await Promise.all(files.map((file) => file.commit(relaxed({ journal: { number: 2, text: file.name } }))));
      assert.deepEqual(await store.list(), names);
      const last = await context.createStore().open('f119', 'open');
      assert.deepEqual(last.opening.journal, [{ number: 2, text: 'f119' }]);
    },
  },
];
