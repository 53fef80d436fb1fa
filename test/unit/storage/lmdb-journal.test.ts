import { appendFileSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { open } from 'lmdb';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { must } from '../../../src/base/shared/assert.ts';
import { decodeRecords, RecordEncoder } from '../../../src/storage/journal-record.ts';
import { copyFiles } from '../../../src/storage/lmdb/folder-copy.ts';
import { type JournalFunctions, systemFunctions } from '../../../src/storage/lmdb/journal-file.ts';
import { createLmdbPageStore } from '../../../src/storage/lmdb/lmdb-page-store.ts';
import type { Commit, PageFile, PageStore } from '../../../src/storage/page-store.ts';
import { rejects, relaxed, storedContent } from '../../conformance/storage/expectations.ts';
import { temporaryFolder } from './backends.ts';

let folder: string;
let stores: PageStore[];

beforeEach(async () => {
  folder = await temporaryFolder();
  stores = [];
});

afterEach(async () => {
  for (const store of stores) await store.close();
  await rm(folder, { recursive: true, force: true });
});

function createStore({ path = join(folder, 'now'), functions = systemFunctions } = {}): PageStore {
  const store = createLmdbPageStore(path, { functions });
  stores.push(store);
  return store;
}

function created(functions: Partial<JournalFunctions> = {}): Promise<PageFile> {
  return createStore({ functions: { ...systemFunctions, ...functions } }).open('file', 'create');
}

function append(number: number, text = `r${number}`): Commit {
  return relaxed({ journal: { number, text } });
}

/** A record that goes through LMDB, since it comes with a page. */
function appendWithPage(number: number): Commit {
  return relaxed({ journal: { number, text: `p${number}` }, writePages: [{ number: 2 * number, value: 'page' }] });
}

async function appendAll(file: PageFile, numbers: readonly number[]): Promise<void> {
  for (const number of numbers) await file.commit(append(number));
}

/** The store as a process that dies now leaves it. */
async function leftBehind(name = 'then'): Promise<{ readonly store: PageStore; readonly inside: string }> {
  const path = join(folder, name);
  await rm(path, { recursive: true, force: true });
  await cp(join(folder, 'now'), path, { recursive: true });
  return { store: createStore({ path }), inside: join(path, 'file') };
}

const inside = (): string => join(folder, 'now', 'file');

function segments(path = inside()): string[] {
  return readdirSync(path)
    .filter((name) => name.endsWith('.log'))
    .sort();
}

async function journalIn(store: PageStore): Promise<string[]> {
  return (await storedContent(store, 'file')).journal.map(([number, text]) => `${number}:${text}`);
}

async function openedJournal(): Promise<string[]> {
  return journalIn((await leftBehind()).store);
}

function failure(code: string): Error {
  return Object.assign(new Error('it broke'), { code });
}

describe('a journal record in a segment', () => {
  // The checksum was computed with Python's zlib.
  const BYTES = '4c475d15 02000000 0000000000001c40 c3a9';

  test('has checksum, length, number and text', () => {
    const bytes = Buffer.from(new RecordEncoder(crc32).encode({ number: 7, text: 'é' }));
    expect(bytes.toString('hex')).toBe(BYTES.replaceAll(' ', ''));
  });

  test('is read back whatever its text and number', () => {
    const records = ['', 'é', '🙂\n\u0000', 'x'.repeat(50_000), '中'.repeat(20_000)].map((text, index) => ({
      number: index === 0 ? Number.MAX_SAFE_INTEGER : index,
      text,
    }));
    const encoder = new RecordEncoder(crc32);
    const bytes = Buffer.concat(records.map((record) => Buffer.from(encoder.encode(record))));
    expect(decodeRecords(bytes, crc32).records).toEqual(records);
  });

  test('is not found if any single bit of it is changed, nor is a later one', () => {
    const encoder = new RecordEncoder(crc32);
    const [first, second, third] = [1, 2, 3].map((number) => Buffer.from(encoder.encode({ number, text: 'text' })));
    const bytes = Buffer.concat([must(first), must(second), must(third)]);
    const length = must(first).length;
    for (let at = length; at < 2 * length; at += 1) {
      for (let bit = 0; bit < 8; bit += 1) {
        const damaged = Buffer.from(bytes);
        damaged[at] = must(damaged[at]) ^ (1 << bit);
        expect(decodeRecords(damaged, crc32).records).toEqual([{ number: 1, text: 'text' }]);
      }
    }
  });

  test('is not found in zeros', () => {
    expect(decodeRecords(Buffer.alloc(1000), crc32).records).toEqual([]);
  });
});

describe('the journal of a dead process', () => {
  test('has commits of a single record without any write to LMDB', async () => {
    const file = await created();
    const before = readFileSync(join(inside(), 'data-1.mdb'));
    await appendAll(file, [2, 3, 4]);
    expect(readFileSync(join(inside(), 'data-1.mdb')).equals(before)).toBe(true);
    expect(segments()).toEqual(['journal-1-2.log']);
    expect(await openedJournal()).toEqual(['2:r2', '3:r3', '4:r4']);
  });

  test('is cut at a torn tail, and continues after the last complete record', async () => {
    const file = await created();
    await file.commit(append(2, 'a'));
    const firstEnd = statSync(join(inside(), 'journal-1-2.log')).size;
    await file.commit(append(3, 'b'));
    const end = statSync(join(inside(), 'journal-1-2.log')).size;
    expect([firstEnd, end]).toEqual([17, 34]);
    for (let bytes = 0; bytes <= end; bytes += 1) {
      const { store, inside: copy } = await leftBehind(`torn-${bytes}`);
      truncateSync(join(copy, 'journal-1-2.log'), bytes);
      const whole = [...(bytes >= 17 ? ['2:a'] : []), ...(bytes === 34 ? ['3:b'] : [])];
      const second = await store.open('file', 'open');
      expect(second.opening.journal.map(({ number, text }) => `${number}:${text}`)).toEqual(whole);
      const number = second.opening.nextJournal;
      expect(number).toBe(whole.length + 3);
      await second.commit(append(number));
      await second.close();
      expect(await journalIn(store)).toEqual([...whole, `${number}:r${number}`]);
    }
  });

  test('with any damaged byte of a record stops the opening, and accepting the loss keeps earlier records', async () => {
    await appendAll(await created(), [2, 3, 4]);
    for (let at = 0; at < 54; at += 1) {
      const { store, inside: copy } = await leftBehind(`damaged-${at}`);
      const bytes = readFileSync(join(copy, 'journal-1-2.log'));
      expect(bytes).toHaveLength(54);
      bytes[at] = must(bytes[at]) ^ 1;
      writeFileSync(join(copy, 'journal-1-2.log'), bytes);
      const number = 2 + Math.floor(at / 18);
      const place = `byte ${18 * (number - 2)} of journal-1-2.log`;
      for (let attempt = 1; attempt <= 2; attempt += 1) {
        await expect(store.open('file', 'open'), `byte ${at}`).rejects.toMatchObject({
          code: 'storage_corrupt',
          reason: expect.stringContaining(`record ${number} of its journal (${place})`),
        });
      }
      const accepted: unknown[] = [];
      const accepting = createLmdbPageStore(join(folder, `damaged-${at}`), {
        onDamage: (_file, { number: dropped, place: where, behind }) =>
          void accepted.push([dropped, where, behind.map((record) => record.number)]),
      });
      stores.push(accepting);
      expect(await journalIn(accepting)).toEqual(['2:r2', '3:r3', '4:r4'].slice(0, number - 2));
      expect(accepted).toEqual([[number, place, [3, 4].filter((behind) => behind > number)]]);
      // From then on it is as if the record had never been written.
      const again = createStore({ path: join(folder, `damaged-${at}`) });
      const later = await again.open('file', 'open');
      await later.commit(append(later.opening.nextJournal, 'new'));
      await later.close();
      expect((await journalIn(again)).at(-1)).toMatch(/:new$/);
    }
  });

  test('with a last record of which a sector was never written counts as a power cut, not damage', async () => {
    const file = await created();
    await file.commit(append(2, 'a'));
    await file.commit(append(3, 'b'.repeat(3_000)));
    for (const [from, to] of [
      [17, 512],
      [1_024, 1_536],
      [2_560, 3_033],
      [17, 3_033],
    ] as const) {
      const { store, inside: copy } = await leftBehind(`zeros-${from}-${to}`);
      const path = join(copy, 'journal-1-2.log');
      const bytes = readFileSync(path);
      expect(bytes).toHaveLength(3_033);
      writeFileSync(path, bytes.fill(0, from, to));
      expect(await journalIn(store)).toEqual(['2:a']);
    }
  });

  test('stops the opening if the data file lacks a record and a segment has later ones', async () => {
    const file = await created();
    await file.commit(append(2));
    await file.commit(appendWithPage(3));
    await file.commit(append(4));
    const { store, inside: copy } = await leftBehind();
    const root = open<string, string>({ path: join(copy, 'data-1.mdb'), noSubdir: true, maxDbs: 4 });
    await root.openDB<string, number>({ name: 'journal', encoding: 'string' }).remove(3);
    await root.close();
    await expect(store.open('file', 'open')).rejects.toMatchObject({
      code: 'storage_corrupt',
      reason: expect.stringContaining('record 3 of its journal (the data file, which lacks it)'),
    });
  });

  test('has records in LMDB and in segments in one order', async () => {
    const file = await created();
    await file.commit(append(2));
    await file.commit(appendWithPage(3));
    await file.commit(append(4, 'x'.repeat(100_000)));
    await file.commit(append(5));
    await file.commit(appendWithPage(6));
    expect((await openedJournal()).map((text) => text.slice(0, 5))).toEqual(['2:r2', '3:p3', '4:xxx', '5:r5', '6:p6']);
  });

  test("ends at a missing number, and later records don't come back", async () => {
    const file = await created();
    await file.commit(append(2));
    await file.commit(append(3));
    await file.commit(appendWithPage(4));
    await file.commit(append(5));
    const { store, inside: copy } = await leftBehind();
    truncateSync(join(copy, 'journal-1-2.log'), 18);
    const second = await store.open('file', 'open');
    expect(second.opening.journal).toEqual([{ number: 2, text: 'r2' }]);
    await second.commit(relaxed({ truncateJournal: 3 }));
    await second.commit(append(second.opening.nextJournal));
    await second.close();
    expect(await journalIn(store)).toEqual(['4:r4']);
  });

  test('is found after several owners died, in segments of each', async () => {
    let path = join(folder, 'now');
    const expected: string[] = [];
    for (let round = 1; round <= 5; round += 1) {
      const file = await createStore({ path }).open('file', round === 1 ? 'create' : 'open');
      expect(file.opening.journal.map(({ text }) => text)).toEqual(expected);
      const number = file.opening.nextJournal;
      for (const [step, text] of [`a${round}`, `b${round}`, `c${round}`].entries()) {
        if (step === 1)
          await file.commit({ ...appendWithPage(number + step), journal: { number: number + step, text } });
        else await file.commit(append(number + step, text));
        expected.push(text);
      }
      const next = join(folder, `round-${round}`);
      await cp(path, next, { recursive: true });
      path = next;
    }
    expect(segments(join(path, 'file'))).toHaveLength(5);
    const last = await createStore({ path }).open('file', 'open');
    expect(last.opening.journal.map(({ text }) => text)).toEqual(expected);
    await last.commit(relaxed({ head: 'all', truncateJournal: last.opening.nextJournal }));
    expect(segments(join(path, 'file'))).toEqual([]);
  });
});

describe('a truncation of the journal', () => {
  test('begins a new segment, and removes segments without kept records', async () => {
    const file = await created();
    await appendAll(file, [2, 3, 4]);
    await file.commit(relaxed({ truncateJournal: 4 }));
    expect(segments()).toEqual(['journal-1-2.log']);
    await appendAll(file, [5, 6]);
    expect(segments()).toEqual(['journal-1-2.log', 'journal-1-5.log']);
    expect(await openedJournal()).toEqual(['4:r4', '5:r5', '6:r6']);
    await file.commit(relaxed({ truncateJournal: 5 }));
    expect(segments()).toEqual(['journal-1-5.log']);
    expect(await openedJournal()).toEqual(['5:r5', '6:r6']);
    await file.commit(relaxed({ truncateJournal: 7 }));
    expect(segments()).toEqual([]);
    await file.commit(append(7));
    expect(segments()).toEqual(['journal-1-7.log']);
    expect(await openedJournal()).toEqual(['7:r7']);
  });

  test('followed by a crash lets the next opening remove the segments, whose records are gone', async () => {
    const file = await created({ remove: () => Promise.reject(failure('EACCES')) });
    await appendAll(file, [2, 3]);
    await file.commit(relaxed({ head: 'covers 2 and 3', truncateJournal: 4 }));
    expect(segments()).toEqual(['journal-1-2.log']);
    await appendAll(file, [4]);
    const { store, inside: copy } = await leftBehind();
    const second = await store.open('file', 'open');
    expect(second.opening.journal).toEqual([{ number: 4, text: 'r4' }]);
    expect(second.opening.head).toBe('covers 2 and 3');
    expect(segments(copy)).toEqual(['journal-1-4.log']);
  });

  test("repeated a hundred times with records after each doesn't accumulate segments", async () => {
    const file = await created();
    for (let number = 2; number < 202; number += 2) {
      await appendAll(file, [number, number + 1]);
      await file.commit(relaxed({ truncateJournal: number }));
    }
    expect(segments().length).toBeLessThanOrEqual(2);
    expect(await openedJournal()).toEqual(['200:r200', '201:r201']);
  });
});

describe('a stale owner of a journal', () => {
  test('leaves its segment unchanged', async () => {
    const first = await created();
    await appendAll(first, [2]);
    const second = await createStore().open('file', 'open');
    for (const durability of ['relaxed', 'strict'] as const) {
      await rejects('storage_fenced', () => first.commit({ ...append(3), durability }));
    }
    expect(statSync(join(inside(), 'journal-1-2.log')).size).toBe(18);
    await second.commit(append(4));
    await first.close();
    await second.close();
    expect(await journalIn(createStore())).toEqual(['2:r2', '4:r4']);
  });

  test("isn't read beyond its successor's claim, even if it writes later", async () => {
    await appendAll(await created(), [2]);
    const { store, inside: copy } = await leftBehind();
    const second = await store.open('file', 'open');
    await second.commit(append(4));
    await second.close();
    const encoder = new RecordEncoder(crc32);
    for (const number of [3, 4, 5]) {
      appendFileSync(join(copy, 'journal-1-2.log'), encoder.encode({ number, text: 'stale' }));
    }
    writeFileSync(join(copy, 'journal-1-3.log'), encoder.encode({ number: 3, text: 'stale' }));
    for (let round = 0; round < 2; round += 1) expect(await journalIn(store)).toEqual(['2:r2', '4:r4']);
  });

  test('gets storage_fenced if its successor removed its segment', async () => {
    const first = await created();
    await appendAll(first, [2]);
    const second = await createStore().open('file', 'open');
    await second.commit(relaxed({ truncateJournal: 4 }));
    expect(segments()).toEqual([]);
    await rejects('storage_fenced', () => first.commit(append(3)));
  });
});

describe('a disk that fails', () => {
  /** Takes `room` bytes, then nothing more. */
  function limited(room: number): { readonly disk: { room: number }; readonly functions: Partial<JournalFunctions> } {
    const disk = { room };
    const write: JournalFunctions['write'] = (descriptor, bytes, offset) => {
      if (disk.room === 0) throw failure('ENOSPC');
      const taken = systemFunctions.write(descriptor, bytes.subarray(0, offset + disk.room), offset);
      disk.room -= taken;
      return taken;
    };
    return { disk, functions: { write } };
  }

  test('by being full loses only the record, whose written part is removed, and works once there is room', async () => {
    for (let room = 18; room < 36; room += 1) {
      const name = `room-${room}`;
      const { disk, functions } = limited(room);
      const store = createStore({ functions: { ...systemFunctions, ...functions } });
      const file = await store.open(name, 'create');
      await file.commit(append(2));
      await rejects('storage_full', () => file.commit(append(3)));
      await rejects('storage_full', () => file.commit({ ...append(3), durability: 'strict' }));
      expect(statSync(join(folder, 'now', name, 'journal-1-2.log')).size).toBe(18);
      disk.room = 1000;
      await file.commit(append(3, 'at last'));
      await file.close();
      const { journal } = await storedContent(store, name);
      expect(journal).toEqual([
        [2, 'r2'],
        [3, 'at last'],
      ]);
    }
  });

  test('by being full when a segment is created fails the commit', async () => {
    let isFull = true;
    const file = await created({
      create: (path) => {
        if (isFull) throw failure('ENOSPC');
        return systemFunctions.create(path);
      },
    });
    await rejects('storage_full', () => file.commit(append(2)));
    isFull = false;
    await file.commit(append(2));
    expect(await openedJournal()).toEqual(['2:r2']);
  });

  test('by not removing a written part fails the journal, and the next opening cuts it off', async () => {
    const { disk, functions } = limited(25);
    const file = await created({
      ...functions,
      truncate: () => {
        throw failure('EIO');
      },
    });
    await file.commit(append(2));
    await rejects('storage_full', () => file.commit(append(3)));
    disk.room = 1000;
    await rejects('storage_failed', () => file.commit(append(3)));
    await rejects('storage_failed', () => file.commit(appendWithPage(3)));
    expect(statSync(join(inside(), 'journal-1-2.log')).size).toBe(25);
    const { store } = await leftBehind();
    const second = await store.open('file', 'open');
    expect(second.opening.journal).toEqual([{ number: 2, text: 'r2' }]);
    await second.commit(append(4));
    await second.close();
    expect(await journalIn(store)).toEqual(['2:r2', '4:r4']);
  });

  test('by a failed sync acknowledges nothing, and fails the journal', async () => {
    const file = await created({ sync: () => Promise.reject(failure('EIO')) });
    await file.commit(append(2));
    await rejects('storage_failed', () => file.commit({ ...append(3), durability: 'strict' }));
    await rejects('storage_failed', () => file.commit(append(4)));
    await rejects('storage_failed', () => file.commit(relaxed({ head: 'head' })));
    await file.close();
    expect((await storedContent(createStore(), 'file')).head).toBeUndefined();
  });

  // As file systems do that find room for what was written only later.
  test('by being full at a sync is not a refusal, as the record may come back', async () => {
    const file = await created({ sync: () => Promise.reject(failure('ENOSPC')) });
    await rejects('storage_failed', () => file.commit({ ...append(2), durability: 'strict' }));
    await file.close();
    expect(await journalIn(createStore())).toEqual(['2:r2']);
  });
});

describe('durability of the journal', () => {
  /** What the journal asked for, in order, without looks. */
  function logged(): { readonly log: string[]; readonly functions: Partial<JournalFunctions> } {
    const log: string[] = [];
    return {
      log,
      functions: {
        write: (...all) => {
          log.push('write');
          return systemFunctions.write(...all);
        },
        sync: async (descriptor) => {
          await systemFunctions.sync(descriptor);
          log.push('sync');
        },
        syncFolder: async (path) => {
          await systemFunctions.syncFolder(path);
          log.push('sync folder');
        },
      },
    };
  }

  test('syncs nothing for relaxed appends, and for a strict one the segment, and once its folder', async () => {
    const { log, functions } = logged();
    const file = await created(functions);
    await appendAll(file, [2, 3]);
    expect(log.splice(0)).toEqual(['write', 'write']);
    await file.commit({ ...append(4), durability: 'strict' });
    expect(log.splice(0)).toEqual(['write', 'sync', 'sync folder']);
    await file.commit({ ...append(5), durability: 'strict' });
    expect(log.splice(0)).toEqual(['write', 'sync']);
    await file.commit(append(6));
    await file.commit({ durability: 'strict' });
    expect(log.splice(0)).toEqual(['write', 'sync']);
    await file.commit({ durability: 'strict' });
    expect(log).toEqual([]);
  });

  test.each<{ name: string; commit: Commit; syncs: boolean }>([
    { name: 'a head', commit: relaxed({ head: 'head' }), syncs: true },
    { name: 'a record with a page', commit: appendWithPage(4), syncs: true },
    { name: 'a long record', commit: append(4, 'x'.repeat(70_000)), syncs: true },
    { name: 'a truncation that leaves the last record', commit: relaxed({ truncateJournal: 3 }), syncs: true },
    { name: 'strict pages', commit: { durability: 'strict', writePages: [{ number: 2, value: 'p' }] }, syncs: true },
    { name: 'pages', commit: relaxed({ writePages: [{ number: 2, value: 'p' }], dropPages: [4] }), syncs: false },
    { name: 'a head that covers all', commit: relaxed({ head: 'head', truncateJournal: 4 }), syncs: false },
  ])('$name after records that are not durable: syncs them first? $syncs', async ({ commit, syncs }) => {
    const { log, functions } = logged();
    const file = await created(functions);
    await appendAll(file, [2, 3]);
    log.length = 0;
    await file.commit(commit);
    expect(log).toEqual(syncs ? ['sync', 'sync folder'] : []);
  });

  test('prevents a commit after a failed sync', async () => {
    const file = await created({ sync: () => Promise.reject(failure('EIO')) });
    await appendAll(file, [2]);
    await rejects('storage_failed', () => file.commit(relaxed({ head: 'later' })));
    expect((await storedContent((await leftBehind()).store, 'file')).head).toBeUndefined();
  });

  test('includes all appended records after closing', async () => {
    const { log, functions } = logged();
    const file = await created(functions);
    await appendAll(file, [2]);
    await file.close();
    expect(log).toEqual(['write', 'sync', 'sync folder']);
  });
});

describe('the journal belongs to its file', () => {
  test('in its size', async () => {
    const file = await created();
    const before = await file.size();
    await file.commit(append(2, 'x'.repeat(984)));
    expect(await file.size()).toBe(before + 1000);
    await file.commit(relaxed({ truncateJournal: 3 }));
    expect(await file.size()).toBe(statSync(join(inside(), 'data-1.mdb')).size);
  });

  test('in a compaction, which keeps it', async () => {
    const file = await created();
    await appendAll(file, [2, 3]);
    await file.compact?.();
    await file.commit(append(4));
    expect(await openedJournal()).toEqual(['2:r2', '3:r3', '4:r4']);
  });

  test('in a backup, which has it and is independent', async () => {
    const file = await created();
    await file.commit(append(2));
    await file.commit(appendWithPage(3));
    await file.commit(append(4));
    await file.backup?.(join(folder, 'backups', 'file'));
    await file.commit(append(5));
    const backups = createStore({ path: join(folder, 'backups') });
    expect(await journalIn(backups)).toEqual(['2:r2', '3:p3', '4:r4']);
    expect(await openedJournal()).toEqual(['2:r2', '3:p3', '4:r4', '5:r5']);
  });

  test('in a copy of a folder in use, with its bytes counted', async () => {
    const file = await created();
    await appendAll(file, [2, 3]);
    const target = join(folder, 'copy');
    const copied = [];
    for await (const one of copyFiles(join(folder, 'now'), target, 'file')) copied.push(one);
    const { size } = statSync(join(target, 'file', 'data-1.mdb'));
    expect(copied).toEqual([{ file: 'file', bytes: size + 36, hasLostWrites: false }]);
    await file.commit(append(4));
    expect(await journalIn(createStore({ path: target }))).toEqual(['2:r2', '3:r3']);
  });

  test('in a copy whose data file is newer, which ends with the journal or with the head', async () => {
    const file = await created();
    await appendAll(file, [2, 3]);
    const early = readFileSync(join(inside(), 'journal-1-2.log'));
    await appendAll(file, [4]);
    await file.commit(appendWithPage(5));
    const { store, inside: copy } = await leftBehind();
    writeFileSync(join(copy, 'journal-1-2.log'), early);
    expect(await journalIn(store)).toEqual(['2:r2', '3:r3']);
    await file.commit(relaxed({ head: 'covers 4', truncateJournal: 5 }));
    const later = await leftBehind('later');
    writeFileSync(join(later.inside, 'journal-1-2.log'), early);
    expect(await journalIn(later.store)).toEqual(['5:p5']);
  });

  test('in a file that is destroyed and recreated, which has none of it', async () => {
    const store = createStore();
    await appendAll(await store.open('file', 'create'), [2, 3]);
    await store.destroy('file');
    const again = await store.open('file', 'create');
    expect(again.opening.journal).toEqual([]);
    await again.commit(append(2, 'new'));
    expect(await openedJournal()).toEqual(['2:new']);
  });

  test('in a folder removed by hand, where appends fail with storage_deleted', async () => {
    for (const hasSegment of [true, false]) {
      const file = await createStore().open('file', 'create');
      if (hasSegment) await file.commit(append(2));
      await rm(inside(), { recursive: true });
      await rejects('storage_deleted', () => file.commit(append(hasSegment ? 3 : 2)));
      await rejects('storage_deleted', () => file.read(2, 'text'));
      await file.close();
    }
  });
});

test('a file of format 1, with all records in LMDB, opens and works', async () => {
  await (await created()).close();
  const root = open<string, string>({ path: join(inside(), 'data-1.mdb'), noSubdir: true, maxDbs: 4 });
  const journal = root.openDB<string, number>({ name: 'journal', encoding: 'string' });
  const state = root.openDB<string, string>({ name: 'state', encoding: 'string', useVersions: true });
  for (const number of [2, 3, 5, 8]) await journal.put(number, `r${number}`);
  await state.put('owner', '{"format":1,"journalFloor":5}', 3);
  await root.close();
  const file = await createStore().open('file', 'open');
  expect(file.opening.epoch).toBe(4);
  expect(file.opening.journal.map(({ number }) => number)).toEqual([2, 3, 5]);
  await file.commit(append(file.opening.nextJournal));
  expect(await openedJournal()).toEqual(['2:r2', '3:r3', '5:r5', '7:r7']);
});
