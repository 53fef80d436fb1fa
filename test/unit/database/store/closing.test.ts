import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import type { Commit } from '../../../../src/storage/page-store.ts';
import { noteTimers } from '../../../support/noted-timers.ts';
import { Bench, Gate, id, leavesOf, put, seeAll, settle, TINY, TINY_PAGES, toWrite } from './harness.ts';

const NEW_EDITS = { newEdits: true, durability: 'relaxed' } as const;
const FULL = new DatabaseError('storage_full', 'The test medium is full');

describe('closing', () => {
  test('makes every method fail with storage_closed', async () => {
    const db = await new Bench().open();
    await put(db, 'a');
    await db.close();
    const closed = { code: 'storage_closed' };
    await expect(db.write([toWrite('b')], NEW_EDITS)).rejects.toMatchObject(closed);
    await expect(db.info()).rejects.toMatchObject(closed);
    await expect(async () => db.readLocal(id('_local/x'))).rejects.toMatchObject(closed);
    await expect(db.writeLocal(id('_local/x'), undefined, '{}', { durability: 'relaxed' })).rejects.toMatchObject(
      closed,
    );
    await expect(db.setSecurity('{}')).rejects.toMatchObject(closed);
    await expect(db.setRevsLimit(3)).rejects.toMatchObject(closed);
    await expect(db.purge(new Map())).rejects.toMatchObject(closed);
    await expect(db.flush()).rejects.toMatchObject(closed);
    await expect(db.compact()).rejects.toMatchObject(closed);
    await expect(db.verify()).rejects.toMatchObject(closed);
    expect(() => db.snapshot()).toThrow(expect.objectContaining(closed));
    expect(() => db.writeDelayed([toWrite('b')])).toThrow(expect.objectContaining(closed));
    await expect(db.close()).resolves.toBeUndefined();
  });

  test('first commits accepted writes, in order', async () => {
    const bench = new Bench({ settings: TINY, supports: TINY_PAGES });
    const db = await bench.open();
    const writes = Array.from({ length: 30 }, (_unused, index) => put(db, `d${index}`));
    const closing = db.close();
    await expect(put(db, 'late')).rejects.toMatchObject({ code: 'storage_closed' });
    await Promise.all(writes);
    await closing;
    const again = await bench.open();
    expect((await seeAll(again)).changes).toEqual(writes.map((_write, index) => `${index + 1} d${index}`));
    await again.close();
  });

  test('ends a compaction early, and leaves a file without damage', async () => {
    const bench = new Bench({ settings: TINY, supports: TINY_PAGES });
    const db = await bench.open();
    for (let index = 0; index < 100; index++) {
      const first = await put(db, `d${index}`, { body: `{"t":"${'x'.repeat(200)}"}` });
      await put(db, `d${index}`, { rev: first, body: '{"n":2}' });
    }
    const compaction = db.compact().then(
      () => 'done',
      (error: DatabaseError) => error.code,
    );
    await Promise.resolve();
    await db.close();
    expect(['done', 'storage_closed']).toContain(await compaction);
    const again = await bench.open();
    expect((await again.verify()).damage).toEqual([]);
    expect((await seeAll(again)).docCount).toBe(100);
    await again.close();
  });

  test("doesn't wait for a snapshot that is still held", async () => {
    const bench = new Bench({ settings: TINY, supports: TINY_PAGES });
    const db = await bench.open();
    await put(db, 'a');
    const snapshot = db.snapshot();
    for (let index = 0; index < 20; index++) await put(db, `d${index}`);
    await db.close();
    snapshot.release();
    const again = await bench.open();
    expect((await again.verify()).damage).toEqual([]);
    await again.close();
  });
});

