import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../../src/base/shared/clock.ts';
import { createTestSandbox, openProgram } from './quickjs-files.ts';

/** The time that functions take is measured by the true one, whatever a test makes of that of this thread. */
const monotonic = performance.now.bind(performance);
const sandbox = createTestSandbox({ clock: { ...systemClock, monotonic } });
afterAll(() => sandbox.close());
afterEach(() => vi.restoreAllMocks());

/** The rows of one map over some documents, as `key → value` lines, and what was logged. */
async function mapOver(map: string, documents: readonly unknown[], design: unknown = {}) {
  const { program, messages } = await openProgram(sandbox, design);
  const mapper = await program.mapper([map]);
  const [rows] = await mapper.map(documents.map((document) => JSON.stringify(document)));
  const lines = rows?.keys.map((key, index) => `${key} → ${rows.values[index]}`);
  return { counts: rows?.counts, lines, messages };
}

const emitted = async (body: string) => (await mapOver(`function (doc) { ${body} }`, [{ _id: 'a' }])).lines;

test('documents that emit large rows are mapped in several calls, and none is lost', async () => {
  const { program } = await openProgram(sandbox);
  const mapper = await program.mapper([
    'function (doc) { emit(doc._id, new Array(3000000).join("x")); }',
    'function (doc) { emit(doc._id, 1); }',
  ]);
  const documents = Array.from({ length: 12 }, (_, n) => JSON.stringify({ _id: `d${n}` }));
  const keys: string[] = [];
  let calls = 0;
  while (keys.length < documents.length) {
    const [large, small] = await mapper.map(documents.slice(keys.length));
    expect(large?.keys).toEqual(small?.keys);
    expect(large?.counts.length).toBeLessThan(5);
    keys.push(...(large?.keys ?? []));
    calls += 1;
  }
  expect(keys).toEqual(documents.map((_, n) => `"d${n}"`));
  expect(calls).toBeGreaterThan(2);
});

describe('emitted rows', () => {
  test('are returned in the order of emission, for each document and map', async () => {
    const { program } = await openProgram(sandbox);
    const mapper = await program.mapper([
      'function (doc) { emit(doc.a, 1); emit([doc.a, doc._id], {b: doc.a}); }',
      '(doc) => { if (doc.a > 1) emit(doc.a); };',
    ]);
    expect(await mapper.map(['{"_id":"x","a":1}', '{"_id":"y","a":2}'])).toEqual([
      { counts: [2, 2], keys: ['1', '[1,"x"]', '2', '[2,"y"]'], values: ['1', '{"b":1}', '1', '{"b":2}'] },
      { counts: [0, 1], keys: ['2'], values: ['null'] },
    ]);
  });

  test('are empty for no documents and for maps that emit nothing', async () => {
    const { program } = await openProgram(sandbox);
    const mapper = await program.mapper(['function (doc) {}']);
    expect(await mapper.map([])).toEqual([{ counts: [], keys: [], values: [] }]);
    expect(await mapper.map(['{"_id":"x"}'])).toEqual([{ counts: [0], keys: [], values: [] }]);
  });

  test.each([
    ['emit()', 'null → null'],
    ['emit(undefined, undefined)', 'null → null'],
    ['emit(NaN, Infinity)', 'null → null'],
    ['emit(-0, -0)', '0 → 0'],
    ['emit(1e21, 0.1)', '1e+21 → 0.1'],
    ['emit(true, false)', 'true → false'],
    ['emit("a\\tb\\n\\u001e", "\\ud800")', '"a\\tb\\n\\u001e" → "\\ud800"'],
    ['emit(new Date(0), [new Date(0)])', '"1970-01-01T00:00:00.000Z" → ["1970-01-01T00:00:00.000Z"]'],
    ['emit({toJSON: function () { return [1, 2]; }}, {a: undefined, b: function () {}})', '[1,2] → {}'],
    ['emit(function () {}, Symbol("s"))', 'null → null'],
    ['emit([undefined, NaN, "x", null], [[1], {a: 1}])', '[null,null,"x",null] → [[1],{"a":1}]'],
    ['emit(new Number(3), new String("s"))', '3 → "s"'],
    ['emit({b: 1, a: 2}, {"2": 0, "1": 0})', '{"b":1,"a":2} → {"1":0,"2":0}'],
    ['emit({}, [])', '{} → []'],
  ])('are correct for %s', async (body, line) => {
    expect(await emitted(body)).toEqual([line]);
  });

  test('are complete if there are thousands, or some are very long', async () => {
    const body = 'for (var i = 0; i < 2500; i++) emit(i, i % 500 ? [i] : new Array(200000).join("x") + i);';
    const rows = await emitted(body);
    expect(rows).toHaveLength(2_500);
    expect(rows?.[0]).toBe(`0 → "${'x'.repeat(199_999)}0"`);
    expect(rows?.[999]).toBe('999 → [999]');
    expect(rows?.[2_000]).toBe(`2000 → "${'x'.repeat(199_999)}2000"`);
    expect(rows?.[2_499]).toBe('2499 → [2499]');
  });

  test('are read in turns if there are many', async () => {
    const { program } = await openProgram(sandbox);
    const mapper = await program.mapper(['function (doc) { for (var i = 0; i < doc.n; i++) emit("key " + i, i); }']);
    // Ten milliseconds pass between any two looks at the clock, so each portion of 1,000 keys or values takes a turn of its own.
    let now = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => {
      now += 10;
      return now;
    });
    const mapped = mapper.map(['{"_id":"x","n":20000}']);
    expect(mapped).toBeInstanceOf(Promise);
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const [rows] = await mapped;
    isOver = true;
    expect(rows?.keys.at(-1)).toBe('"key 19999"');
    expect(turns).toBeGreaterThanOrEqual(30);
  });

  test('keep the emitted value even if the function changes it afterwards', async () => {
    const body = 'var k = [1]; var v = {n: 1}; emit(k, v); k.push(2); v.n = 2; emit(k, v);';
    expect(await emitted(body)).toEqual(['[1] → {"n":1}', '[1,2] → {"n":2}']);
  });

  test("that can't be serialized leave nothing if the function catches the error", async () => {
    const body = `
      emit({toJSON: function () { emit("inner", {x: 1}); return "outer"; }}, 1);
      try { emit({a: 1}, {toJSON: function () { throw 1; }}); } catch (e) {}
      try { emit("big", 1n); } catch (e) { emit("caught", {b: 2}); }`;
    expect(await emitted(body)).toEqual(['"inner" → {"x":1}', '"outer" → 1', '"caught" → {"b":2}']);
  });
});

