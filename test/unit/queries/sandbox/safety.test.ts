import { readFile } from 'node:fs/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { atOnce } from '../../../../src/base/shared/turn.ts';
import type { ProgramSource } from '../../../../src/queries/sandbox/contract.ts';
import { guardLoops } from '../../../../src/queries/sandbox/isolates/loop-guard.ts';
import { ThreadTime } from '../../../support/thread-time.ts';
import { createTestSandbox, openProgram, quickJsPath } from './quickjs-files.ts';

const sandbox = createTestSandbox();
afterAll(() => sandbox.close());

/** What another program answers meanwhile. */
async function expectOthersGoOn(): Promise<void> {
  const { program } = await openProgram(sandbox);
  const mapper = await program.mapper(['function (doc) { emit(doc.a, [doc.a].map(String)); }']);
  expect(await mapper.map(['{"a":1}'])).toEqual([{ counts: [1], keys: ['1'], values: ['["1"]'] }]);
}

async function runMap(body: string, { memoryBytes = 64 * 1024 * 1024, ...options }: Partial<ProgramSource> = {}) {
  const { program, messages } = await openProgram(sandbox, {}, { memoryBytes, ...options });
  const mapper = await program.mapper([`function (doc) { ${body} }`]);
  return { rows: await mapper.map(['{"_id":"a"}']), messages };
}

test("a function can't replace a helper for other functions by assigning its name", async () => {
  const { program } = await openProgram(sandbox);
  const source = 'function (keys, values) { sum = 0; for (var at in values) sum += values[at]; return sum; }';
  const groups = [{ keys: '[]', values: '[1,2,3]' }];
  const careless = await program.reducer(source, 'true');
  const careful = await program.reducer('function (keys, values) { return sum(values); }', 'true');
  expect([careless.reduce(groups), careful.reduce(groups), careless.reduce(groups)]).toEqual([['6'], ['6'], ['6']]);
});

test("a module can't replace a helper for other modules by assigning its name", async () => {
  const total = 'exports.of = function (list) { sum = 0; for (var at in list) sum += list[at]; return sum; };';
  const { program } = await openProgram(sandbox, { views: { lib: { total } } });
  const mapper = await program.mapper(['function (doc) { emit(null, require("views/lib/total").of([1, 2, 3])); }']);
  expect(await mapper.map(['{"_id":"a"}'])).toEqual([{ counts: [1], keys: ['null'], values: ['6'] }]);
});

test.each([
  'const sum = (list) => list.length;',
  'let sum = function (list) { return list.length; };',
  'var sum = (list) => list.length;',
  'function sum(list) { return list.length; }',
])('code after a function can use the name of a helper: %s', async (behind) => {
  const { program } = await openProgram(sandbox);
  const reducer = await program.reducer(`function (keys, values) { return sum(values); };\n${behind}`, 'true');
  expect(reducer.reduce([{ keys: '[]', values: '[1,2,3]' }])).toEqual(['3']);
});

describe('the time limit stops a function that', () => {
  test.each([
    ['loops for ever', 'while (true);'],
    ['catches everything', 'while (true) { try { while (true); } catch (e) {} finally { continue; } }'],
    ['searches a large text again and again', 'var s = "a".repeat(1e6); while (true) s.indexOf("b");'],
    ['walks over an array of nothing', 'new Array(4e9).indexOf(1);'],
    ['walks over what only says it is long', 'Array.prototype.includes.call({length: 9e15}, 1);'],
    ['makes a set of nothing', 'new Set(new Array(4e9));'],
    ['flattens 2^40 arrays', 'for (var i = 0, a = []; i < 40; i++) a = [a, a]; a.flat(Infinity);'],
    ['looks for half a text in itself', '"a".repeat(1e6).indexOf("a".repeat(5e5) + "b");'],
    ['lets a regular expression go astray', '/(a+)+$/.test("a".repeat(50) + "b");'],
    ['fills memory again and again', 'var b = new Uint8Array(3e7); while (true) b.fill(1);'],
    ['multiplies large numbers', 'var b = 3n ** 200000n; while (true) b * b;'],
    [
      'sorts long equal texts',
      'var s = "a".repeat(1e6), t = "a".repeat(1e6); Array.from({length: 1e5}, (_, i) => i % 2 ? s : t).sort();',
    ],
    ['waits for promises for ever', '(async function () { while (true) await 1; })();'],
  ])('%s', async (_, body) => {
    const time = new ThreadTime();
    const begun = time.ms();
    const run = runMap(body, { timeoutMs: 200 });
    await expect(run).rejects.toMatchObject({ code: 'os_process_error', reason: 'OS process timed out.' });
    // Of a processor, so that other work of the machine doesn't count; each of them would take far more.
    expect(time.ms() - begun).toBeLessThan(5_000);
    time.close();
    await expectOthersGoOn();
  });
});

