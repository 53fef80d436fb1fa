import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { open } from 'lmdb';
import { describe, expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { relaxed } from '../../../conformance/storage/expectations.ts';
import {
  append,
  appendAll,
  appendWithPage,
  created,
  createStore,
  inside,
  journalIn,
  leftBehind,
  openedJournal,
  segments,
} from './journal-folder.ts';
import { folder, useStoreFolder } from './stores.ts';

useStoreFolder();

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
      const accepting = createStore({
        path: join(folder, `damaged-${at}`),
        onDamage: (_file, { number: dropped, place: where, behind }) =>
          void accepted.push([dropped, where, behind.map((record) => record.number)]),
      });
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
