import { assert } from 'chai';
import { must } from '../../../src/base/shared/assert.ts';
import type { FollowedFile, FollowedPoint, FollowedState, PageStore } from '../../../src/storage/page-store.ts';
import { rejects, relaxed } from './expectations.ts';
import type { StorageCase, StorageContext } from './suite.ts';

/** A follower reads what the owner of a file commits, and changes nothing. Backends without `follow` pass. */
type Follow = (file: string) => Promise<FollowedFile>;

function followingCase(
  name: string,
  run: (follow: Follow, owner: PageStore, context: StorageContext) => Promise<void>,
): StorageCase {
  return {
    name: `following: ${name}`,
    run: async (context) => {
      const store = context.createStore();
      if (store.follow === undefined) return;
      await run(async (file) => must(await store.follow?.(file)), context.createStore(), context);
    },
  };
}

/** Polls from the beginning; without a hold. */
async function seen(
  followed: FollowedFile,
  since?: FollowedPoint,
): Promise<Omit<FollowedState, 'release'> | undefined> {
  const state = await followed.poll(since);
  if (state === undefined) return undefined;
  const { release, ...others } = state;
  release();
  return others;
}

async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending');
  const turn = new Promise((resolve) => setTimeout(resolve, 0, pending));
  return (await Promise.race([promise, turn])) !== pending;
}

