import { describe, expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import type { Commit } from '../../../../src/storage/page-store.ts';
import { Bench, Gate, id, leavesOf, put, seeAll, settle, TINY_PAGES, toWrite } from './harness.ts';

const NEW_EDITS = { newEdits: true, durability: 'relaxed' } as const;

function watched(): { bench: Bench; journalled: Commit[]; hold: { gate: Gate | undefined } } {
  const journalled: Commit[] = [];
  const hold: { gate: Gate | undefined } = { gate: undefined };
  const beforeCommit = async (commit: Commit) => {
    if (commit.journal === undefined) return;
    journalled.push(commit);
    await hold.gate?.opened;
  };
  return { bench: new Bench({ hooks: { beforeCommit } }), journalled, hold };
}

describe('group commit', () => {
  test('commits a single write in its own turn, also a deletion', async () => {
    const commits: Commit[] = [];
    const db = await new Bench({ hooks: { beforeCommit: (commit) => void commits.push(commit) } }).open();
    await settle();
    commits.length = 0;
    let turns = 0;
    const takesNoTurn = async (write: Parameters<typeof put>[2]) => {
      const before = turns;
      setImmediate(() => {
        turns += 1;
      });
      const rev = await put(db, 'a', write);
      expect(turns).toBe(before);
      await settle();
      return rev;
    };
    const rev = await takesNoTurn({});
    await takesNoTurn({ rev, deleted: true, body: '{}' });
    expect(db.updateSeq).toBe(2);
    // Both were appended; a commit of the deletion would name the space that it may use.
    expect(commits.map(({ reserve }) => reserve)).toEqual([undefined, undefined]);
    await db.close();
  });

  test('joins further writes of one turn, numbered in order of arrival', async () => {
    const { bench, journalled } = watched();
    const db = await bench.open();
    const names = Array.from({ length: 50 }, (_unused, index) => `d${(index * 7) % 50}`);
    await Promise.all(names.map((name) => put(db, name)));
    expect(journalled.length).toBe(2);
    expect((await seeAll(db)).changes).toEqual(names.map((name, index) => `${index + 1} ${name}`));
    await db.close();
  });

  test('joins writes that arrive while a commit runs in the next commit', async () => {
    const { bench, journalled, hold } = watched();
    const db = await bench.open();
    hold.gate = new Gate();
    const first = put(db, 'first');
    await settle();
    const others = Array.from({ length: 20 }, (_unused, index) => put(db, `d${index}`));
    await settle();
    expect(journalled.length).toBe(1);
    expect(db.updateSeq).toBe(0);
    expect(await leavesOf(db, 'first')).toEqual([]);
    hold.gate.open();
    await Promise.all([first, ...others]);
    expect(journalled.length).toBe(2);
    await db.close();
  });

  test('is strict if one of its writes is', async () => {
    const { bench, journalled } = watched();
    const db = await bench.open();
    const strict = () => db.write([toWrite('b')], { newEdits: true, durability: 'strict' });
    await Promise.all([put(db, 'first'), put(db, 'a'), strict(), put(db, 'c')]);
    await put(db, 'd');
    expect(journalled.map((commit) => commit.durability)).toEqual(['relaxed', 'strict', 'relaxed']);
    await db.close();
  });

  test('ends a group at its limit of text', async () => {
    const { bench, journalled } = watched();
    const db = await bench.open({ groupBytes: 1_000 });
    const body = JSON.stringify({ text: 'x'.repeat(400) });
    await Promise.all(Array.from({ length: 7 }, (_unused, index) => put(db, `d${index}`, { body })));
    expect(journalled.length).toBe(4);
    await db.close();
  });

  test('refuses only the commit that the storage blocks for too long, and the following ones continue', async () => {
    const hold = { blocks: false, passes: 1 };
    const beforeCommit = (commit: Commit) => {
      if (commit.journal === undefined || !hold.blocks) return;
      if (hold.passes-- > 0) return;
      hold.blocks = false;
      throw new DatabaseError('storage_blocked', 'A test holds it');
    };
    const bench = new Bench({ hooks: { beforeCommit } });
    const db = await bench.open({ groupBytes: 1_000 });
    const body = JSON.stringify({ text: 'x'.repeat(400) });
    await put(db, 'first', { body });
    await settle();
    hold.blocks = true;
    // The first of them has a commit of its own.
    const all = Array.from({ length: 7 }, (_unused, index) => put(db, `d${index}`, { body }));
    const results = await Promise.allSettled(all);
    const told = results.map((result) => (result.status === 'fulfilled' ? 'ok' : result.reason.code));
    expect(told).toEqual(['ok', 'storage_blocked', 'storage_blocked', 'ok', 'ok', 'ok', 'ok']);
    await put(db, 'd1', { body });
    const changes = ['1 first', '2 d0', '3 d3', '4 d4', '5 d5', '6 d6', '7 d1'];
    expect((await seeAll(db)).changes).toEqual(changes);
    await db.close();
    const again = await bench.open();
    expect((await seeAll(again)).changes).toEqual(changes);
    await again.close();
  });

  test('of fifty writers of one document has exactly one success per revision, and answers every writer', async () => {
    const { bench } = watched();
    const db = await bench.open();
    let current: string | undefined;
    for (let round = 0; round < 5; round++) {
      const attempts = Array.from({ length: 50 }, (_unused, index) =>
        put(db, 'a', { body: `{"round":${round},"by":${index}}`, ...(current === undefined ? {} : { rev: current }) }),
      );
      const results = await Promise.allSettled(attempts);
      const won = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      const lost = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []));
      expect([won.length, lost.length, new Set(lost)]).toEqual([1, 49, new Set(['conflict'])]);
      [current] = won;
      expect(await leavesOf(db, 'a')).toEqual([`${current}={"round":${round},"by":0}`]);
    }
    expect(db.updateSeq).toBe(5);
    await db.close();
  });

  test('commits nothing for a group that changes nothing, and flushes if the group is strict', async () => {
    const commits: Commit[] = [];
    const bench = new Bench({ hooks: { beforeCommit: (commit) => void commits.push(commit) } });
    const db = await bench.open();
    await put(db, 'a');
    commits.length = 0;
    await expect(put(db, 'a')).rejects.toMatchObject({ code: 'conflict' });
    expect(commits).toEqual([]);
    expect(await db.flush()).toBe('1700000000000000');
    expect(commits).toEqual([{ durability: 'strict', reserve: 'deletions' }]);
    await db.close();
  });

  test("fails only for a document that can't be read, not for others of the same commit", async () => {
    const bench = new Bench({ supports: TINY_PAGES });
    const db = await bench.open();
    await db.write(
      Array.from({ length: 60 }, (_unused, index) => toWrite(`d${10 + index}`)),
      NEW_EDITS,
    );
    await db.close();
    const pages = bench.medium.files.get('file')?.pages ?? new Map();
    for (const [number, value] of pages) {
      if (typeof value === 'string' && value.includes('\nd10\t')) pages.delete(number);
    }
    const again = await bench.open({ cacheBytes: 0 });
    const results = await Promise.allSettled([
      put(again, 'new 1'),
      put(again, 'd10', { body: '{"other":1}' }),
      again.writeLocal(id('_local/x'), undefined, '{}', { durability: 'relaxed' }),
      put(again, 'd69', { rev: '1-00000000000000000000000000000000' }),
    ]);
    const codes = results.map((result) => (result.status === 'fulfilled' ? 'ok' : result.reason.code));
    expect(codes).toEqual(['ok', 'storage_corrupt', 'ok', 'conflict']);
    expect(bench.failures).toEqual([]);
  });
});
