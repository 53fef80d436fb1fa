import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/base/shared/clock.ts';
import { nextTurn } from '../../../../src/base/shared/turn.ts';
import type { Program } from '../../../../src/queries/sandbox/contract.ts';
import { IsolatePool } from '../../../../src/queries/sandbox/isolates/isolate-pool.ts';
import { shareMemory } from '../../../../src/queries/sandbox/isolates/memory-shares.ts';
import { QuickJsInstanceFactory } from '../../../../src/queries/sandbox/isolates/quickjs-instance.ts';
import { InProcessWorkers } from './in-process-workers.ts';
import { createTestSandbox, openProgram, quickJsPath } from './quickjs-files.ts';

const counting = 'function (doc) { calls = (typeof calls === "undefined" ? 0 : calls) + 1; emit(calls); }';

async function countOf(program: Awaited<ReturnType<typeof openProgram>>['program']) {
  const mapper = await program.mapper([counting]);
  return (await mapper.map(['{}']))[0]?.keys[0];
}

test('a program keeps its isolate, and gets another after others needed the place', async () => {
  const sandbox = createTestSandbox({ maxIsolates: 2 });
  const first = await openProgram(sandbox);
  const second = await openProgram(sandbox);
  expect([await countOf(first.program), await countOf(first.program), await countOf(second.program)]).toEqual([
    '1',
    '2',
    '1',
  ]);
  const third = await openProgram(sandbox);
  expect(await countOf(third.program)).toBe('1');
  // The first was not used for the longest time.
  expect([await countOf(second.program), await countOf(first.program)]).toEqual(['2', '1']);
  sandbox.close();
});

const write = { newDocument: '{}', oldDocument: 'null', userContext: '{}', securityObject: '{}' };

test('programs that alternate in isolates let other work have turns', async () => {
  const sandbox = createTestSandbox({ maxIsolates: 2 });
  const programs: Program[] = [];
  for (let n = 0; n < 40; n++) {
    programs.push((await openProgram(sandbox, { validate_doc_update: 'function () {}' })).program);
  }
  let isOver = false;
  let turns = 0;
  const others = (async () => {
    for (; !isOver; turns++) await nextTurn();
  })();
  for (const program of programs) expect(await program.validate([write])).toEqual([undefined]);
  isOver = true;
  await others;
  expect(turns).toBeGreaterThan(4);
  sandbox.close();
});

test('a program is refused if all places are in use', async () => {
  const wasm = await readFile(quickJsPath);
  const memory = shareMemory(1024 * megabyte, 0).local;
  let now = 0;
  const clock = { ...systemClock, monotonic: () => now };
  const factory = new QuickJsInstanceFactory(async () => new Uint8Array(wasm), memory.isolateBytes);
  const pool = new IsolatePool(factory, clock, { maxIsolates: 2, memory });
  const options = { designId: '_design/d', designDocument: '{}', timeoutMs: 5_000, memoryBytes: megabyte };
  const owner = () => ({ options: { ...options, log: () => undefined } });
  const [first, second, third] = [owner(), owner(), owner()];
  await pool.create(first);
  expect(pool.hasRoomFor(second)).toBe(true);
  await pool.create(second);
  expect([first, second, third].map((each) => pool.hasRoomFor(each))).toEqual([true, true, false]);
  now += 1_000;
  expect(pool.hasRoomFor(third)).toBe(true);
  pool.getNow(second);
  expect(pool.hasRoomFor(third)).toBe(true);
  pool.getNow(first);
  expect(pool.hasRoomFor(third)).toBe(false);
  pool.close();
});

const waiting = { lists: { l: 'function () { var row; while (row = getRow()) send(row); }' } };

/** A list that waits for its second row. */
async function beginList({ program }: Awaited<ReturnType<typeof openProgram>>) {
  const rows = ['["a"]', '["b"]'];
  const chunks = (await program.list('l', '{}', '{}', { next: () => rows.shift() })).chunks();
  expect((await chunks.next()).value).toBe('a');
  return chunks;
}

test('an isolate in which a list waits is kept, until twice as many are needed', async () => {
  const sandbox = createTestSandbox({ maxIsolates: 2 });
  const open = () => openProgram(sandbox, waiting);
  const first = await beginList(await open());
  const second = await beginList(await open());
  // Programs that come and go beside them leave them alone.
  for (let time = 0; time < 4; time++) expect(await countOf((await open()).program)).toBe('1');
  expect((await first.next()).value).toBe('b');
  expect(await first.next()).toEqual({ done: true, value: undefined });
  const more = [await beginList(await open()), await beginList(await open()), await beginList(await open())];
  const last = await beginList(await open());
  await expect(second.next()).rejects.toMatchObject({ code: 'os_process_error' });
  expect((await last.next()).value).toBe('b');
  await Promise.all([...more, last].map((chunks) => chunks.return()));
  sandbox.close();
});

const megabyte = 1024 * 1024;

