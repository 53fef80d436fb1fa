import { describe, expect, test } from 'vitest';
import { DatabaseError, isDatabaseError } from '../../src/base/errors/database-error.ts';
import type { StoredDatabase } from '../../src/database/store/stored-database.ts';
import { createFaultStore, type FaultStore } from '../support/fault-store.ts';
import { type Bench, put } from '../unit/database/store/harness.ts';
import { look, runUndisturbed, SCRIPT, type Step, stepOf, workBench } from './database-workload.ts';

/** The names of all operations of an undisturbed run, up to its close. */
async function listOperations(): Promise<readonly string[]> {
  let store: FaultStore | undefined;
  const bench = workBench({
    wrap: (inner) => {
      store = createFaultStore(inner);
      return store;
    },
  });
  const db = await bench.open();
  for (const step of SCRIPT) await step.run(db);
  const log = [...(store?.log ?? [])];
  await db.close();
  return log;
}

function failing(failAt: number, error: Error, failOnly?: string): Bench {
  let isFirst = true;
  return workBench({
    wrap: (inner) => {
      // A store of a later opening has no fault: it is one failure in all.
      const store = isFirst ? createFaultStore(inner, { failAt, failOnly, error }) : inner;
      isFirst = false;
      return store;
    },
  });
}

async function attempt(step: Step, db: StoredDatabase): Promise<unknown> {
  try {
    await step.run(db);
    return undefined;
  } catch (error) {
    return error;
  }
}

describe('a storage operation that fails', () => {
  test('for an unknown reason makes the database reopen, determine the outcome, and continue', async () => {
    const seen = await runUndisturbed();
    const operations = await listOperations();
    for (let failAt = 1; failAt <= operations.length; failAt++) {
      const bench = failing(failAt, new DatabaseError('storage_failed', `Operation ${failAt} of the test failed`));
      let db = await bench.open().catch(() => bench.open());
      for (let index = 0; index < SCRIPT.length; ) {
        const step = SCRIPT[index] as Step;
        const error = await attempt(step, db);
        if (error === undefined) {
          index++;
          continue;
        }
        const after = `failure of operation ${failAt} in step ${index} (${step.name})`;
        expect(error, after).toBeInstanceOf(DatabaseError);
        await db.close().catch(() => undefined);
        db = await bench.open();
        const found = await look(db);
        const reached = stepOf(seen, found, [index, index + 1]);
        if (reached === undefined) expect(found, after).toEqual(seen[index]);
        // A step that changes nothing is done again as well.
        index = reached ?? SCRIPT.length;
        if (JSON.stringify(seen[index]) === JSON.stringify(seen[index + 1])) index++;
      }
      await db.close().catch(() => undefined);
      const last = await bench.open();
      expect(await look(last), `failure of operation ${failAt}, after reopening`).toEqual(seen.at(-1));
      expect((await last.verify()).damage, `failure of operation ${failAt}`).toEqual([]);
      await last.close();
    }
  }, 240_000);

  test('because the medium is full leaves no trace of the refused request, and the same handle continues', async () => {
    const seen = await runUndisturbed();
    const operations = await listOperations();
    const commits = operations.filter((operation) => operation.includes('commit')).length;
    // Only what writes can find the medium full. The first commit is the opening's own.
    for (let failAt = 2; failAt <= commits; failAt++) {
      const error = new DatabaseError('storage_full', `No room for commit ${failAt} of the test`);
      const bench = failing(failAt, error, 'commit');
      const db = await bench.open();
      for (const [index, step] of SCRIPT.entries()) {
        const error = await attempt(step, db);
        if (error === undefined) continue;
        const after = `operation ${failAt} in step ${index} (${step.name})`;
        expect(error, after).toMatchObject({ code: 'storage_full' });
        expect(await look(db), after).toEqual(seen[index]);
        expect(await attempt(step, db), after).toBeUndefined();
      }
      expect(await look(db), `operation ${failAt}`).toEqual(seen.at(-1));
      expect((await db.verify()).damage, `operation ${failAt}`).toEqual([]);
      expect(bench.failures).toEqual([]);
      await db.close().catch((error: unknown) => expect(error).toMatchObject({ code: 'storage_full' }));
      const last = await bench.open();
      expect(await look(last), `operation ${failAt}, after reopening`).toEqual(seen.at(-1));
      expect((await last.verify()).damage).toEqual([]);
      await last.close();
    }
  }, 240_000);
});

