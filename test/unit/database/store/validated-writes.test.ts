import { describe, expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import type { WriteGuard, WriteOptions } from '../../../../src/database/store/contract.ts';
import { Bench, id, openGuarded, toWrite } from './harness.ts';

const EDITS: WriteOptions = { newEdits: true, durability: 'relaxed' };
const FORBIDDEN = new DatabaseError('forbidden', 'no');

/** A database whose guard refuses ids with `bad` in them; `seen` is what happened, in order. */
async function scene(isNeeded = true, isExclusive = false) {
  const seen: string[] = [];
  const guard: WriteGuard = {
    isNeeded,
    isExclusive,
    validate: async (writes) => {
      seen.push(`validate ${writes.map((write) => write.id).join()}`);
      return writes.map((write) => (write.id.includes('bad') ? FORBIDDEN : undefined));
    },
    designsChanged: () => seen.push('changed'),
  };
  const db = await openGuarded(new Bench(), guard);
  const unwritten = new Set<string>();
  db.onChange(() => {
    const written = [...unwritten].filter((name) => db.current(id(name)) !== undefined);
    for (const name of written) unwritten.delete(name);
    seen.push(`apply ${written.join()}`);
  });
  const write = async (ids: string, options = EDITS) => {
    const names = ids.split(' ');
    for (const name of names) unwritten.add(name);
    const outcomes = await db.write(
      names.map((name) => toWrite(name)),
      options,
    );
    return outcomes.map((outcome) => (outcome.ok ? outcome.id : `${outcome.id}: ${outcome.error.code}`));
  };
  return { seen, write };
}

describe('writes that a guard validates', () => {
  test('are applied unchanged if no validation applies', async () => {
    const { seen, write } = await scene(false);
    expect(await write('a bad')).toEqual(['a', 'bad']);
    expect(seen).toEqual(['apply a,bad']);
  });

  test('reach the writer without the refused ones', async () => {
    const { seen, write } = await scene();
    expect(await write('a bad b worse-bad c')).toEqual(['a', 'bad: forbidden', 'b', 'worse-bad: forbidden', 'c']);
    expect(seen).toEqual(['validate a,bad,b,worse-bad,c', 'apply a,b,c']);
  });

  test("don't reach the writer if all are refused", async () => {
    const { seen, write } = await scene();
    expect(await write('bad')).toEqual(['bad: forbidden']);
    expect(seen).toEqual(['validate bad']);
  });

  test('fail together with allOrNothing', async () => {
    const { seen, write } = await scene();
    expect(await write('a bad b', { ...EDITS, allOrNothing: true })).toEqual([
      'a: cancelled',
      'bad: forbidden',
      'b: cancelled',
    ]);
    expect(seen).toEqual(['validate a,bad,b']);
  });

  test('of an exclusive guard are validated one after another, each after the previous one is written', async () => {
    const { seen, write } = await scene(true, true);
    expect(await Promise.all([write('a'), write('bad'), write('b')])).toEqual([['a'], ['bad: forbidden'], ['b']]);
    expect(seen).toEqual(['validate a', 'apply a', 'validate bad', 'validate b', 'apply b']);
    const { seen: beside, write: writeBeside } = await scene(true, false);
    await Promise.all([writeBeside('a'), writeBeside('b')]);
    expect(beside).toEqual(['validate a', 'validate b', 'apply a', 'apply b']);
  });

  test.each([true, false])(
    'report changed design documents before they are acknowledged (guard needed: %s)',
    async (isNeeded) => {
      const { seen, write } = await scene(isNeeded);
      await write('a _design/x');
      expect(seen.slice(-2)).toEqual(['apply a,_design/x', 'changed']);
    },
  );
});
