import { afterAll, describe, expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { createTestSandbox, openProgram, TickingClock } from './quickjs-files.ts';

const sandbox = createTestSandbox();
afterAll(() => sandbox.close());

describe('a reduce', () => {
  const reducer = async (source: string, limit: 'true' | 'false' | 'log' = 'true') => {
    const { program, messages } = await openProgram(sandbox);
    return { reducer: await program.reducer(source, limit), messages };
  };

  test('gets keys with ids and values, and null as keys of a rereduce', async () => {
    const { reducer: shown } = await reducer(
      'function (keys, values, rereduce) { return [keys, sum(values), rereduce]; }',
    );
    expect(shown.reduce([{ keys: '[["a","id1"],["b","id2"]]', values: '[1,2]' }])).toEqual([
      '[[["a","id1"],["b","id2"]],3,false]',
    ]);
    expect(shown.rereduce(['[3,4]', '[5]'])).toEqual(['[null,7,true]', '[null,5,true]']);
  });

  test('returns one result for each group, and null if it throws or returns nothing', async () => {
    const { reducer: odd, messages } = await reducer(
      'function (k, v) { if (v[0] === 1) throw new Error("odd"); if (v[0] === 3) return; return v.length; }',
    );
    const groups = ['[1]', '[2]', '[3]'].map((values) => ({ keys: '[["k","i"]]', values }));
    expect(odd.reduce(groups)).toEqual(['null', '1', 'null']);
    expect(odd.reduce([])).toEqual([]);
    expect(messages).toEqual(['a reduce function raised Error: odd']);
  });

  test('whose result does not shrink is refused, or only logged', async () => {
    const source = 'function (keys, values) { return values; }';
    const long = { keys: '[["k","i"]]', values: `["${'x'.repeat(300)}"]` };
    const strict = await reducer(source);
    expect(() => strict.reducer.reduce([long])).toThrow(
      expect.objectContaining({
        code: 'reduce_overflow_error',
        reason: `Reduce output must shrink more rapidly: Current output: '["${'x'.repeat(98)}'... (first 100 of 304 bytes)`,
      }),
    );
    expect(strict.reducer.reduce([{ keys: '[]', values: `["${'x'.repeat(196)}"]` }])).toHaveLength(1);
    const lenient = await reducer(source, 'log');
    expect(lenient.reducer.reduce([long])).toEqual([long.values]);
    expect(lenient.messages).toHaveLength(1);
    expect((await reducer(source, 'false')).reducer.reduce([long])).toEqual([long.values]);
  });

  test('that loops endlessly ends, and the next call works', async () => {
    const ticking = createTestSandbox({ clock: new TickingClock() });
    const { program } = await openProgram(ticking, {}, { timeoutMs: 5_000 });
    const endless = await program.reducer('function () { while (true); }', 'true');
    const count = await program.reducer('function (k, v) { return v.length; }', 'true');
    expect(() => endless.reduce([{ keys: '[]', values: '[]' }])).toThrow('os_process_error: OS process timed out.');
    expect(count.reduce([{ keys: '[]', values: '[1,2]' }])).toEqual(['2']);
    ticking.close();
  });
});

describe('validate_doc_update', () => {
  const write = {
    newDocument: '{"_id":"a","type":"x"}',
    oldDocument: 'null',
    userContext: '{"name":"u"}',
    securityObject: '{}',
  };
  const outcomes = async (source: string, writes = [write]) => {
    const { program } = await openProgram(sandbox, { validate_doc_update: source });
    return program.validate(writes);
  };

  test("accepts what it doesn't refuse, whatever it returns", async () => {
    expect(await outcomes('function () { return false; }')).toEqual([undefined]);
    const { program } = await openProgram(sandbox, {});
    expect(program.validates).toBe(false);
    expect(await program.validate([write])).toEqual([undefined]);
  });

  test('gets both documents, user and security', async () => {
    const source =
      'function (n, o, u, s) { throw {forbidden: JSON.stringify([n.type, o && o.v, u.name, s.admins.names])}; }';
    const [refused] = await outcomes(source, [
      {
        newDocument: '{"type":"x"}',
        oldDocument: '{"v":1}',
        userContext: '{"name":"u"}',
        securityObject: '{"admins":{"names":["b"]}}',
      },
    ]);
    expect(refused).toMatchObject({ code: 'forbidden', reason: '["x",1,"u",["b"]]' });
  });

  test.each([
    ['throw {forbidden: "no"}', { code: 'forbidden', reason: 'no' }],
    ['throw({unauthorized: "log in"})', { code: 'unauthorized', reason: 'log in' }],
    ['throw {forbidden: {a: 1}}', { code: 'forbidden', reason: '{"a":1}', value: { a: 1 } }],
    ['throw {forbidden: null}', { code: 'forbidden', reason: 'null', value: null }],
    ['throw {unauthorized: [1, "x"]}', { code: 'unauthorized', value: [1, 'x'] }],
    ['throw {forbidden: function () {}}', { code: 'forbidden', value: null }],
    ['throw ["forbidden", "no"]', { code: 'forbidden', reason: 'no' }],
    ['throw ["unauthorized", {a: 1}]', { code: 'unauthorized', value: { a: 1 } }],
    ['throw ["error", "forbidden", "no"]', { code: 'forbidden', reason: 'no' }],
    ['throw ["error", "unauthorized", "log in"]', { code: 'unauthorized', reason: 'log in' }],
    ['throw ["forbidden"]', { code: 'forbidden', value: null }],
    ['throw ["error", "mine"]', { code: 'function_error', word: 'mine', reason: 'null' }],
    ['throw ["other", "x"]', { code: 'function_error', word: 'unnamed_error', reason: '["other","x"]' }],
    ['throw "just a text"', { code: 'function_error', word: 'unknown_error', reason: 'just a text' }],
    ['throw {foo: "bar"}', { code: 'function_error', word: 'unknown_error', reason: '{"foo":"bar"}' }],
    ['throw null', { code: 'function_error', word: 'unknown_error', reason: 'null' }],
    ['throw new Error("oops")', { code: 'function_error', word: 'unknown_error', reason: 'Error: oops' }],
    ['throw ["error", "mine", "because"]', { code: 'function_error', word: 'mine', reason: 'because' }],
    [
      'throw {error: "mine", reason: "because"}',
      { code: 'function_error', word: 'unknown_error', reason: '{"error":"mine","reason":"because"}' },
    ],
    [
      'newDoc.missing.x',
      { code: 'function_error', word: 'unknown_error', reason: "TypeError: cannot read property 'x' of undefined" },
    ],
  ])('that does %s', async (body, expected) => {
    const [refused] = await outcomes(`function (newDoc) { ${body} }`);
    expect(refused).toBeInstanceOf(DatabaseError);
    expect(refused).toMatchObject(expected);
  });

  test('can change its arguments for itself only', async () => {
    const source = `function (n, o, u, s) {
      s.admins = s.admins || { names: [] };
      s.admins.names.push(u.name);
      u.name += "!";
      throw { forbidden: JSON.stringify([u, s]) };
    }`;
    const reasons = (await outcomes(source, [write, write])).map((outcome) => outcome?.reason);
    expect(reasons).toEqual(Array(2).fill('[{"name":"u!"},{"admins":{"names":["u"]}}]'));
  });

  test('validates each write of a batch on its own', async () => {
    const source = 'function (doc) { if (doc._id === "b") throw {forbidden: "b"}; }';
    const writes = ['a', 'b', 'c'].map((id) => ({ ...write, newDocument: `{"_id":"${id}"}` }));
    expect((await outcomes(source, writes)).map((outcome) => outcome?.reason)).toEqual([undefined, 'b', undefined]);
  });

  test('has its time limit for each write, not for a batch', async () => {
    const ticking = new TickingClock();
    const patient = createTestSandbox({ clock: ticking });
    const source = 'function (doc) { for (var n = 0; n < 3e5 || doc.endless; n++); }';
    const open = (timeoutMs: number) => openProgram(patient, { validate_doc_update: source }, { timeoutMs });
    const { program: measured } = await open(1e6);
    const before = ticking.time;
    await measured.validate([write]);
    const timeoutMs = (ticking.time - before) * 3;
    const { program } = await open(timeoutMs);
    const many = Array.from({ length: 9 }, () => write);
    expect(await program.validate(many)).toEqual(many.map(() => undefined));
    const endless = { ...write, newDocument: '{"endless":true}' };
    await expect(program.validate([write, endless])).rejects.toThrow('os_process_error: OS process timed out.');
    patient.close();
  });

  test('that overflows the stack with one write validates the others', async () => {
    const deep = { ...write, newDocument: `{"_id":"b","x":${'['.repeat(20_000)}${']'.repeat(20_000)}}` };
    const source = 'function (doc) { if (doc._id === "c") throw {forbidden: "c"}; }';
    const [first, second, third] = await outcomes(source, [write, deep, { ...write, newDocument: '{"_id":"c"}' }]);
    expect(first).toBeUndefined();
    expect(second).toMatchObject({ code: 'os_process_error' });
    expect(third).toMatchObject({ code: 'forbidden' });
  });

  test('that is not a function is a compilation error', async () => {
    await expect(outcomes('nonsense(')).rejects.toMatchObject({ code: 'compilation_error' });
  });
});

describe('filters', () => {
  const design = {
    filters: {
      big: 'function (doc, req) { return doc.n > req.query.min && this.limit === 1; }',
      bad: 'function () { throw 1; }',
    },
    limit: 1,
    views: { named: { map: 'function (doc) { if (doc.n === 2) throw 1; if (doc.name) emit(1); }' } },
  };

  test('return which documents pass', async () => {
    const { program } = await openProgram(sandbox, design);
    expect(await program.filter('big', ['{"n":1}', '{"n":3}'], '{"query":{"min":2}}')).toEqual([false, true]);
    expect(await program.filterByView('named', ['{"n":1}', '{"n":1,"name":"x"}', '{"n":2,"name":"x"}'])).toEqual([
      false,
      true,
      false,
    ]);
  });

  test('fail if they are missing or throw', async () => {
    const { program } = await openProgram(sandbox, design);
    const run = async (name: string) => program.filter(name, ['{}'], '{}');
    await expect(run('none')).rejects.toMatchObject({
      code: 'not_found',
      reason: 'missing filters function none on design doc _design/d',
    });
    await expect(run('toString')).rejects.toMatchObject({ code: 'not_found' });
    await expect(run('bad')).rejects.toMatchObject({ code: 'function_error' });
    await expect((async () => program.filterByView('none', ['{}']))()).rejects.toMatchObject({
      code: 'not_found',
      reason: 'missing_named_view',
    });
  });
});

describe('require', () => {
  const design = {
    views: {
      lib: {
        a: 'exports.twice = function (n) { return 2 * n; };',
        b: 'var a = require("./a"); module.exports = function (n) { return a.twice(n) + 1; };',
      },
    },
    folder: { deep: { up: 'exports.value = require("../other").value;' }, other: 'exports.value = 7;' },
    counter: 'exports.n = (exports.n || 0) + 1; exports.id = module.id;',
    one: 'exports.early = 1; var two = require("./two"); exports.late = 2; exports.seen = two.seen;',
    two: 'var one = require("one"); exports.seen = [one.early, one.late]; exports.later = function () { return one.late; };',
    self: 'exports.n = 5; exports.same = require("./self") === exports; ',
    replaced: 'module.exports = function () { return other.n; }; var other = require("other2");',
    other2: 'exports.isFunction = typeof require("replaced"); exports.n = 3;',
    bad: 'exports = (;',
    number: 5,
    shows: {},
  };
  const run = async (expression: string) => {
    const { program } = await openProgram(sandbox, {
      ...design,
      filters: { f: `function () { throw ["error", "value", JSON.stringify(${expression})]; }` },
    });
    return (async () => program.filter('f', ['{}'], '{}'))().then(
      () => undefined,
      (error: unknown) => error,
    );
  };

  test.each([
    ['require("views/lib/b")(3)', '7'],
    ['require("folder/deep/up").value', '7'],
    ['[require("one").seen, require("two").later()]', '[[1,null],2]'],
    ['[require("self").n, require("self").same]', '[5,true]'],
    ['[require("replaced")(), require("other2").isFunction]', '[3,"function"]'],
    ['require("./folder//deep/../other").value', '7'],
    ['[require("counter").n, require("counter").n, require("counter").id]', '[1,1,"counter"]'],
  ])('%s', async (expression, text) => expect(await run(expression)).toMatchObject({ reason: text }));

  test.each([
    'require("nowhere")',
    'require("number")',
    'require("views/lib")',
    'require("../x")',
    'require("toString")',
    'require("__proto__/x")',
  ])('%s is refused', async (expression) =>
    expect(await run(expression)).toMatchObject({ code: 'invalid_require_path' }),
  );

  test('of a module that does not compile is a compilation error', async () => {
    expect(await run('require("bad")')).toMatchObject({ code: 'compilation_error' });
  });

  test('works in map functions', async () => {
    const { program } = await openProgram(sandbox, { views: design.views });
    const mapper = await program.mapper(['function (doc) { emit(require("views/lib/a").twice(doc.n)); }']);
    expect((await mapper.map(['{"n":4}']))[0]?.keys).toEqual(['8']);
  });
});