describe('a medium that stays full for a while', () => {
  /** Refuses commits while `isFull`, and counts the attempts. */
  function fillable() {
    const state = { isFull: false, attempts: 0, commits: 0 };
    const hooks = {
      beforeCommit: () => {
        state.commits++;
        if (!state.isFull) return;
        state.attempts++;
        throw new DatabaseError('storage_full', 'The test medium is full');
      },
    };
    return { state, bench: workBench({ hooks }) };
  }

  test('refuses requests one by one, serves reads without busy loops, and works again once there is space', async () => {
    const seen = await runUndisturbed();
    for (let from = 1; from < SCRIPT.length; from += 2) {
      const { state, bench } = fillable();
      const db = await bench.open();
      for (const [index, step] of SCRIPT.entries()) {
        if (index === from) {
          state.isFull = true;
          for (let times = 0; times < 10; times++) {
            state.attempts = 0;
            const error = await attempt(step, db);
            expect(error === undefined || isDatabaseError(error, 'storage_full'), `${step.name}: ${error}`).toBe(true);
            expect(state.attempts).toBeLessThan(6);
            expect(await look(db)).toEqual(seen[from]);
          }
          state.isFull = false;
        }
        await step.run(db);
        expect(await look(db), step.name).toEqual(seen[index + 1]);
      }
      expect((await db.verify()).damage).toEqual([]);
      expect(bench.failures).toEqual([]);
      await db.close();
    }
  }, 120_000);

  test('for checkpoints only has writes refused before journal and memory exceed their limits', async () => {
    let isFull = true;
    const bench = workBench({
      hooks: {
        beforeCommit: (commit) => {
          if (isFull && commit.writePages !== undefined) throw new DatabaseError('storage_full', 'No room for pages');
        },
      },
    });
    const db = await bench.open({ journalRecords: 20, journalBytes: 1e6, dirtyBytes: 1e6 });
    const outcomes: string[] = [];
    for (let index = 0; index < 200; index++) {
      outcomes.push(
        await put(db, `d${index}`).then(
          () => 'ok',
          (error: DatabaseError) => error.code,
        ),
      );
    }
    expect(outcomes.indexOf('storage_full')).toBe(30);
    expect(new Set(outcomes.slice(30))).toEqual(new Set(['storage_full']));
    expect(bench.medium.files.get('file')?.journal.size).toBe(30);
    const crashed = await workBench({ medium: bench.medium.clone() }).open();
    expect((await crashed.info()).docCount).toBe(30);
    isFull = false;
    await put(db, 'again');
    expect((await db.info()).docCount).toBe(31);
    expect((await db.verify()).damage).toEqual([]);
    await db.close();
  });

  test('after a crash lets stored data be read, and writes work later', async () => {
    const { state, bench } = fillable();
    const first = await bench.open();
    await put(first, 'a');
    state.isFull = true;
    const db = await bench.open();
    expect((await db.info()).docCount).toBe(1);
    await expect(put(db, 'b')).rejects.toMatchObject({ code: 'storage_full' });
    state.isFull = false;
    await put(db, 'b');
    expect(db.updateSeq).toBeGreaterThan(10_000);
    expect((await db.verify()).damage).toEqual([]);
    await db.close();
  });

  test('leaves nothing of a thousand refused writes in memory or on the medium', async () => {
    const { state, bench } = fillable();
    const db = await bench.open();
    for (const step of SCRIPT) await step.run(db);
    await db.verify();
    const pages = bench.medium.files.get('file')?.pages.size;
    const { dataSize } = await db.info();
    state.isFull = true;
    const create = SCRIPT[1] as Step;
    for (let times = 0; times < 1_000; times++) {
      await expect(db.setSecurity(`{"n":${times}}`)).rejects.toMatchObject({ code: 'storage_full' });
      if (times % 10 === 0) await attempt(create, db);
    }
    state.isFull = false;
    expect((await db.verify()).damage).toEqual([]);
    expect(bench.medium.files.get('file')?.pages.size).toBe(pages);
    expect((await db.info()).dataSize).toBe(dataSize);
    await db.close();
  });
});