describe('the memory limit stops a function that', () => {
  test.each([
    ['keeps everything', 'var a = []; while (true) a.push([a.length, a.length, a.length]);'],
    ['makes a huge text', '"x".repeat(5e8);'],
    ['doubles a text', 'var s = "x"; while (s.length < 2e7) s += s; s.split("");'],
    ['asks for a huge buffer', 'new ArrayBuffer(1e9);'],
    ['emits for ever', 'while (true) emit("some key", {some: "value"});'],
    ['keeps large buffers', 'var a = []; while (true) a.push(new ArrayBuffer(1e6));'],
    ['keeps long texts', 'var a = []; while (true) a.push("x".repeat(1e6) + a.length);'],
  ])('%s', async (_, body) => {
    expect(await runMap(body, { memoryBytes: 8 * 1024 * 1024 })).toEqual({
      rows: [{ counts: [0], keys: [], values: [], leftOut: [0] }],
      messages: [expect.stringContaining('ran out of memory')],
    });
    await expectOthersGoOn();
  });
});

describe("a function can't reach the host", () => {
  test('by name', async () => {
    const names = [
      'fetch',
      'indexedDB',
      'process',
      'self',
      'window',
      'importScripts',
      'XMLHttpRequest',
      'WebAssembly',
      'setTimeout',
      'console',
      'crypto',
      'postMessage',
      'caches',
      'navigator',
      'std',
      'os',
    ];
    const { rows } = await runMap(
      `emit(${JSON.stringify(names)}.filter(function (name) { return name in globalThis; }), 1)`,
    );
    expect(rows[0]?.keys).toEqual(['[]']);
  });

  test('through constructors', async () => {
    const { rows } = await runMap(`
      var global = globalThis.constructor.constructor('return this')();
      emit(global === globalThis, typeof global.process + typeof global.fetch);
      var f = emit.constructor('return typeof indexedDB');
      emit(f(), Object.getOwnPropertyNames(global).filter(function (n) { return /pull|perform|lock|settee/i.test(n); }));
      emit(new Error().stack.includes('/'), 1);`);
    expect(rows[0]?.keys).toEqual(['true', '"undefined"', 'false']);
    expect(rows[0]?.values).toEqual(['"undefinedundefined"', '[]', '1']);
  });

  test('by import', async () => {
    const { messages, rows } = await runMap('import("fs").then(function () { emit(1) }); emit(2)');
    expect(rows[0]?.keys).toEqual(['2']);
    expect(messages).toEqual([]);
  });
});

test('of the program, functions see only the helpers, by their names', async () => {
  const { rows } = await runMap(`
    emit([emit, sum, log, require, provides, registerType, start, send, getRow].map(function (f) { return f.name; }).join(), 1);
    emit(['createProgram', 'perform', 'program', 'exports', 'Failure'].filter(function (n) { return n in globalThis; }), 2);`);
  expect(rows[0]?.keys).toEqual(['"emit,sum,log,require,provides,registerType,start,send,getRow"', '[]']);
});