test('isolates are closed to make room for the memory that the current one can use', async () => {
  const loadWasm = async () => new Uint8Array(await readFile(quickJsPath));
  const memory = { threadBytes: 96 * megabyte, isolateBytes: 48 * megabyte };
  const factory = new QuickJsInstanceFactory(loadWasm, memory.isolateBytes);
  const pool = new IsolatePool(factory, systemClock, { maxIsolates: 16, memory });
  const options = { designId: '_design/d', designDocument: '{}', timeoutMs: 5_000, memoryBytes: 64 * megabyte };
  const [large, second, third, fourth] = Array.from({ length: 4 }, () => ({ options: { ...options, log: () => {} } }));
  if (!large || !second || !third || !fourth) expect.fail('there are four');
  const first = await pool.create(large);
  // A fresh one takes 16 MB, so that three can be beside the one in use.
  const others = {
    second: await pool.create(second),
    third: await pool.create(third),
    fourth: await pool.create(fourth),
  };
  expect(pool.owns(large, first)).toBe(true);
  const filling = 'function (doc) { kept = new Uint8Array(24 * 1024 * 1024); emit(kept.length); }';
  pool.getNow(large);
  first.call('map', first.add('addMap', filling), '0', '{}');
  expect(pool.getNow(fourth)).toBe(others.fourth);
  // Some 30 MB, 16 and 16: only 48 may be beside the one in use, and the one that was not used for the longest time goes.
  expect(pool.owns(second, others.second)).toBe(false);
  expect(pool.owns(third, others.third)).toBe(true);
  expect(pool.owns(large, first)).toBe(true);
  pool.close();
});

test.each([
  [1024, 0, { local: [1024, 128], worker: [48, 32], workers: 0 }],
  [1024, 2, { local: [384, 128], worker: [320, 128], workers: 2 }],
  [1024, 4, { local: [384, 128], worker: [160, 106], workers: 4 }],
  [1024, 64, { local: [384, 128], worker: [49, 32], workers: 13 }],
  [96, 8, { local: [48, 32], worker: [48, 32], workers: 1 }],
])('%d MB are divided among %d workers', (total, workers, { local, worker, workers: count }) => {
  const shares = shareMemory(total * megabyte, workers);
  const shown = ({ threadBytes, isolateBytes }: typeof shares.local) =>
    [threadBytes, isolateBytes].map((bytes) => Math.floor(bytes / megabyte));
  expect([shown(shares.local), shown(shares.worker), shares.workers]).toEqual([local, worker, count]);
});

test('a function gets its share of the memory, and no more workers start than shares exist', async () => {
  const filling = 'function (doc) { kept = new Uint8Array(30 * 1024 * 1024); emit(kept.length); }';
  const outcomeOf = async (memoryBytes: number, workers?: InProcessWorkers) => {
    const sandbox = createTestSandbox({ memoryBytes, workers });
    const mapper = await (await openProgram(sandbox)).program.mapper([filling]);
    const outcome = [(await mapper.map(['{}']))[0]?.keys, mapper.concurrency];
    sandbox.close();
    return outcome;
  };
  expect(await outcomeOf(1024 * megabyte)).toEqual([['31457280'], 1]);
  expect(await outcomeOf(48 * megabyte)).toEqual([[], 1]);
  expect(await outcomeOf(1024 * megabyte, new InProcessWorkers(4))).toEqual([['31457280'], 8]);
  expect(await outcomeOf(96 * megabyte, new InProcessWorkers(4))).toEqual([[], 2]);
});

test('the same signature in the same scope is one program', async () => {
  const sandbox = createTestSandbox();
  const options = { signature: 'same' };
  expect((await openProgram(sandbox, {}, options)).program).toBe((await openProgram(sandbox, {}, options)).program);
  expect((await openProgram(sandbox, {}, options)).program).not.toBe(
    (await openProgram(sandbox, {}, { ...options, scope: 'other' })).program,
  );
  sandbox.close();
});

test('a closed sandbox accepts no work', async () => {
  const sandbox = createTestSandbox();
  const { program } = await openProgram(sandbox);
  sandbox.close();
  await expect((async () => program.mapper([counting]))()).rejects.toMatchObject({ code: 'shutting_down' });
});

test('without its WebAssembly the sandbox fails with the reason, and tries again', async () => {
  let attempts = 0;
  const sandbox = createTestSandbox({
    loadWasm: async () => {
      attempts++;
      throw new Error('offline');
    },
  });
  const refusal = {
    code: 'functions_unavailable',
    reason: expect.stringMatching(/could not be loaded \(offline\)\. Send the request again\.$/),
  };
  await expect(openProgram(sandbox)).rejects.toMatchObject(refusal);
  await expect(openProgram(sandbox)).rejects.toMatchObject(refusal);
  expect(attempts).toBe(2);
});

test("where WebAssembly can't run the sandbox says so", async () => {
  const sandbox = createTestSandbox({ loadWasm: async () => new Uint8Array([1, 2, 3]) });
  const reason = expect.stringContaining("add 'wasm-unsafe-eval' to script-src");
  await expect(openProgram(sandbox)).rejects.toMatchObject({ code: 'not_implemented', reason });
});

test('1,000 programs are created and dropped in bounded memory', { timeout: 300_000 }, async () => {
  const sandbox = createTestSandbox({ maxIsolates: 4 });
  const build = async (count: number) => {
    for (let index = 0; index < count; index++) {
      const { program } = await openProgram(sandbox, { index, text: 'x'.repeat(10_000) });
      const mapper = await program.mapper([`function (doc) { emit([doc.a, ${index}], {n: 1}); }`]);
      expect((await mapper.map([`{"a":${index}}`]))[0]?.keys).toEqual([`[${index},${index}]`]);
      if (index % 3 === 0) program.close();
    }
  };
  await build(100);
  const before = process.memoryUsage.rss();
  await build(1_000);
  expect(process.memoryUsage.rss() - before).toBeLessThan(100 * 1024 * 1024);
  sandbox.close();
});