export const followingCases: readonly StorageCase[] = [
  followingCase('a file that is not there', async (follow) => {
    await rejects('storage_missing', () => follow('a'));
  }),

  followingCase('a file without a head', async (follow, owner) => {
    await owner.open('a', 'create');
    const followed = await follow('a');
    assert.deepEqual(await seen(followed), {
      point: { epoch: 1, head: undefined, record: 0 },
      continues: false,
      records: [],
    });
  }),

  followingCase('the head, and the records of the journal, short and long', async (follow, owner) => {
    const file = await owner.open('a', 'create');
    const long = 'long '.repeat(40_000);
    await file.commit(relaxed({ head: 'the head' }));
    await file.commit(relaxed({ journal: { number: 2, text: 'two' } }));
    await file.commit({ durability: 'strict', journal: { number: 3, text: long } });
    await file.commit(relaxed({ journal: { number: 4, text: 'vier ü €' } }));
    const followed = await follow('a');
    assert.deepEqual(await seen(followed), {
      point: { epoch: 1, head: 'the head', record: 4 },
      continues: false,
      records: [
        { number: 2, text: 'two' },
        { number: 3, text: long },
        { number: 4, text: 'vier ü €' },
      ],
    });
  }),

  followingCase('each commit is seen when its promise has resolved', async (follow, owner) => {
    const file = await owner.open('a', 'create');
    const followed = await follow('a');
    let point = must(await seen(followed)).point;
    for (let number = 2; number < 40; number++) {
      const record = { number, text: `record ${number}` };
      if (number % 3 === 0) await file.commit({ durability: 'strict', journal: record });
      else if (number % 3 === 1 || (await file.append?.(record)) !== true)
        await file.commit(relaxed({ journal: record }));
      const next = must(await seen(followed, point), `record ${number} is seen`);
      assert.deepEqual([next.continues, next.records], [true, [record]]);
      point = next.point;
    }
    assert.deepEqual(point, { epoch: 1, head: undefined, record: 39 });
  }),

  followingCase('nothing new, and a new hold of the same state', async (follow, owner) => {
    const file = await owner.open('a', 'create');
    await file.commit(relaxed({ head: 'one', journal: { number: 2, text: 'two' } }));
    const followed = await follow('a');
    const { point } = must(await seen(followed));
    assert.isUndefined(await followed.poll(point));
    const renewed = must(await followed.poll(point, true));
    assert.deepEqual([renewed.point, renewed.continues, renewed.records], [point, true, []]);
    renewed.release();
  }),

  followingCase('another head begins anew, with the records that it leaves', async (follow, owner) => {
    const file = await owner.open('a', 'create');
    await file.commit(relaxed({ head: 'one' }));
    for (const number of [2, 3, 4]) await file.commit(relaxed({ journal: { number, text: `r${number}` } }));
    const followed = await follow('a');
    const before = must(await seen(followed));
    await file.commit(relaxed({ head: 'two', truncateJournal: 4 }));
    await file.commit(relaxed({ journal: { number: 5, text: 'r5' } }));
    assert.deepEqual(await seen(followed, before.point), {
      point: { epoch: 1, head: 'two', record: 5 },
      continues: false,
      records: [
        { number: 4, text: 'r4' },
        { number: 5, text: 'r5' },
      ],
    });
  }),

  followingCase('a journal that was emptied, and goes on', async (follow, owner) => {
    const file = await owner.open('a', 'create');
    await file.commit(relaxed({ head: 'one', journal: { number: 2, text: 'two' } }));
    const followed = await follow('a');
    await seen(followed);
    await file.commit(relaxed({ head: 'two', truncateJournal: 3 }));
    const emptied = must(await seen(followed));
    assert.deepEqual([emptied.point.head, emptied.records], ['two', []]);
    await file.commit(relaxed({ journal: { number: 3, text: 'three' } }));
    const next = must(await seen(followed, emptied.point));
    assert.deepEqual([next.continues, next.records], [true, [{ number: 3, text: 'three' }]]);
  }),

  followingCase('another owner begins anew, and a stale one adds nothing', async (follow, owner, context) => {
    const stale = await owner.open('a', 'create');
    await stale.commit(relaxed({ head: 'one', journal: { number: 2, text: 'two' } }));
    const followed = await follow('a');
    const { point } = must(await seen(followed));
    const next = await context.createStore().open('a', 'open');
    await rejects('storage_fenced', () => stale.commit(relaxed({ journal: { number: 3, text: 'lost' } })));
    await next.commit(relaxed({ journal: { number: next.opening.nextJournal, text: 'of the next' } }));
    const after = must(await seen(followed, point));
    assert.isFalse(after.continues);
    assert.deepEqual(
      after.records.map(({ text }) => text),
      ['two', 'of the next'],
    );
    assert.equal(after.point.epoch, 2);
  }),

  followingCase('the owner stays the owner', async (follow, owner) => {
    const file = await owner.open('a', 'create');
    const followed = await follow('a');
    await seen(followed);
    assert.isTrue(await file.isCurrent());
    await file.commit(relaxed({ journal: { number: 2, text: 'two' } }));
    await followed.close();
    await file.commit(relaxed({ journal: { number: 3, text: 'three' } }));
    assert.deepEqual(
      must(await seen(await follow('a'))).records.map(({ number }) => number),
      [2, 3],
    );
  }),

  followingCase('pages of text and of bytes, and parts of them', async (follow, owner) => {
    const file = await owner.open('a', 'create');
    const followed = await follow('a');
    await file.commit(
      relaxed({
        writePages: [
          { number: 2, value: 'päge' },
          { number: 3, value: new Uint8Array([1, 2, 3, 4]) },
        ],
      }),
    );
    assert.equal(await followed.read(2, 'text'), 'päge');
    assert.deepEqual([...must(await followed.read(3, 'bytes'))], [1, 2, 3, 4]);
    if (followed.readRange !== undefined) {
      assert.deepEqual([...must(await followed.readRange(3, 1, 2))], [2, 3]);
      assert.isUndefined(await followed.readRange(5, 0, 1));
    }
    assert.isUndefined(await followed.read(4, 'text'));
    assert.isUndefined(await followed.read(5, 'bytes'));
    assert.isAbove(await followed.size(), 0);
  }),

  followingCase('pages of a state that is held can be read until it is released', async (follow, owner) => {
    const file = await owner.open('a', 'create');
    await file.commit(relaxed({ head: 'one', writePages: [{ number: 2, value: 'old' }] }));
    const followed = await follow('a');
    const held = must(await followed.poll());
    await file.commit(relaxed({ head: 'two', writePages: [{ number: 4, value: 'new' }] }));
    const passed = file.whenFollowersPass?.();
    if (passed === undefined) {
      await file.commit(relaxed({ dropPages: [2] }));
      assert.equal(await followed.read(2, 'text'), 'old');
      assert.equal(await followed.read(4, 'text'), 'new');
      held.release();
    } else {
      assert.isFalse(await isSettled(passed), 'the owner waits for the follower');
      let next = must(await followed.poll(held.point));
      held.release();
      // The owner may have asked after that look: it waits for no state of a later one.
      while (!(await isSettled(passed))) {
        const later = must(await followed.poll(next.point, true));
        next.release();
        next = later;
      }
      next.release();
    }
  }),

  followingCase('the hold of a follower that is closed ends', async (follow, owner) => {
    const file = await owner.open('a', 'create');
    await file.commit(relaxed({ head: 'one' }));
    const followed = await follow('a');
    await followed.poll();
    await file.commit(relaxed({ head: 'two' }));
    const passed = file.whenFollowersPass?.();
    await followed.close();
    await passed;
    await rejects('storage_closed', () => followed.poll());
  }),

  followingCase('a file that is removed, and made again', async (follow, owner) => {
    const file = await owner.open('a', 'create');
    await file.commit(relaxed({ head: 'one' }));
    const followed = await follow('a');
    const { point } = must(await seen(followed));
    await owner.destroy('a');
    await rejects('storage_deleted', () => followed.poll(point));
    await rejects('storage_deleted', () => followed.read(2, 'text'));
    await owner.open('a', 'create');
    await rejects('storage_deleted', () => followed.poll(point));
    assert.deepEqual(must(await seen(await follow('a'))).point, { epoch: 1, head: undefined, record: 0 });
  }),

  followingCase('a file whose owner compacts it', async (follow, owner) => {
    const file = await owner.open('a', 'create');
    await file.commit(relaxed({ head: 'one', writePages: [{ number: 2, value: 'kept' }] }));
    const followed = await follow('a');
    let { point } = must(await seen(followed));
    for (let number = 2; number < 5; number++) {
      await file.compact?.();
      await file.commit(relaxed({ journal: { number, text: `r${number}` } }));
      const next = must(await seen(followed, point), `record ${number} is seen`);
      assert.equal(next.records.at(-1)?.number, number);
      assert.equal(await followed.read(2, 'text'), 'kept');
      point = next.point;
    }
  }),

  followingCase('hundreds of polls at once, while the owner writes', async (follow, owner) => {
    const file = await owner.open('a', 'create');
    const followed = await follow('a');
    const polls: Promise<void>[] = [];
    let known = 1;
    for (let number = 2; number < 200; number++) {
      const head = number % 20 === 0 ? { head: `head ${number}`, truncateJournal: number } : {};
      await file.commit(relaxed({ journal: { number, text: `r${number}` }, ...head }));
      known = number;
      const least = known;
      const polled = (async () => {
        const { point, records } = must(await seen(followed));
        assert.isAtLeast(point.record, least);
        const first = Number(point.head?.slice('head '.length) ?? 2);
        const numbers = records.map((record) => record.number);
        assert.deepEqual(
          numbers,
          Array.from({ length: point.record - first + 1 }, (_unused, index) => first + index),
        );
      })();
      polls.push(polled);
    }
    await Promise.all(polls);
  }),
];
