import { describe, expect, test } from 'vitest';
import type { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import type { MaybePromise } from '../../../../src/base/shared/maybe-promise.ts';
import type { StoredDatabase } from '../../../../src/database/store/stored-database.ts';
import { Bench, put, settle, TINY, TINY_PAGES } from './harness.ts';

/** What becomes of a promise that nothing but turns of the event loop stands in the way of. */
async function fateOf(promise: Promise<unknown>): Promise<string> {
  let fate = 'hangs';
  promise.then(
    () => {
      fate = 'done';
    },
    (error: DatabaseError) => {
      fate = error.code;
    },
  );
  await settle();
  return fate;
}

type Moment = 'beforeCommit' | 'afterCommit';

/** What becomes of a compaction and of a write beside it when the n-th commit from then on does something. */
async function fatesAround(at: number, moment: Moment, what: (db: StoredDatabase) => MaybePromise<void>) {
  let left = Number.POSITIVE_INFINITY;
  let opened: StoredDatabase | undefined;
  const hook = async (): Promise<void> => {
    if (--left === 0 && opened !== undefined) await what(opened);
  };
  const db = await new Bench({ settings: TINY, supports: TINY_PAGES, hooks: { [moment]: hook } }).open();
  opened = db;
  for (let index = 0; index < 20; index++) {
    const first = await put(db, `d${index}`, { body: `{"t":"${'x'.repeat(200)}"}` });
    await put(db, `d${index}`, { rev: first, body: '{"n":2}' });
  }
  await settle();
  left = at;
  const fates = await Promise.all([fateOf(db.compact()), fateOf(put(db, 'late'))]);
  return { db, happened: left <= 0, fates };
}

describe.each(['beforeCommit', 'afterCommit'] as const)('during a compaction (%s)', (moment) => {
  test("deleting the database ends the compaction, and isn't delayed", async () => {
    for (let at = 1; ; at++) {
      let gone: Promise<void> | undefined;
      const { happened, fates } = await fatesAround(at, moment, (db) => {
        gone = db.discard();
      });
      if (!happened || gone === undefined) return expect(at).toBeGreaterThan(5);
      expect(await fateOf(gone), `deleted at commit ${at}`).toBe('done');
      expect(fates, `deleted at commit ${at}`).not.toContain('hangs');
    }
  });

  test('a failed commit ends the compaction, and the database can be closed and reopened', async () => {
    for (let at = 1; ; at++) {
      const { db, happened, fates } = await fatesAround(at, moment, () => {
        throw new Error('A test failure');
      });
      if (!happened) return expect(at).toBeGreaterThan(5);
      expect(fates, `failed at commit ${at}`).not.toContain('hangs');
      expect(await fateOf(db.close()), `failed at commit ${at}`).not.toBe('hangs');
    }
  });
});
