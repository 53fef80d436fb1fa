import { afterEach, assert, beforeEach, describe, expect, test } from 'vitest';
import { arrayAt, at } from '../support/conformance/json.ts';
import { AttackedServer } from './support/attacked-server.ts';
import { assertUndisturbed, Neighbour } from './support/neighbour.ts';

/**
 * Functions come with documents from strangers. Whatever one does, the documents of other databases are read as before: 5 ms later at
 * the median, and never later than 100 ms. Each case is one function that is called beside a neighbour's reading.
 */
const limits = { medianBeyondQuiet: 5, longest: 100, turn: 50 };

let server: AttackedServer;
let neighbour: Neighbour;
let count = 0;

beforeEach(async () => {
  // Long enough to be seen where a function holds others up; with the default, 5 s, the cases would take that each.
  server = await AttackedServer.start({ settings: ['svc/os_process_timeout=500'] });
  neighbour = await Neighbour.moveIn(server);
});

afterEach(async () => {
  await neighbour.moveOut();
  await server.remove();
});

/** A database of its own with documents and a design document; gives its path. */
async function prepare(designDocument: object): Promise<string> {
  const path = `/hostile${++count}`;
  await server.client.must(201, 'PUT', path);
  const docs = Array.from({ length: 20 }, (_, n) => ({ _id: `doc-${n}`, n }));
  await server.client.must(201, 'POST', `${path}/_bulk_docs`, { json: { docs } });
  await server.client.must(201, 'PUT', `${path}/_design/d`, { json: designDocument });
  return path;
}

/** After the function has had its way, the database that it is in works as well. */
async function assertAlive(path: string): Promise<void> {
  const map = 'function (doc) { emit(doc.n, null); }';
  await server.client.must(201, 'PUT', `${path}/_design/harmless`, { json: { views: { v: { map } } } });
  const rows = await server.client.must(200, 'GET', `${path}/_design/harmless/_view/v?startkey=0`);
  expect(arrayAt(rows.json, 'rows')).toHaveLength(20);
}

/** Calls what a design document brings, and waits for its answer, which may be any or none. */
async function attack(designDocument: object, method: string, below: string): Promise<void> {
  const { prepared: path } = await assertUndisturbed(neighbour, limits, {
    prepare: () => prepare(designDocument),
    disturb: async (prepared) => {
      const body = method === 'GET' ? {} : { body: '{}' };
      await Promise.allSettled([server.client.ask(method, `${prepared}/${below}`, body)]);
    },
  });
  await assertAlive(path);
}

/** Statements that never end, or end when everything is used up, in every function. */
const common: Readonly<Record<string, string>> = {
  'a loop without end': 'while (true);',
  'a pattern that goes back for ever': '/^(a+)+$/.test(new Array(60).join("a") + "b");',
  'a list that is joined': 'for (;;) new Array(50000000).join("x");',
  'all the memory': 'var a = []; for (;;) a.push(new Array(100000).join("x") + a.length);',
};

/** More of them, in a map function. */
const further: Readonly<Record<string, string>> = {
  'a recursion without end': '(function again() { try { again(); } finally { again(); } })();',
  'a sort of millions': 'var a = []; for (var i = 0; i < 3e6; i++) a.push((i * 7919) % 3000017); a.sort();',
  'an array that is filled': 'for (;;) new Array(10000000).fill(1);',
  'JSON of a large array': 'var a = new Array(3000000); for (;;) JSON.parse(JSON.stringify(a));',
  'all the memory, again and again': 'for (;;) try { var a = []; for (;;) a.push([a.length, {}]); } catch (e) {}',
  'source that is made at run time':
    'for (;;) try { new Function("return " + new Array(100000).join("[") + new Array(100000).join("]")); } catch (e) {}',
};

describe("a map function doesn't delay other requests", () => {
  test.for(Object.entries({ ...common, ...further }))('with %s', async ([, statements]) => {
    const map = `function (doc) { if (doc.n === 10) { ${statements} } emit(doc.n, null); }`;
    await attack({ views: { v: { map } } }, 'GET', '_design/d/_view/v');
  });

  test('that takes 100 ms for each document', async () => {
    const map = 'function (doc) { var until = Date.now() + 100; while (Date.now() < until); emit(doc.n, null); }';
    const { result } = await assertUndisturbed(neighbour, limits, {
      prepare: () => prepare({ views: { v: { map } } }),
      disturb: (path) => server.client.must(200, 'GET', `${path}/_design/d/_view/v`),
    });
    expect(at(result.json, 'total_rows')).toBe(20);
  });

  test('whose library loops when it is required', async () => {
    const map = 'function (doc) { require("views/lib/endless"); emit(doc.n, null); }';
    await attack({ views: { lib: { endless: 'while (true);' }, v: { map } } }, 'GET', '_design/d/_view/v');
  });

  test('of which eight run at once', { timeout: 60_000 }, async () => {
    const views = { v: { map: 'function () { while (true); }' } };
    const { prepared: paths } = await assertUndisturbed(neighbour, limits, {
      prepare: () => Promise.all(Array.from({ length: 8 }, () => prepare({ views }))),
      disturb: (all) => Promise.all(all.map((path) => server.client.ask('GET', `${path}/_design/d/_view/v`))),
    });
    for (const path of paths) await assertAlive(path);
  });

  test('in a temporary view', async () => {
    const json = { map: 'function () { while (true); }' };
    const { prepared, result } = await assertUndisturbed(neighbour, limits, {
      prepare: () => prepare({}),
      disturb: (path) => server.client.ask('POST', `${path}/_temp_view`, { json }),
    });
    expect(at(result.json, 'error')).toBe('os_process_error');
    await assertAlive(prepared);
  });
});

