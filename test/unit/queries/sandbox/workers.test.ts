import { afterEach, describe, expect, test, vi } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { Pending } from '../../../../src/base/shared/pending.ts';
import { nextTurn, TimeSlice } from '../../../../src/base/shared/turn.ts';
import type { Program, Reducer, Sandbox } from '../../../../src/queries/sandbox/contract.ts';
import { patient } from '../../../support/patience.ts';
import { InProcessWorkers } from './in-process-workers.ts';
import { createTestSandbox, openProgram, TickingClock } from './quickjs-files.ts';

let sandbox: Sandbox | undefined;

afterEach(() => {
  sandbox?.close();
  vi.useRealTimers();
});

function start(count = 2, memoryBytes?: number): { readonly sandbox: Sandbox; readonly workers: InProcessWorkers } {
  const workers = new InProcessWorkers(count);
  sandbox = createTestSandbox({ workers, memoryBytes });
  return { sandbox, workers };
}

const documents = (count: number): string[] => Array.from({ length: count }, (_, n) => `{"_id":"d${n}","n":${n}}`);
const emitting = 'function (doc) { emit(doc.n, null); }';
const slow = 'function (doc) { var until = Date.now() + 40; while (Date.now() < until); emit(doc.n); }';

/** Calls that workers were given for a function: what begins a program is none. */
const callsOf = (workers: InProcessWorkers): number =>
  workers.started.flatMap(({ received }) => received).filter((type) => type === 'call').length - 1;

/** Calls until one is run in this thread, once a worker has found the function quick. On a busy machine any call may take long. */
async function prove(workers: InProcessWorkers, call: () => Promise<unknown>): Promise<void> {
  for (let before = -1; before < callsOf(workers); ) {
    before = callsOf(workers);
    await call();
  }
}

test('another worker is started if calls wait for long, and not for quick calls', async () => {
  const { sandbox, workers } = start(2);
  const { program } = await openProgram(sandbox);
  const mapper = await program.mapper([emitting]);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const mapMany = () => Promise.all(Array.from({ length: 4 }, async () => mapper.map(documents(30))));
  await mapMany();
  expect(workers.started).toHaveLength(1);
  // The former wait ended with the last call.
  vi.advanceTimersByTime(99);
  const mapped = mapMany();
  await nextTurn();
  vi.advanceTimersByTime(99);
  expect(workers.started).toHaveLength(1);
  vi.advanceTimersByTime(1);
  expect(workers.started).toHaveLength(2);
  await mapped;
});