describe('a map that fails', () => {
  test.each([
    ['throws', 'throw new Error("no")', 'Error: no'],
    ['throws a text', 'throw "no"', 'no'],
    ['calls what is not there', 'fetch("/")', "ReferenceError: 'fetch' is not defined"],
    ['emits a cycle', 'var x = {}; x.x = x; emit(x, 1)', 'TypeError: circular reference'],
    ['emits a BigInt', 'emit(1n, 1)', 'TypeError: Do not know how to serialize a BigInt'],
    ['recurses for ever', '(function f() { return f() + 1; })()', 'InternalError: stack overflow'],
    ['throws what cannot be shown', 'throw {get message() { throw 1; }}', 'an error that cannot be shown'],
  ])('because it %s leaves that document out, and logs that', async (_, body, reason) => {
    const map = `function (doc) { emit(doc._id, {}); if (doc._id === "b") { ${body} } }`;
    const { lines, counts, messages } = await mapOver(map, [{ _id: 'a' }, { _id: 'b' }, { _id: 'c' }]);
    expect(lines).toEqual(['"a" → {}', '"c" → {}']);
    expect(counts).toEqual([1, 0, 1]);
    expect(messages).toEqual([`a map function raised ${reason} with the document "b"`]);
  });

  test("doesn't affect other maps", async () => {
    const { program } = await openProgram(sandbox);
    const mapper = await program.mapper(['function (d) { throw 1; }', 'function (d) { emit(d._id, 1); }']);
    const [first, second] = await mapper.map(['{"_id":"a"}']);
    expect(first).toEqual({ counts: [0], keys: [], values: [] });
    expect(second).toEqual({ counts: [1], keys: ['"a"'], values: ['1'] });
  });

  test('with a fatal error ends the call', async () => {
    const failing = mapOver('function () { throw ["fatal", "my_error", "my reason"]; }', [{ _id: 'a' }]);
    await expect(failing).rejects.toMatchObject({ code: 'function_error', word: 'my_error', reason: 'my reason' });
  });

  test('because a document is nested too deeply leaves that document out', async () => {
    const deep = `{"_id":"deep","x":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
    const { program, messages } = await openProgram(sandbox);
    const mapper = await program.mapper(['function (doc) { emit(doc._id, doc); }']);
    const [rows] = await mapper.map(['{"_id":"a"}', deep, '{"_id":"c"}']);
    expect(rows?.counts).toEqual([1, 0, 1]);
    expect(rows?.keys).toEqual(['"a"', '"c"']);
    expect(messages).toHaveLength(1);
  });
});

describe('the source of a map', () => {
  test.each([
    'function (doc) { emit(1); }',
    'function (doc) { emit(1); };',
    '  function named(doc) { emit(1); } ;; // a comment',
    '/* before */ function (doc) { emit(1); } /* after */',
    '// a line before\nfunction (doc) { emit(1); }\n// and behind',
    'doc => emit(1)',
    '(doc) => { emit(1); };\n',
    'async function (doc) { emit(1); }',
    'function map(doc) { helper(); }\nfunction helper() { emit(1); }',
    '(function () { return function (doc) { emit(1); }; })()',
  ])('can be written as %j', async (source) => {
    expect((await mapOver(source, [{ _id: 'a' }])).lines).toEqual(['1 → null']);
  });

  test.each([
    ['function (doc { }', 'SyntaxError'],
    ['', 'SyntaxError'],
    ['"a text"', 'Expression does not eval to a function.'],
    ['missing()', 'ReferenceError'],
  ])('such as %j is a compilation error', async (source, reason) => {
    const failing = mapOver(source, []);
    await expect(failing).rejects.toMatchObject({
      code: 'compilation_error',
      reason: expect.stringContaining(reason),
    });
  });
});

describe('documents', () => {
  const push = 'function (doc) { try { doc.list.push(2); } catch (e) {} doc.a = 2; delete doc.b; emit(doc.a, doc); }';

  test("can't be changed by a map for another", async () => {
    const { program } = await openProgram(sandbox);
    const mapper = await program.mapper([push, 'function (doc) { emit(doc.a, doc.list); }']);
    const [first, second] = await mapper.map(['{"_id":"x","a":1,"b":1,"list":[1]}']);
    expect(first?.values).toEqual(['{"_id":"x","a":1,"b":1,"list":[1]}']);
    expect(second).toEqual({ counts: [1], keys: ['1'], values: ['[1]'] });
  });

  test('are the same to a function whether or not its members can be predicted', async () => {
    const document = { _id: 'x', _rev: '1-a', 'odd-name': 1, a: { b: [1, { c: '"' }] }, 'é\n': 2, z: null };
    const told =
      'function (doc) { if (doc && doc.a) emit([doc._rev, doc["odd-name"]], [doc.a, doc.missing, doc?.z]); }';
    const untold = `function (doc) { var same = doc; ${told.slice(16)}`;
    const { lines } = await mapOver(told, [document]);
    expect(lines).toEqual(['["1-a",1] → [{"b":[1,{"c":"\\""}]},null,null]']);
    expect((await mapOver(untold, [document])).lines).toEqual(lines);
  });
});

test('batches begin with one document, grow while they are quick, and have between 1 and 1,000', async () => {
  let [time, perLook] = [0, 0];
  const clock = { now: () => time, monotonic: () => (time += perLook) };
  const timed = createTestSandbox({ clock });
  const { program } = await openProgram(timed);
  const mapper = await program.mapper(['function (doc) { emit(doc._id); }']);
  expect(mapper.batchSize).toBe(1);
  for (let round = 0; round < 20; round++) {
    await mapper.map(Array.from({ length: mapper.batchSize }, (_, index) => `{"_id":"${index}"}`));
  }
  expect(mapper.batchSize).toBeGreaterThan(100);
  expect(mapper.batchSize).toBeLessThanOrEqual(1_000);
  perLook = 20;
  const slow = await program.mapper(['function (doc) {}']);
  for (let round = 0; round < 8; round++) await slow.map(['{"_id":"a"}']);
  expect(slow.batchSize).toBe(1);
  timed.close();
});

describe('a long document, whose text comes in pieces', () => {
  /** In pieces that end anywhere; `_rev` and `more` are no member that a function below reads. */
  function longDocument(text: string) {
    const json = JSON.stringify({ _id: 'long', _rev: '1-a', more: 'y'.repeat(100_000), text, n: 5, last: ['"', '\\'] });
    async function* pieces() {
      for (let from = 0; from < json.length; from += 99_991) yield json.slice(from, from + 99_991);
    }
    return { id: 'long', pieces };
  }
  const maps = ['function (doc) { emit(doc.n, doc.text.length); }', 'function (doc) { emit(doc.last, doc.text[1]); }'];
  const rows = (length: number) => [
    { counts: [1], keys: ['5'], values: [String(length)] },
    { counts: [1], keys: ['["\\"","\\\\"]'], values: ['"ä"'] },
  ];

  test.each([1_000, 3_000_000])('of %i characters has the rows that its text has', async (length) => {
    const { program } = await openProgram(sandbox);
    const mapper = await program.mapper(maps);
    expect(await mapper.mapLong(longDocument('ää'.padEnd(length, 'x')))).toEqual(rows(length));
  });

  test('is complete for a function that could read all of it', async () => {
    const { program } = await openProgram(sandbox);
    const mapper = await program.mapper(['function (doc) { emit(Object.keys(doc), JSON.stringify(doc).length); }']);
    const document = longDocument('x'.repeat(2_000_000));
    expect(await mapper.mapLong(document)).toEqual([
      { counts: [1], keys: ['["_id","_rev","more","text","n","last"]'], values: ['2100072'] },
    ]);
  });

  test('is left out only for the map that runs out of memory, with a log entry', async () => {
    const { program, messages } = await openProgram(sandbox);
    const greedy = 'function (doc) { var a = []; if (doc.text) for (;;) a.push("x".repeat(1e7) + a.length); }';
    const mapper = await program.mapper([greedy, ...maps]);
    const [left, ...others] = await mapper.mapLong(longDocument('ää'.padEnd(2_000_000, 'x')));
    expect(left).toEqual({ counts: [0], keys: [], values: [], leftOut: [0] });
    expect(others).toMatchObject(rows(2_000_000));
    expect(messages.join()).toContain('ran out of memory with the document "long", which is left out');
  });
});
