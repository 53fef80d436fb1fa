/** A follower of an LMDB file: what the conformance suite can't do to a file. */
import { appendFileSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { open } from 'lmdb';
import { describe, expect, test } from 'vitest';
import { must } from '../../../../../src/base/shared/assert.ts';
import { RecordEncoder } from '../../../../../src/storage/journal-record.ts';
import type { LmdbOptions } from '../../../../../src/storage/lmdb/lmdb-page-store.ts';
import type {
  FollowedFile,
  FollowedPoint,
  FollowedState,
  JournalRecord,
} from '../../../../../src/storage/page-store.ts';
import { rejects, relaxed } from '../../../../conformance/storage/expectations.ts';
import { patient } from '../../../../support/patience.ts';
import { appendAll, appendWithPage } from '../journal-folder.ts';
import { createStore, folder, prepareClosed, useStoreFolder } from '../stores.ts';

useStoreFolder();

const inside = (name: string): string => join(folder, 'file', name);

function follow(options: LmdbOptions = {}, file = 'file'): Promise<FollowedFile> {
  return must(createStore(folder, options).follow?.(file));
}

interface Seen {
  readonly point: FollowedPoint;
  readonly records: string[];
}

async function seen(followed: FollowedFile, since?: FollowedPoint): Promise<Seen | undefined> {
  const state = await followed.poll(since);
  state?.release();
  return state && { point: state.point, records: state.records.map(({ number, text }) => `${number}:${text}`) };
}

function encoded(record: JournalRecord): Uint8Array {
  return new RecordEncoder(crc32).encode(record).slice();
}

describe('the journal that a follower reads', () => {
  test('joins the records of several owners, whether in LMDB or in segments', async () => {
    const first = await createStore().open('file', 'create');
    const followed = await follow();
    await appendAll(first, [2, 3]);
    await first.commit(appendWithPage(4));
    await appendAll(first, [5]);
    const before = must(await seen(followed));
    expect(before.records).toEqual(['2:r2', '3:r3', '4:p4', '5:r5']);
    const second = await createStore().open('file', 'open');
    const between = must(await seen(followed, before.point));
    expect(between.records).toEqual(['2:r2', '3:r3', '4:p4', '5:r5']);
    await second.commit(appendWithPage(7));
    await appendAll(second, [8]);
    await second.commit(appendWithPage(9));
    await second.commit(appendWithPage(10));
    await appendAll(second, [11]);
    const after = must(await seen(followed, between.point));
    expect(after.records).toEqual(['7:p7', '8:r8', '9:p9', '10:p10', '11:r11']);
    expect(await seen(followed, after.point)).toBe(undefined);
  });

  test('ends a stale owner at the claim of its successor, even if it writes later', async () => {
    await appendAll(await createStore().open('file', 'create'), [2]);
    const second = await createStore().open('file', 'open');
    const followed = await follow();
    const { point } = must(await seen(followed));
    for (const number of [3, 4, 5]) appendFileSync(inside('journal-1-2.log'), encoded({ number, text: 'stale' }));
    writeFileSync(inside('journal-1-3.log'), encoded({ number: 3, text: 'stale' }));
    expect(await seen(followed, point)).toBe(undefined);
    await appendAll(second, [4]);
    expect(must(await seen(followed, point)).records).toEqual(['4:r4']);
    expect(must(await seen(followed)).records).toEqual(['2:r2', '4:r4']);
  });

  test("doesn't have a record yet of which a part is missing", async () => {
    const file = await createStore().open('file', 'create');
    await appendAll(file, [2]);
    const followed = await follow();
    const { point } = must(await seen(followed));
    const record = encoded({ number: 3, text: 'three' });
    const path = inside('journal-1-2.log');
    for (let length = 1; length < record.length; length++) {
      appendFileSync(path, record.subarray(length - 1, length));
      expect(await seen(followed, point), `${length} bytes`).toBe(undefined);
      expect(must(await seen(followed)).records).toEqual(['2:r2']);
    }
    appendFileSync(path, record.subarray(-1));
    expect(must(await seen(followed, point)).records).toEqual(['3:three']);
    // An append that failed is cut off, and another one takes its place.
    const end = statSync(path).size;
    const next = must(await seen(followed)).point;
    appendFileSync(path, record.subarray(0, 18));
    expect(await seen(followed, next)).toBe(undefined);
    truncateSync(path, end);
    appendFileSync(path, encoded({ number: 4, text: 'f4' }));
    expect(must(await seen(followed, next)).records).toEqual(['4:f4']);
  });

  test.each([
    { where: 'before others', at: 18 + 16 },
    { where: 'at the end', at: 3 * 18 + 17 },
  ])('fails with storage_corrupt while a record $where is damaged', async ({ at }) => {
    const file = await createStore().open('file', 'create');
    await appendAll(file, [2]);
    const followed = await follow();
    const { point } = must(await seen(followed));
    await appendAll(file, [3, 4, 5]);
    const path = inside('journal-1-2.log');
    const sound = readFileSync(path);
    const damaged = Uint8Array.from(sound);
    damaged[at] = 0x40;
    writeFileSync(path, damaged);
    await rejects('storage_corrupt', async () => followed.poll(point));
    await rejects('storage_corrupt', async () => followed.poll());
    writeFileSync(path, sound);
    expect(must(await seen(followed, point)).records).toEqual(['3:r3', '4:r4', '5:r5']);
  });

  test('goes on in a new segment after a truncation, with and without another head', async () => {
    const file = await createStore().open('file', 'create');
    await appendAll(file, [2, 3]);
    const followed = await follow();
    const { point } = must(await seen(followed));
    await file.commit(relaxed({ truncateJournal: 4 }));
    await appendAll(file, [4]);
    const next = must(await seen(followed, point));
    expect(next.records).toEqual(['4:r4']);
    await file.commit(relaxed({ head: 'one', truncateJournal: 5 }));
    const emptied = must(await seen(followed, next.point));
    expect(emptied).toEqual({ point: { epoch: 1, head: 'one', record: 0 }, records: [] });
    await file.commit(appendWithPage(5));
    await appendAll(file, [6]);
    expect(must(await seen(followed, emptied.point)).records).toEqual(['5:p5', '6:r6']);
  });

  test('is in two segments after a truncation that left records', async () => {
    const file = await createStore().open('file', 'create');
    await appendAll(file, [2, 3, 4]);
    await file.commit(relaxed({ truncateJournal: 4 }));
    const followed = await follow();
    const { point, records } = must(await seen(followed));
    expect(records).toEqual(['4:r4']);
    await appendAll(file, [5]);
    expect(must(await seen(followed, point)).records).toEqual(['5:r5']);
  });
});

describe('the states that a follower holds', () => {
  test('are limited: then the oldest is given up', async () => {
    const file = await createStore().open('file', 'create');
    const followed = await follow({ maxHolds: 2 });
    const states: FollowedState[] = [];
    for (const number of [2, 3, 4]) {
      await file.commit(relaxed({ head: `head ${number}`, writePages: [{ number, value: `page ${number}` }] }));
      states.push(must(await followed.poll()));
      await file.commit(relaxed({ dropPages: [number] }));
    }
    const pages = () => Promise.all([2, 3, 4].map((number) => followed.read(number, 'text')));
    expect(await pages()).toEqual([undefined, 'page 3', 'page 4']);
    must(states[0]).release();
    must(states[1]).release();
    must(states[1]).release();
    expect(await pages()).toEqual([undefined, undefined, 'page 4']);
    must(states[2]).release();
    // This turn's own transaction is as old as the last poll.
    await expect.poll(pages, patient).toEqual([undefined, undefined, undefined]);
  });

  test('are given up, from the oldest on, if LMDB has no room for more readers', async () => {
    const file = await createStore().open('file', 'create');
    const followed = await follow({ maxHolds: 1000 });
    let { point } = must(await followed.poll());
    for (let number = 2; number < 300; number++) {
      await file.commit(relaxed({ writePages: [{ number, value: `page ${number}` }] }));
      await appendAll(file, [number]);
      const state = must(await followed.poll(point));
      expect([state.continues, state.records]).toEqual([true, [{ number, text: `r${number}` }]]);
      point = state.point;
      await file.commit(relaxed({ dropPages: [number] }));
    }
    expect(await followed.read(2, 'text')).toBe(undefined);
    for (let number = 200; number < 300; number++) expect(await followed.read(number, 'text')).toBe(`page ${number}`);
  });

  test('share a transaction until the owner commits to LMDB', async () => {
    const file = await createStore().open('file', 'create');
    await file.commit(relaxed({ head: 'head', writePages: [{ number: 2, value: 'page' }] }));
    const followed = await follow({ maxHolds: 2 });
    const states: FollowedState[] = [];
    for (let number = 2; number < 12; number++) {
      await appendAll(file, [number]);
      states.push(must(await followed.poll(states.at(-1)?.point)));
    }
    await file.commit(relaxed({ dropPages: [2] }));
    for (const { release } of states) {
      expect(await followed.read(2, 'text')).toBe('page');
      release();
    }
    await expect.poll(() => followed.read(2, 'text'), patient).toBe(undefined);
  });

  test('can be read while other files are used, and after compactions, and end then', async () => {
    const owner = createStore();
    const options = { maxOpenEnvironments: 1 };
    const store = createStore(folder, options);
    const files = await Promise.all(['file', 'other'].map((name) => owner.open(name, 'create')));
    for (const file of files)
      await file.commit(relaxed({ head: 'head', writePages: [{ number: 2, value: file.name }] }));
    const [first, other] = await Promise.all(['file', 'other'].map((name) => must(store.follow?.(name))));
    const held = must(await must(first).poll());
    await must(files[0]).commit(relaxed({ dropPages: [2], head: 'two', writePages: [{ number: 3, value: 'new' }] }));
    for (let round = 0; round < 3; round++) {
      await must(files[0]).compact?.();
      expect(must(await seen(must(first))).point.head).toBe('two');
      expect(await must(other).read(2, 'text')).toBe('other');
      expect(await must(first).read(2, 'text')).toBe('file');
      expect(await must(first).read(3, 'text')).toBe('new');
    }
    held.release();
    expect(await must(first).read(2, 'text')).toBe(undefined);
    expect(readdirSync(join(folder, 'file'))).toEqual(['data-4.mdb', 'data-4.mdb-lock']);
  });
});

describe('a follower', () => {
  test('sees a file without an owner, and changes nothing in it', async () => {
    await prepareClosed();
    const data = readFileSync(inside('data-1.mdb'));
    const { mtimeMs } = statSync(inside('data-1.mdb'));
    const names = readdirSync(join(folder, 'file'));
    const followed = await follow();
    const { point, records } = must(await seen(followed));
    expect([point, records]).toEqual([{ epoch: 1, head: 'head', record: 2 }, ['2:two']]);
    expect(await followed.read(2, 'text')).toBe('page');
    expect(await followed.size()).toBe(data.length);
    await followed.close();
    expect(readFileSync(inside('data-1.mdb')).equals(data)).toBe(true);
    expect(statSync(inside('data-1.mdb')).mtimeMs).toBe(mtimeMs);
    expect(readdirSync(join(folder, 'file'))).toEqual(names);
  });

  test('whose environment was closed for a while finds the file again', async () => {
    const owner = createStore();
    const files = await Promise.all(['file', 'other'].map((name) => owner.open(name, 'create')));
    for (const file of files) await file.commit(relaxed({ writePages: [{ number: 2, value: file.name }] }));
    const store = createStore(folder, { maxOpenEnvironments: 1 });
    const [first, other] = await Promise.all(['file', 'other'].map((name) => must(store.follow?.(name))));
    const { point } = must(await seen(must(first)));
    expect(await must(other).read(2, 'text')).toBe('other');
    await must(files[0]).compact?.();
    expect(await must(first).read(2, 'text')).toBe('file');
    expect(await must(other).read(2, 'text')).toBe('other');
    await must(files[0]).compact?.();
    await appendAll(must(files[0]), [2]);
    expect(must(await seen(must(first), point)).records).toEqual(['2:r2']);
  });

  test('reads a page that was written since it has read in this turn', async () => {
    const file = await createStore().open('file', 'create');
    const followed = await follow();
    for (let number = 2; number < 200; number++) {
      const written = file.commit(relaxed({ writePages: [{ number, value: 'page' }] }));
      expect(await followed.read(1, 'text')).toBe(undefined);
      await written;
      expect(await followed.read(number, 'text')).toBe('page');
    }
  });

  test('refuses a newer format', async () => {
    await prepareClosed();
    const root = open<string, string>({ path: inside('data-1.mdb'), noSubdir: true, maxDbs: 4 });
    const state = root.openDB<string, string>({ name: 'state', encoding: 'string', useVersions: true });
    await state.put('owner', '{"format":3}', 1);
    await root.close();
    await rejects('storage_newer_format', () => follow());
  });

  test('is closed with its store', async () => {
    await prepareClosed();
    const store = createStore();
    const followed = await must(store.follow?.('file'));
    expect(store.openFiles).toBe(1);
    await followed.poll();
    await store.close();
    await rejects('storage_closed', async () => followed.poll());
    await rejects('storage_closed', async () => followed.read(2, 'text'));
    expect(store.openFiles).toBe(0);
  });
});