describe('no function can change the built-ins of the language', () => {
  test.each([
    ['Array.prototype.push = function () { return "fooled"; }', '[].push(1)', '1'],
    ['Object.prototype.x = "fooled"', 'String({}.x)', '"undefined"'],
    [
      'Object.defineProperty(Object.prototype, "y", {get: function () { return "fooled"; }})',
      'String({}.y)',
      '"undefined"',
    ],
    ['Object.prototype.toJSON = function () { return "fooled"; }', '{a: 1}', '{"a":1}'],
    ['String.prototype.toJSON = Array.prototype.toJSON = function () { return "fooled"; }', '["a"]', '["a"]'],
    ['JSON.stringify = function () { return "fooled"; }', '{a: [1]}', '{"a":[1]}'],
    ['JSON = {parse: function () { return {}; }}', 'typeof JSON.stringify', '"function"'],
    ['emit = function () {}', '1', '1'],
    ['Array = Object = String = Map = undefined', 'typeof Array', '"function"'],
    ['Array.isArray = function () { return false; }', '[[1]]', '[[1]]'],
    ['Array.prototype[Symbol.iterator] = function () { throw 1; }', '[...[1]]', '[1]'],
    ['Object.defineProperty(Array.prototype, "0", {set: function () { throw 1; }})', '[1]', '[1]'],
    ['Function.prototype.call = function () { throw 1; }', 'Math.max.call(null, 1)', '1'],
    ['RegExp.prototype.exec = function () { throw 1; }', '/a/.test("a")', 'true'],
    ['Object.setPrototypeOf(Array.prototype, {x: 1})', 'String([].x)', '"undefined"'],
    ['[].__proto__.__proto__.z = 1', 'String({}.z)', '"undefined"'],
    ['(function* () {}).constructor.prototype.next = 1', '[...(function* () { yield 1; })()]', '[1]'],
    ['globalThis.sum = function () { return "fooled"; }', 'sum([1, 2])', '3'],
  ])('%s', async (attempt, expression, text) => {
    const { program } = await openProgram(sandbox);
    const mapper = await program.mapper([
      `function (doc) { try { ${attempt} } catch (e) {} }`,
      `function (doc) { emit(doc._id, ${expression}); }`,
    ]);
    const rows = [await mapper.map(['{"_id":"a"}', '{"_id":"b"}']), await mapper.map(['{"_id":"c"}'])];
    expect(rows.map(([, second]) => second?.values)).toEqual([[text, text], [text]]);
    expect(rows.map(([, second]) => second?.keys)).toEqual([['"a"', '"b"'], ['"c"']]);
  });

  test('but own objects can override built-in members', async () => {
    const { rows, messages } = await runMap(`
      function Point(x) { this.x = x; }
      Point.prototype.toString = function () { return 'Point ' + this.x; };
      Point.prototype.constructor = Point;
      function MyError(message) { this.message = message; this.name = 'MyError'; }
      MyError.prototype = Object.create(Error.prototype);
      var plain = {}; plain.valueOf = function () { return 4; }; plain.hasOwnProperty = 5;
      try { throw new MyError('mine'); } catch (e) { emit(String(new Point(1)), [e.name, e.message, plain + 1, plain.hasOwnProperty]); }
      for (i in {a: 1, b: 2}) emit(i);`);
    expect(messages).toEqual([]);
    expect(rows[0]?.keys).toEqual(['"Point 1"', '"a"', '"b"']);
    expect(rows[0]?.values[0]).toBe('["MyError","mine",5,5]');
  });
});

test('globals set by one database are not visible to another with the same design document', async () => {
  const source = 'function (doc) { emit(typeof leaked === "undefined" ? null : leaked); leaked = doc._id; }';
  const seen = [];
  for (const scope of ['private', 'public', 'private']) {
    const { program } = await openProgram(sandbox, {}, { scope, signature: 'the same' });
    seen.push((await (await program.mapper([source])).map(['{"_id":"secret"}']))[0]?.keys);
  }
  expect(seen).toEqual([['null'], ['null'], ['"secret"']]);
});

test('log messages are limited in length and number', async () => {
  const { messages } = await runMap('for (var i = 0; i < 5000; i++) log("x".repeat(5000));');
  expect(messages).toHaveLength(100);
  expect(messages[0]).toHaveLength(1_001);
});

test("every loop of QuickJS except the interpreter's is guarded", async () => {
  const bytes = new Uint8Array(await readFile(quickJsPath));
  const guarded = atOnce(guardLoops(bytes));
  expect(guarded?.tick).toMatchObject({ module: 'a', name: 'p' });
  expect((guarded?.bytes.length ?? 0) - bytes.length).toBeGreaterThan(10_000);
});

test('a module of another kind is left unchanged', () => {
  expect(atOnce(guardLoops(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0)))).toBeUndefined();
});
