import { expect, test } from 'vitest';
import { createFaultStore, type FaultStore } from '../support/fault-store.ts';
import type { Bench } from '../unit/database/store/harness.ts';
import { look, runUndisturbed, SCRIPT, stepOf, workBench } from './database-workload.ts';

/** Runs the script on a store that dies at its n-th operation. Gives how many steps were acknowledged. */
async function runUntilDeath(stopAt: number, stopped: 'before' | 'after') {
  let store: FaultStore | undefined;
  const bench: Bench = workBench({
    wrap: (inner) => {
      store = createFaultStore(inner, { stopAt, stopped });
      return store;
    },
  });
  let acknowledged = -1;
  try {
    const db = await bench.open();
    acknowledged = 0;
    for (const step of SCRIPT) {
      await step.run(db);
      acknowledged++;
    }
    await db.close();
  } catch {
    // The death; whatever it is told as.
  }
  return { bench, acknowledged, operations: store?.operations ?? 0 };
}

test.each(['before', 'after'] as const)(
  'a process that dies %s any storage operation loses no write, and leaves nothing half-done or damaged',
  async (stopped) => {
    const seen = await runUndisturbed();
    const { operations } = await runUntilDeath(Number.POSITIVE_INFINITY, stopped);
    expect(operations).toBeGreaterThan(80);
    for (let stopAt = 2; stopAt <= operations; stopAt++) {
      const { bench, acknowledged } = await runUntilDeath(stopAt, stopped);
      const after = `death ${stopped} operation ${stopAt} of ${operations}, ${acknowledged} steps done`;
      const survivor = workBench({ medium: bench.medium });
      const db = await survivor.open();
      const candidates = [Math.max(0, acknowledged), Math.max(0, acknowledged) + 1];
      const found = await look(db);
      if (stepOf(seen, found, candidates) === undefined) expect(found, after).toEqual(seen[Math.max(0, acknowledged)]);
      expect((await db.verify()).damage, after).toEqual([]);
      await db.close();
    }
  },
  240_000,
);

test('an owner that dies while its file is repaired leaves the same state to the next owner', async () => {
  const { bench } = await runUntilDeath(70, 'after');
  const first = await workBench({ medium: bench.medium.clone() }).open();
  const expected = await look(first);
  for (let stopAt = 2; stopAt < 40; stopAt++) {
    const medium = bench.medium.clone();
    const dying = workBench({ medium, wrap: (inner) => createFaultStore(inner, { stopAt, stopped: 'after' }) });
    await dying
      .open()
      .then((db) => db.compact())
      .catch(() => undefined);
    const next = await workBench({ medium }).open();
    expect(await look(next), `death at ${stopAt}`).toEqual(expected);
    expect((await next.verify()).damage).toEqual([]);
  }
});
