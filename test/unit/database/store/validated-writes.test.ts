import { describe, expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { parseDocId } from '../../../../src/database/documents/identifiers.ts';
import { parseRevId } from '../../../../src/database/documents/revisions/revisions.ts';
import type { DocumentWrite, WriteGuard, WriteOptions, WriteOutcome } from '../../../../src/database/store/contract.ts';
import { ValidatedWrites } from '../../../../src/database/store/writing/validated-writes.ts';

const EDITS: WriteOptions = { newEdits: true, durability: 'relaxed' };
const FORBIDDEN = new DatabaseError('forbidden', 'no');

function writeOf(id: string): DocumentWrite {
  return { id: parseDocId(id), rev: undefined, deleted: false, body: '{}' };
}

/** A guard that refuses ids with `bad` in them, and a writer that takes everything; `seen` is what happened, in order. */
function scene(isNeeded = true, isExclusive = false) {
  const seen: string[] = [];
  const guard: WriteGuard = {
    isNeeded,
    isExclusive,
    validate: async (writes) => {
      seen.push(`validate ${writes.map(({ id }) => id).join()}`);
      return writes.map(({ id }) => (id.includes('bad') ? FORBIDDEN : undefined));
    },
    designsChanged: () => seen.push('changed'),
  };
  const apply = async (writes: readonly DocumentWrite[]): Promise<WriteOutcome[]> => {
    seen.push(`apply ${writes.map(({ id }) => id).join()}`);
    return writes.map(({ id }) => ({ ok: true, id, rev: parseRevId('1-a'), deleted: false }));
  };
  const validated = new ValidatedWrites(guard, apply);
  const write = async (ids: string, options = EDITS) => {
    const outcomes = await validated.write(ids.split(' ').map(writeOf), options);
    return outcomes.map((outcome) => (outcome.ok ? outcome.id : `${outcome.id}: ${outcome.error.code}`));
  };
  return { seen, write };
}

describe('writes that a guard validates', () => {
  test('are applied unchanged if no validation applies', async () => {
    const { seen, write } = scene(false);
    expect(await write('a bad')).toEqual(['a', 'bad']);
    expect(seen).toEqual(['apply a,bad']);
  });

  test('reach the writer without the refused ones', async () => {
    const { seen, write } = scene();
    expect(await write('a bad b worse-bad c')).toEqual(['a', 'bad: forbidden', 'b', 'worse-bad: forbidden', 'c']);
    expect(seen).toEqual(['validate a,bad,b,worse-bad,c', 'apply a,b,c']);
  });

  test("don't reach the writer if all are refused", async () => {
    const { seen, write } = scene();
    expect(await write('bad')).toEqual(['bad: forbidden']);
    expect(seen).toEqual(['validate bad']);
  });

  test('fail together with allOrNothing', async () => {
    const { seen, write } = scene();
    expect(await write('a bad b', { ...EDITS, allOrNothing: true })).toEqual([
      'a: cancelled',
      'bad: forbidden',
      'b: cancelled',
    ]);
    expect(seen).toEqual(['validate a,bad,b']);
  });

  test('of an exclusive guard are validated one after another, each after the previous one is written', async () => {
    const { seen, write } = scene(true, true);
    expect(await Promise.all([write('a'), write('bad'), write('b')])).toEqual([['a'], ['bad: forbidden'], ['b']]);
    expect(seen).toEqual(['validate a', 'apply a', 'validate bad', 'validate b', 'apply b']);
    const { seen: beside, write: writeBeside } = scene(true, false);
    await Promise.all([writeBeside('a'), writeBeside('b')]);
    expect(beside).toEqual(['validate a', 'validate b', 'apply a', 'apply b']);
  });

  test.each([true, false])(
    'report changed design documents before they are acknowledged (guard needed: %s)',
    async (isNeeded) => {
      const { seen, write } = scene(isNeeded);
      await write('a _design/x');
      expect(seen.slice(-2)).toEqual(['apply a,_design/x', 'changed']);
    },
  );
});