describe('a small call', () => {
  const twoShows = { s: 'function () { return "here"; }', other: 'function () { return "there"; }' };

  test('of an unknown function runs in a worker', async () => {
    const { sandbox, workers } = start(1);
    const { program } = await openProgram(sandbox, { shows: twoShows });
    expect((await program.show('s', 'null', '{}')).body).toBe('here');
    expect(must(workers.started[0]).received).toEqual(['start', 'open', 'call', 'call']);
  });

  test('of a function that was quick in a worker runs in this thread', async () => {
    const { sandbox, workers } = start(1);
    const { program } = await openProgram(sandbox, { shows: twoShows });
    await prove(workers, async () => program.show('s', 'null', '{}'));
    // The last of these calls was run in this thread, which says nothing of another function.
    const calls = callsOf(workers);
    expect((await program.show('other', 'null', '{}')).body).toBe('there');
    expect(callsOf(workers)).toBe(calls + 1);
  });

  test('of a function that was slow in a worker runs there again', async () => {
    const { sandbox, workers } = start(1);
    const { program } = await openProgram(sandbox, { shows: { s: 'function () { return "here"; }' } });
    const { program: slowProgram } = await openProgram(sandbox, {
      shows: { s: 'function () { var until = Date.now() + 15; while (Date.now() < until); }' },
    });
    await prove(workers, async () => program.show('s', 'null', '{}'));
    const calls = callsOf(workers);
    for (let n = 0; n < 3; n++) await slowProgram.show('s', 'null', '{}');
    expect(callsOf(workers)).toBe(calls + 3);
  });

  test('that exceeds its slice runs again in a worker, and must be quick there before the function runs here', async () => {
    const { sandbox, workers } = start(1);
    const show =
      'function (doc) { if (doc) { var until = Date.now() + 60; while (Date.now() < until); log("done"); } return "there"; }';
    const { program, messages } = await openProgram(sandbox, { shows: { s: show } });
    await prove(workers, async () => program.show('s', 'null', '{}'));
    const calls = callsOf(workers);
    expect((await program.show('s', '{}', '{}')).body).toBe('there');
    expect(messages).toEqual(['done']);
    expect(callsOf(workers)).toBe(calls + 1);
    expect((await program.show('s', 'null', '{}')).body).toBe('there');
    expect(callsOf(workers)).toBe(calls + 2);
  });

  test('of a reduce function runs in this thread once this thread has its sandbox', async () => {
    const { sandbox, workers } = start(1);
    const { program } = await openProgram(sandbox);
    const source = 'function () { return 7; }';
    const reduce = async () => {
      for (;;) {
        try {
          return (await program.reducer(source, 'true')).reduce([{ keys: '[]', values: '[1]' }]);
        } catch (error) {
          if (!(error instanceof Pending)) throw error;
          await error.ready;
        }
      }
    };
    // Until one is run in this thread.
    await prove(workers, async () => expect(await reduce()).toEqual(['7']));
  });

  test("fails at the program's time limit", async () => {
    const { sandbox } = start();
    const { program } = await openProgram(
      sandbox,
      { shows: { s: 'function () { while (true); }' } },
      { timeoutMs: 60 },
    );
    await expect(async () => program.show('s', 'null', '{}')).rejects.toMatchObject({
      reason: 'OS process timed out.',
    });
  });

  test('fails as in this thread', async () => {
    const { sandbox } = start();
    const wait = 'var until = Date.now() + 60; while (Date.now() < until);';
    const shows = {
      own: `function () { ${wait} throw ["error", "mine", "so"]; }`,
      render: `function () { ${wait} throw 1; }`,
    };
    const { program } = await openProgram(sandbox, { shows });
    await expect(async () => program.show('own', 'null', '{}')).rejects.toMatchObject({ word: 'mine', reason: 'so' });
    await expect(async () => program.show('render', 'null', '{}')).rejects.toMatchObject({ code: 'render_error' });
    await expect(async () => program.show('none', 'null', '{}')).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('map calls', () => {
  test('over many documents run in several workers at a time', async () => {
    const { sandbox, workers } = start();
    const { program } = await openProgram(sandbox);
    const mapper = await program.mapper([emitting]);
    expect(mapper.concurrency).toBe(4);
    const batches = await Promise.all([documents(30), documents(40), documents(50)].map((batch) => mapper.map(batch)));
    expect(batches.map(([rows]) => rows?.keys.length)).toEqual([30, 40, 50]);
    expect(workers.started.length).toBeGreaterThan(0);
  });

  test('that hang inside the engine lose their worker, and others run in another one', async () => {
    const { sandbox, workers } = start(1);
    const { program } = await openProgram(sandbox, {}, { timeoutMs: 5_000 });
    const mapper = await program.mapper([emitting]);
    await mapper.map(documents(30));
    const callsBefore = must(workers.started[0]).received.filter((type) => type === 'call').length;
    must(workers.started[0]).isStuck = true;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const results = [mapper.map(documents(30)), mapper.map(documents(31))];
    await vi.waitFor(
      () => expect(must(workers.started[0]).received.filter((type) => type === 'call')).toHaveLength(callsBefore + 2),
      patient,
    );
    // Once, so that the next worker has its time.
    vi.advanceTimersByTime(9_000);
    vi.useRealTimers();
    const [first, second] = await Promise.all(results);
    // The batch in which it was stuck is mapped again, document by document.
    expect(first?.[0]?.keys).toHaveLength(30);
    expect(second?.[0]?.keys).toHaveLength(31);
    expect(workers.started).toHaveLength(2);
    expect(must(workers.started[0]).isEnded).toBe(true);
  });

  test('that exhaust the memory lose their worker', async () => {
    const { sandbox, workers } = start(1, 96 * 1024 * 1024);
    const { program } = await openProgram(sandbox);
    const hungry = 'function () { var a = []; for (;;) a.push(new Array(1000000).join("x") + a.length); }';
    const mapper = await program.mapper([hungry]);
    expect(await mapper.map(documents(1))).toEqual([{ counts: [0], keys: [], values: [], leftOut: [0] }]);
    const other = await openProgram(sandbox);
    expect((await (await other.program.mapper([slow])).map(documents(2)))[0]?.keys).toEqual(['0', '1']);
    expect(workers.started.length).toBeGreaterThan(1);
    expect(must(workers.started[0]).isEnded).toBe(true);
  });
});

test('reductions in one turn hold the thread for at most 40 ms together, and then run in a worker', async () => {
  const { sandbox, workers } = start(1);
  const { program } = await openProgram(sandbox);
  const reducers: Reducer[] = [];
  for (let n = 0; n < 20; n++) {
    const source = `function () { var until = Date.now() + 7; while (Date.now() < until); return ${n}; }`;
    reducers.push(await program.reducer(source, 'true'));
  }
  /** What is left to a worker. */
  const reduceAll = (values: string): Promise<void>[] => {
    const pending: Promise<void>[] = [];
    for (const reducer of reducers) {
      try {
        reducer.reduce([{ keys: '[]', values }]);
      } catch (error) {
        if (!(error instanceof Pending)) throw error;
        pending.push(error.ready);
      }
    }
    return pending;
  };
  // A worker finds them quick, and this thread has a sandbox then.
  await Promise.all(reduceAll('[1]'));
  await Promise.all(reduceAll('[2]'));
  await nextTurn();
  // Long work has the turn.
  new TimeSlice();
  const before = callsOf(workers);
  const pending = reduceAll('[3]');
  // All of them would take 140 ms.
  expect(pending.length).toBeGreaterThanOrEqual(12);
  await Promise.all(pending);
  expect(must(reducers[19]).reduce([{ keys: '[]', values: '[3]' }])).toEqual(['19']);
  expect(callsOf(workers)).toBe(before + pending.length);
});

describe('a list in a worker', () => {
  const list = { lists: { l: 'function () { var row; while (row = getRow()) send(row); }' } };

  test('waits there for its rows', async () => {
    const { sandbox, workers } = start(1);
    const { program } = await openProgram(sandbox, list);
    const rows = ['["a","b"]', '["c"]'];
    const chunks: string[] = [];
    for await (const chunk of (await program.list('l', '{}', '{}', { next: () => rows.shift() })).chunks())
      chunks.push(chunk);
    expect(chunks.join('')).toBe('abc');
    await vi.waitFor(() => expect(must(workers.started[0]).received.at(-1)).toBe('releaseList'), patient);
  });

  test('fails if its worker is lost', async () => {
    const { sandbox, workers } = start(1);
    const { program } = await openProgram(sandbox, list);
    const rows = ['["a"]', '["b"]', '["c"]'];
    const chunks = (await program.list('l', '{}', '{}', { next: () => rows.shift() })).chunks();
    expect((await chunks.next()).value).toBe('a');
    must(workers.started[0]).crash();
    await expect(chunks.next()).rejects.toMatchObject({ code: 'os_process_error' });
  });
});

test('if no worker can be started everything runs in this thread, with a tenth of the time limit', async () => {
  const ticking = new TickingClock();
  const workers = new InProcessWorkers(2);
  sandbox = createTestSandbox({ workers, clock: ticking });
  workers.failure = new Error('refused by a policy');
  const { program } = await openProgram(sandbox);
  expect((await (await program.mapper([emitting])).map(documents(50)))[0]?.keys).toHaveLength(50);
  await expectTenthOfTime(sandbox, ticking, (endless) => endless.show('s', 'null', '{}'));
  expect(workers.unavailable).toEqual([workers.failure]);
});

test('without workers and with requests answered in this thread, limits are a tenth', async () => {
  const ticking = new TickingClock();
  sandbox = createTestSandbox({ sharesThread: true, clock: ticking });
  await expectTenthOfTime(sandbox, ticking, (program) => program.show('s', 'null', '{}'));
  await expectTenthOfTime(sandbox, ticking, (program) => program.list('l', '{}', '{}', { next: () => undefined }));
});

/** A function without an end is stopped after a tenth of the time that its program has. */
async function expectTenthOfTime(within: Sandbox, clock: TickingClock, call: (program: Program) => unknown) {
  const endless = 'function () { while (true); }';
  const design = { shows: { s: endless }, lists: { l: endless } };
  const { program } = await openProgram(within, design, { timeoutMs: 10_000 });
  const begun = clock.time;
  await expect(async () => call(program)).rejects.toMatchObject({ code: 'os_process_error' });
  expect(clock.time - begun).toBeGreaterThanOrEqual(1_000);
  expect(clock.time - begun).toBeLessThan(2_000);
}

test('starting a worker is tried again after a minute', async () => {
  const workers = new InProcessWorkers(1);
  let now = 0;
  sandbox = createTestSandbox({ workers, clock: { now: () => Date.now(), monotonic: () => performance.now() + now } });
  workers.failure = new Error('out of reach');
  const { program } = await openProgram(sandbox);
  const mapper = await program.mapper([emitting]);
  await mapper.map(documents(30));
  workers.failure = undefined;
  await mapper.map(documents(30));
  expect(workers.started).toHaveLength(0);
  expect(mapper.concurrency).toBe(1);
  now = 61_000;
  expect((await mapper.map(documents(30)))[0]?.keys).toHaveLength(30);
  expect(workers.started).toHaveLength(1);
  expect(mapper.concurrency).toBe(2);
});

describe('an idle worker', () => {
  test('is ended after a minute, and started again when needed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { sandbox, workers } = start(1);
    const { program } = await openProgram(sandbox);
    const mapper = await program.mapper([emitting]);
    await mapper.map(documents(30));
    vi.advanceTimersByTime(59_000);
    await mapper.map(documents(30));
    vi.advanceTimersByTime(59_000);
    expect(must(workers.started[0]).isEnded).toBe(false);
    vi.advanceTimersByTime(2_000);
    expect(must(workers.started[0]).isEnded).toBe(true);
    expect((await mapper.map(documents(30)))[0]?.keys).toHaveLength(30);
    expect(workers.started).toHaveLength(2);
  });

  test('is kept while a list waits in it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { sandbox, workers } = start(1);
    const list = { lists: { l: 'function () { var row; while (row = getRow()) send(row); }' } };
    const { program } = await openProgram(sandbox, list);
    const rows = ['["a"]', '["b"]'];
    const result = await program.list('l', '{}', '{}', { next: () => rows.shift() });
    vi.advanceTimersByTime(600_000);
    expect(must(workers.started[0]).isEnded).toBe(false);
    result.close();
    await vi.waitFor(() => {
      vi.advanceTimersByTime(61_000);
      expect(must(workers.started[0]).isEnded).toBe(true);
    }, patient);
  });
});

test('calls that wait when the sandbox is closed fail', async () => {
  const { sandbox, workers } = start(1);
  const { program } = await openProgram(sandbox);
  const mapper = await program.mapper([emitting]);
  await mapper.map(documents(30));
  must(workers.started[0]).isStuck = true;
  const waiting = mapper.map(documents(30));
  sandbox.close();
  await expect(waiting).rejects.toMatchObject({ code: 'shutting_down' });
});

describe('a long call', () => {
  const length = 'function (doc) { return doc.s.length + " " + doc.s.slice(-3); }';
  // A piece that is cut anywhere ends within a character.
  const long = (characters: number) => JSON.stringify({ s: '\u{1f600}'.repeat(characters / 2) });

  test('passes its texts unchanged', async () => {
    const { sandbox } = start(1);
    const { program } = await openProgram(sandbox, { shows: { s: length } });
    for (const characters of [3_000_000, 3_000_002]) {
      const { body } = await program.show('s', long(characters), '{"a":1}');
      expect(body).toBe(`${characters} ${'\u{1f600}\u{1f600}'.slice(-3)}`);
    }
  });

  test('waits while other calls pass as much as the limit', async () => {
    const { sandbox, workers } = start(2);
    const { program } = await openProgram(sandbox, { shows: { s: 'function () { return "here"; }' } });
    const text = JSON.stringify({ s: 'x'.repeat(9_000_000) });
    const before = callsOf(workers);
    let most = 0;
    const ended = [0, 1, 2].map(async () => {
      await program.show('s', text, '{}');
      most = Math.max(most, callsOf(workers) - before);
      return most;
    });
    // Each is passed when the one before it was answered.
    expect(await Promise.all(ended)).toEqual([1, 2, 3]);
  });

  test('of a validator has room for a document of 20 MB and the one that it replaces', async () => {
    const { sandbox } = start(1);
    const validate_doc_update = 'function (doc, old) { if (doc.s.length !== old.s.length) throw { forbidden: "no" }; }';
    const { program } = await openProgram(sandbox, { validate_doc_update });
    const document = JSON.stringify({ s: 'x'.repeat(20_000_000) });
    const write = { newDocument: document, oldDocument: document, userContext: '{}', securityObject: '{}' };
    expect(await program.validate([write])).toEqual([undefined]);
  });

  test('that needs much memory releases it by ending its worker, which is replaced', async () => {
    const { sandbox, workers } = start(1);
    const show = 'function (doc) { return doc.n ? "" + new Array(doc.n).join("x").length : "small"; }';
    const { program } = await openProgram(sandbox, { shows: { s: show } });
    expect((await program.show('s', '{"n":0}', '{}')).body).toBe('small');
    expect(workers.started.map(({ isEnded }) => isEnded)).toEqual([false]);
    expect((await program.show('s', '{"n":40000000}', '{}')).body).toBe('39999999');
    expect((await program.show('s', '{"n":0}', '{}')).body).toBe('small');
    expect(workers.started.map(({ isEnded }) => isEnded)).toEqual([true, false]);
  });
});
