import { describe, expect, test } from 'vitest';
import { DatabaseError } from '../../src/base/errors/database-error.ts';
import type { Commit, PageFile, PageStore } from '../../src/storage/page-store.ts';
import { type FileContent, relaxed, storedContent } from '../conformance/storage/expectations.ts';
import type { StorageContext } from '../conformance/storage/suite.ts';
import { createFaultStore, type FaultOptions, StoppedError } from '../support/fault-store.ts';
import { backends } from '../unit/storage/backends.ts';

/**
 * A workload is run once for each of its operations, with a fault at that one. Afterwards a new store opens the file, as
 * after a restart: it must hold every commit that was acknowledged, in order, and at most the one that was in flight
 * besides, wholly.
 *
 *     commits     1 2 3 4 5 …
 *     acknowledged ─────┘ └ in flight: there or not
 */
const BEFORE_REOPENING: readonly Commit[] = [
  relaxed({ journal: { number: 2, text: 'two' } }),
  relaxed({ writePages: [{ number: 2, value: 'p2' }] }),
  relaxed({
    journal: { number: 3, text: 'three' },
    writePages: [{ number: 3, value: new Uint8Array([3]) }],
    head: 'a',
  }),
  { durability: 'strict', truncateJournal: 3, head: 'b' },
];
const AFTER_REOPENING: readonly Commit[] = [
  relaxed({ dropPages: [2] }),
  relaxed({ journal: { number: 5, text: 'five' } }),
  relaxed({
    journal: { number: 6, text: 'six' },
    head: 'c',
    truncateJournal: 6,
    writePages: [{ number: 4, value: 'p4' }],
  }),
  { durability: 'strict' },
  relaxed({ truncateJournal: 7 }),
];

const P2 = [2, 'p2'] as const;
const P3 = [3, [3]] as const;
const THREE = [3, 'three'] as const;

/** What the file holds after the first n commits, n from 0. */
const STATES: readonly FileContent[] = [
  { head: undefined, journal: [], pages: [] },
  { head: undefined, journal: [[2, 'two']], pages: [] },
  { head: undefined, journal: [[2, 'two']], pages: [P2] },
  { head: 'a', journal: [[2, 'two'], THREE], pages: [P2, P3] },
  { head: 'b', journal: [THREE], pages: [P2, P3] },
  { head: 'b', journal: [THREE], pages: [P3] },
  { head: 'b', journal: [THREE, [5, 'five']], pages: [P3] },
  { head: 'c', journal: [[6, 'six']], pages: [P3, [4, 'p4']] },
  { head: 'c', journal: [[6, 'six']], pages: [P3, [4, 'p4']] },
  { head: 'c', journal: [], pages: [P3, [4, 'p4']] },
];

interface Progress {
  isCreated: boolean;
  acknowledged: number;
}

async function commitAll(file: PageFile, commits: readonly Commit[], progress: Progress): Promise<void> {
  for (const commit of commits) {
    await file.commit(commit);
    progress.acknowledged += 1;
  }
}

async function runWorkload(store: PageStore, progress: Progress): Promise<void> {
  const scratch = await store.open('scratch', 'create');
  const first = await store.open('file', 'create');
  progress.isCreated = true;
  await commitAll(first, BEFORE_REOPENING, progress);
  await first.read(2, 'text');
  await first.close();
  await scratch.commit(relaxed({ head: 'scratch' }));
  await store.destroy('scratch');
  await store.list();
  const second = await store.open('file', 'open');
  await second.isCurrent();
  await commitAll(second, AFTER_REOPENING.slice(0, 2), progress);
  await second.compact?.();
  await commitAll(second, AFTER_REOPENING.slice(2), progress);
  for await (const batch of second.pageNumbers(0)) expect(batch).toEqual([3, 4]);
  await second.size();
  await store.close();
}

/** Runs the workload into a fault, and checks what a restart finds. */
async function runInto(context: StorageContext, fault: FaultOptions, mayBeInFlight: boolean): Promise<unknown> {
  const progress: Progress = { isCreated: false, acknowledged: 0 };
  const outcome: unknown = await runWorkload(createFaultStore(context.createStore(), fault), progress).catch(
    (error: unknown) => error,
  );
  const restarted = context.createStore();
  const files = await restarted.list();
  if (!progress.isCreated) {
    if (!files.includes('file')) return outcome;
    expect(mayBeInFlight, 'a file is there whose creation failed').toBe(true);
  }
  const found = await storedContent(restarted, 'file');
  const allowed = [STATES[progress.acknowledged]];
  if (mayBeInFlight) allowed.push(STATES[progress.acknowledged + 1]);
  expect(allowed).toContainEqual(found);
  const owner = await restarted.open('file', 'open');
  await owner.commit(relaxed({ journal: { number: owner.opening.nextJournal, text: 'goes on' } }));
  await restarted.close();
  return outcome;
}

describe.each(backends)('$name', ({ factory }) => {
  async function inContext<T>(run: (context: StorageContext) => Promise<T>): Promise<T> {
    const context = await factory.create();
    const stores: PageStore[] = [];
    const createStore = (): PageStore => {
      const store = context.createStore();
      stores.push(store);
      return store;
    };
    try {
      return await run({ ...context, createStore });
    } finally {
      for (const store of stores) await store.close();
      await factory.dispose(context);
    }
  }

  async function countOperations(): Promise<number> {
    return inContext(async (context) => {
      const store = createFaultStore(context.createStore());
      const progress: Progress = { isCreated: false, acknowledged: 0 };
      await runWorkload(store, progress);
      expect(progress.acknowledged).toBe(STATES.length - 1);
      expect(await storedContent(context.createStore(), 'file')).toEqual(STATES.at(-1));
      return store.operations;
    });
  }

  test('a failure of any operation leaves exactly what was acknowledged', async () => {
    const operations = await countOperations();
    const error = new DatabaseError('storage_full', 'No space is left, says the test');
    for (let failAt = 1; failAt <= operations; failAt += 1) {
      const outcome = await inContext((context) => runInto(context, { failAt, error }, false));
      expect(outcome, `operation ${failAt}`).toBe(error);
    }
  });

  test.each(['before', 'after'] as const)(
    'a crash at any operation, %s it took effect, leaves what was acknowledged and perhaps the operation in progress',
    async (stopped) => {
      const operations = await countOperations();
      for (let stopAt = 1; stopAt <= operations; stopAt += 1) {
        const outcome = await inContext((context) => runInto(context, { stopAt, stopped }, stopped === 'after'));
        expect(outcome, `operation ${stopAt}`).toBeInstanceOf(StoppedError);
      }
    },
  );
});

describe('the fault wrapper', () => {
  test('a store that hangs settles no operation after the stop', async () => {
    const context = await backends[0]?.factory.create();
    const store = createFaultStore(context?.createStore() ?? expect.unreachable(), { stopAt: 2, ending: 'hang' });
    await store.open('file', 'create');
    const settled: string[] = [];
    void store.list().finally(() => settled.push('list'));
    void store.open('file', 'open').finally(() => settled.push('open'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(settled).toEqual([]);
    expect(store.log).toEqual(['create file', 'list', 'open file']);
  });

  test('synchronous reads stay synchronous', async () => {
    const context = await backends[0]?.factory.create();
    const store = createFaultStore(context?.createStore() ?? expect.unreachable());
    const file = await store.open('file', 'create');
    await file.commit(relaxed({ writePages: [{ number: 2, value: 'two' }] }));
    expect(file.read(2, 'text')).toBe('two');
    expect(store.operations).toBe(3);
  });
});