describe('closing while the medium is full', () => {
  /** Refuses everything while `full`; at most `limit` attempts, so that a loop fails the test and not the machine. */
  function fillable() {
    const state = { full: false, attempts: 0 };
    const beforeCommit = (_commit: Commit) => {
      if (!state.full) return;
      state.attempts++;
      if (state.attempts > 200) throw new Error('it spins');
      throw FULL;
    };
    return { state, bench: new Bench({ settings: TINY, supports: TINY_PAGES, hooks: { beforeCommit } }) };
  }

  test('ends, and the journal still has everything', async () => {
    const { state, bench } = fillable();
    const db = await bench.open({ journalRecords: 1_000, journalBytes: 1e9, dirtyBytes: 1e9 });
    for (let index = 0; index < 10; index++) await put(db, `d${index}`);
    state.full = true;
    await db.close();
    expect(state.attempts).toBeLessThan(10);
    state.full = false;
    const again = await bench.open();
    expect((await seeAll(again)).docCount).toBe(10);
    expect((await again.verify()).damage).toEqual([]);
    await again.close();
  });

  test('ends even if a compaction and a verification wait for space', async () => {
    const { state, bench } = fillable();
    const db = await bench.open({ journalRecords: 1_000, journalBytes: 1e9, dirtyBytes: 1e9 });
    for (let index = 0; index < 10; index++) await put(db, `d${index}`);
    state.full = true;
    const compaction = db.compact().catch((error: DatabaseError) => error.code);
    const verification = db.verify().then(
      (report) => report.damage,
      (error: DatabaseError) => error.code,
    );
    await settle();
    await db.close();
    expect(await compaction).toMatch(/^storage_(full|closed)$/);
    expect(JSON.stringify(await verification)).toMatch(/^(\[\]|"storage_closed")$/);
    expect(state.attempts).toBeLessThan(20);
  });
});

describe('timers', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  test('of an idle database store what its journal holds', async () => {
    const timers = noteTimers();
    const bench = new Bench();
    const db = await bench.open();
    await put(db, 'a');
    expect(bench.medium.files.get('file')?.journal.size).toBe(1);
    await vi.advanceTimersByTimeAsync(1_999);
    expect(bench.medium.files.get('file')?.journal.size).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    await settle();
    expect(bench.medium.files.get('file')?.journal.size).toBe(0);
    expect(timers.running).toEqual([]);
    await db.close();
  });

  test('start over when a database is written to', async () => {
    const bench = new Bench();
    const db = await bench.open();
    await put(db, 'a');
    await vi.advanceTimersByTimeAsync(1_500);
    await put(db, 'b');
    await vi.advanceTimersByTimeAsync(1_999);
    expect(bench.medium.files.get('file')?.journal.size).toBe(2);
    await vi.advanceTimersByTimeAsync(1);
    await settle();
    expect(bench.medium.files.get('file')?.journal.size).toBe(0);
    await db.close();
  });

  test('write delayed writes within a second', async () => {
    const db = await new Bench().open();
    await db.writeDelayed([toWrite('a')]);
    await vi.advanceTimersByTimeAsync(999);
    expect(db.updateSeq).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    await settle();
    expect((await leavesOf(db, 'a')).length).toBe(1);
    await db.close();
  });

  test('are removed by a close, also with writes in progress', async () => {
    const timers = noteTimers();
    const gate = new Gate();
    const bench = new Bench({ hooks: { beforeCommit: (commit) => (commit.journal ? gate.opened : undefined) } });
    const db = await bench.open();
    const write = put(db, 'a');
    await settle();
    const closing = db.close();
    gate.open();
    await Promise.all([write, closing]);
    expect(timers.running).toEqual([]);
  });

  test('are removed when a database fails', async () => {
    const timers = noteTimers();
    let broken = false;
    const bench = new Bench({
      hooks: {
        beforeCommit: () => {
          if (broken) throw new DatabaseError('storage_failed', 'The test medium broke');
        },
      },
    });
    const db = await bench.open();
    await put(db, 'a');
    expect(timers.running).toEqual([expect.stringContaining('upkeep.ts')]);
    broken = true;
    await expect(put(db, 'b')).rejects.toMatchObject({ code: 'storage_failed' });
    expect(bench.failures.length).toBe(1);
    await expect(put(db, 'c')).rejects.toMatchObject({ code: 'storage_failed' });
    await db.close();
    expect(timers.running).toEqual([]);
  });
});
