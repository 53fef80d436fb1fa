import { describe, expect, test } from 'vitest';
import type { DatabaseUser, WriteGuard } from '../../../../src/database/store/contract.ts';
import type { StoredDatabase } from '../../../../src/database/store/stored-database.ts';
import { Bench, Gate, leavesOf, openGuarded, settle, toWrite } from './harness.ts';

type Asked = readonly [user: DatabaseUser | undefined, ids: readonly string[]];

/** A database whose writes are validated, which takes until the gate is opened. */
async function openJudged(bench: Bench, gate: Gate, asked: Asked[] = []): Promise<StoredDatabase> {
  const guard: WriteGuard = {
    isNeeded: true,
    validate: async (writes, { user }) => {
      asked.push([user, writes.map(({ id }) => id)]);
      await gate.opened;
      return writes.map(() => undefined);
    },
    designsChanged: () => undefined,
  };
  return openGuarded(bench, guard);
}

/** As many as are written without waiting for more. */
const MANY = Array.from({ length: 1_000 }, (_unused, index) => toWrite(`d${index}`));

describe('delayed writes that are being validated', () => {
  test('are written before a flush ends', async () => {
    const gate = new Gate();
    const db = await openJudged(new Bench(), gate);
    await db.writeDelayed(MANY);
    await settle();
    const flushed = db.flush();
    await settle();
    gate.open();
    await flushed;
    expect((await leavesOf(db, 'd999')).length).toBe(1);
    await db.close();
  });

  test('are written before the database is closed', async () => {
    const gate = new Gate();
    const bench = new Bench();
    const db = await openJudged(bench, gate);
    await db.writeDelayed(MANY);
    await settle();
    const closed = db.close();
    await settle();
    gate.open();
    await closed;
    expect(bench.logged).toEqual([]);
    const again = await new Bench({ medium: bench.medium }).open();
    expect((await leavesOf(again, 'd999')).length).toBe(1);
    await again.close();
  });

  test('are validated as writes of the user who sent them', async () => {
    const gate = new Gate();
    gate.open();
    const asked: Asked[] = [];
    const db = await openJudged(new Bench(), gate, asked);
    const ann = { name: 'ann', roles: [] };
    const bob = { name: 'bob', roles: ['staff'] };
    await db.writeDelayed([toWrite('a')], ann);
    await db.writeDelayed([toWrite('b')], bob);
    await db.writeDelayed([toWrite('c')], { ...ann });
    await db.writeDelayed([toWrite('d')]);
    await db.flush();
    expect(asked).toEqual([
      [ann, ['a', 'c']],
      [bob, ['b']],
      [undefined, ['d']],
    ]);
    for (const name of ['a', 'b', 'c', 'd']) expect(await leavesOf(db, name)).toHaveLength(1);
    await db.close();
  });
});