/** Where else functions are called; `%` stands for what they do. */
const callers: readonly (readonly [string, object, string, string])[] = [
  [
    'a reduce function',
    { views: { v: { map: 'function (doc) { emit(doc.n, 1); }', reduce: 'function () { % return 1; }' } } },
    'GET',
    '_design/d/_view/v',
  ],
  ['a show', { shows: { f: 'function () { % }' } }, 'GET', '_design/d/_show/f/doc-1'],
  [
    'a list',
    {
      views: { v: { map: 'function (doc) { emit(doc.n, null); }' } },
      lists: { f: 'function () { var row; while ((row = getRow())) { send("row"); % } }' },
    },
    'GET',
    '_design/d/_list/f/v',
  ],
  ['an update', { updates: { f: 'function () { % }' } }, 'POST', '_design/d/_update/f/doc-1'],
  ['a validator', { validate_doc_update: 'function (doc) { if (doc._id === "bad") { % } }' }, 'PUT', 'bad'],
];

describe.for(callers)("%s doesn't delay other requests", ([, designDocument, method, below]) => {
  test.for(Object.entries(common))('with %s', async ([, statements]) => {
    const source = JSON.stringify(designDocument).replace('%', () => JSON.stringify(statements).slice(1, -1));
    await attack(JSON.parse(source), method, below);
  });
});

describe("a design document doesn't delay other requests", () => {
  test('with 20,000 views, while it is written', async () => {
    const views = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, n) => [`v${n}`, { map: `function (doc) { emit(doc.n, ${n}); }` }]),
    );
    const body = JSON.stringify({ views });
    await assertUndisturbed(neighbour, limits, {
      prepare: () => prepare({}),
      disturb: (path) => server.client.must(201, 'PUT', `${path}/_design/many`, { body }),
    });
  });

  test('with 5,000 views of one map, reduced in different ways, while one is queried', {
    timeout: 120_000,
  }, async () => {
    const map = 'function (doc) { emit(doc.n, 1); }';
    const views = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, n) => [`v${n}`, { map, reduce: `function () { return ${n}; }` }]),
    );
    const { result } = await assertUndisturbed(
      neighbour,
      { longest: limits.longest },
      {
        prepare: () => prepare({ views }),
        disturb: (path) => server.client.must(200, 'GET', `${path}/_design/d/_view/v4999`),
      },
    );
    expect(result.json).toEqual({ rows: [{ key: null, value: 4_999 }] });
  });

  test('whose map emits 90,000 rows for each of three documents, while it is queried', {
    timeout: 120_000,
  }, async () => {
    const map = 'function (doc) { if (doc.n < 3) for (var i = 0; i < 90000; i++) emit("key", 90000 - i); }';
    const { result } = await assertUndisturbed(
      neighbour,
      { longest: limits.longest },
      {
        prepare: () => prepare({ views: { v: { map } } }),
        disturb: (path) => server.client.must(200, 'GET', `${path}/_design/d/_view/v?limit=1`),
      },
    );
    expect(at(result.json, 'total_rows')).toBe(270_000);
  });

  test('with 2,000 views, while one is queried', { timeout: 60_000 }, async () => {
    const views = Object.fromEntries(
      Array.from({ length: 2_000 }, (_, n) => [`v${n}`, { map: `function (doc) { emit(doc.n, ${n}); }` }]),
    );
    await assertUndisturbed(neighbour, limits, {
      prepare: () => prepare({ views }),
      disturb: (path) => server.client.ask('GET', `${path}/_design/d/_view/v7`),
    });
  });

  test('with 20,000 functions beside a validator, while a document is written', { timeout: 60_000 }, async () => {
    const updates = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, n) => [`f${n}`, `function () { return ${n}; }`]),
    );
    const validator = 'function (doc) { if (doc.n < 0) throw { forbidden: "no" }; }';
    await assertUndisturbed(neighbour, limits, {
      prepare: () => prepare({ updates, validate_doc_update: validator }),
      disturb: (path) => server.client.must(403, 'PUT', `${path}/doc`, { json: { n: -1 } }),
    });
  });

  test('that is one of 200 with validators, while a document is written', { timeout: 120_000 }, async () => {
    const docs = Array.from({ length: 200 }, (_, n) => ({
      _id: `_design/v${n}`,
      validate_doc_update: `function (doc) { if (doc.n === ${n}) throw { forbidden: "no" }; }`,
    }));
    await assertUndisturbed(neighbour, limits, {
      prepare: async () => {
        const path = await prepare({});
        await server.client.must(201, 'POST', `${path}/_bulk_docs`, { json: { docs } });
        return path;
      },
      disturb: (path) => server.client.must(201, 'PUT', `${path}/doc`, { json: { n: 1_000 } }),
    });
  });

  test('with endlessly nested source, while it is compiled', async () => {
    const map = `function (doc) { emit(${'['.repeat(200_000)}${']'.repeat(200_000)}); }`;
    const { prepared, result } = await assertUndisturbed(neighbour, limits, {
      prepare: () => prepare({ views: { v: { map } } }),
      disturb: (path) => server.client.ask('GET', `${path}/_design/d/_view/v`),
    });
    assert.isAtLeast(result.status, 400, result.summary);
    await assertAlive(prepared);
  });

  test('with 10 MB of source, while it is compiled', { timeout: 60_000 }, async () => {
    const map = `function (doc) { var text = "${'x'.repeat(5_000_000)}"; ${'emit(1);'.repeat(600_000)} }`;
    await attack({ views: { v: { map } } }, 'GET', '_design/d/_view/v?limit=1');
  });
});
