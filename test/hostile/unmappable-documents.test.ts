import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { arrayAt, at, numberAt } from '../support/conformance/json.ts';
import { AttackedServer } from './support/attacked-server.ts';

/**
 * A document that can't be mapped is left out of the view: too large for the sandbox, with a row over 16 MB, or one on which the map
 * function uses up all memory. The view lives, the log names the document, and `view_index.documents_left_out` in `_info` counts such
 * documents.
 */
let server: AttackedServer;

beforeEach(async () => {
  // What uses up memory shall be stopped for that, also on a busy machine.
  server = await AttackedServer.start({ settings: ['svc/os_process_timeout=30000'] });
  await server.client.must(201, 'PUT', '/db');
});

afterEach(() => server.remove());

async function leftOut(): Promise<number> {
  const info = await server.client.must(200, 'GET', '/db/_design/d/_info');
  const count = at(info.json, 'view_index', 'documents_left_out');
  return typeof count === 'number' ? count : 0;
}

describe("one document of twenty that can't be mapped", () => {
  /** What the map function does with document 10, beside emitting a row for each. */
  const cases: readonly (readonly [string, string])[] = [
    ['has a row whose value is over 16 MB', 'emit(10, new Array(17000001).join("x"));'],
    ['has a row whose key is over 16 MB', 'emit(new Array(17000001).join("x"), null);'],
    ['has rows that together need more memory than there is', 'for (;;) emit(10, new Array(1000001).join("x"));'],
    ['uses up all memory', 'var a = []; for (;;) a.push(new Array(1000000).join("x") + a.length);'],
  ];

  test.for(cases)('%s', { timeout: 120_000 }, async ([, statements]) => {
    const docs = Array.from({ length: 20 }, (_, n) => ({ _id: `doc-${n}`, n }));
    await server.client.must(201, 'POST', '/db/_bulk_docs', { json: { docs } });
    const map = `function (doc) { emit(doc.n, 1); if (doc.n === 10) { ${statements} } }`;
    await server.client.must(201, 'PUT', '/db/_design/d', { json: { views: { v: { map, reduce: '_sum' } } } });
    const rows = await server.client.must(200, 'GET', '/db/_design/d/_view/v?reduce=false');
    const others = docs.filter(({ n }) => n !== 10);
    expect(arrayAt(rows.json, 'rows')).toEqual(others.map(({ _id, n }) => ({ id: _id, key: n, value: 1 })));
    expect(await leftOut()).toBe(1);
    expect(server.log).toMatch(/doc-10\b/);
    expect((await server.client.must(200, 'GET', '/db/_design/d/_view/v')).json).toEqual({
      rows: [{ key: null, value: 19 }],
    });
  });

  test('is mapped again after it changed', async () => {
    const docs = Array.from({ length: 20 }, (_, n) => ({ _id: `doc-${n}`, n }));
    const written = await server.client.must(201, 'POST', '/db/_bulk_docs', { json: { docs } });
    const map = 'function (doc) { emit(doc.n, null); if (doc.n === 10) emit(0, new Array(17000001).join("x")); }';
    await server.client.must(201, 'PUT', '/db/_design/d', { json: { views: { v: { map } } } });
    const before = await server.client.must(200, 'GET', '/db/_design/d/_view/v');
    expect(numberAt(before.json, 'total_rows')).toBe(19);
    await server.client.must(201, 'PUT', '/db/doc-10', { json: { _rev: at(written.json, 10, 'rev'), n: 100 } });
    const after = await server.client.must(200, 'GET', '/db/_design/d/_view/v?startkey=50');
    expect(arrayAt(after.json, 'rows')).toEqual([{ id: 'doc-10', key: 100, value: null }]);
    expect(await leftOut()).toBe(0);
  });
});

test('a million rows of one document are in the view, or the document is left out', { timeout: 120_000 }, async () => {
  const docs = Array.from({ length: 20 }, (_, n) => ({ _id: `doc-${n}`, n }));
  await server.client.must(201, 'POST', '/db/_bulk_docs', { json: { docs } });
  const text = 'a value with about as many characters as many have, '.repeat(2);
  const map = `function (doc) { if (doc.n !== 10) emit(doc.n); else for (var i = 0; i < 1e6; i++) emit(100 + i, "${text}" + i); }`;
  await server.client.must(201, 'PUT', '/db/_design/d', { json: { views: { v: { map, reduce: '_count' } } } });
  const others = await server.client.must(200, 'GET', '/db/_design/d/_view/v?reduce=false&endkey=19');
  expect(arrayAt(others.json, 'rows')).toHaveLength(19);
  const count = await leftOut();
  const total = await server.client.must(200, 'GET', '/db/_design/d/_view/v');
  expect(numberAt(total.json, 'rows', 0, 'value')).toBe(count === 0 ? 1_000_019 : 19);
});

test("a document of 20 MB doesn't stop an index over its text", { timeout: 120_000 }, async () => {
  await server.client.must(201, 'PUT', '/db/large', { json: { text: 'x'.repeat(20_000_000) } });
  await server.client.must(201, 'PUT', '/db/small', { json: { text: 'short' } });
  const index = { index: { fields: ['text'] }, name: 'by-text', ddoc: 'by-text' };
  await server.client.must(200, 'POST', '/db/_index', { json: index });
  const json = { selector: { text: { $gt: null } }, fields: ['_id'] };
  const found = await server.client.must(200, 'POST', '/db/_find', { json });
  expect(arrayAt(found.json, 'docs')).toContainEqual({ _id: 'small' });
});

test('thirty documents of 20 MB are in a query, and in a view or left out', { timeout: 240_000 }, async () => {
  const text = 'x'.repeat(20_000_000);
  for (let n = 0; n < 30; n++) await server.client.must(201, 'PUT', `/db/large-${n}`, { json: { n, text } });
  const docs = Array.from({ length: 10 }, (_, n) => ({ _id: `small-${n}`, n: 100 + n, text: 'xx' }));
  await server.client.must(201, 'POST', '/db/_bulk_docs', { json: { docs } });

  const index = { index: { fields: ['n'] }, name: 'by-n', ddoc: 'by-n' };
  await server.client.must(200, 'POST', '/db/_index', { json: index });
  const json = { selector: { n: { $gte: 0 } }, fields: ['_id'], limit: 100 };
  const found = await server.client.must(200, 'POST', '/db/_find', { json });
  expect(arrayAt(found.json, 'docs')).toHaveLength(40);

  const map = 'function (doc) { emit(doc.n, doc.text.length); }';
  await server.client.must(201, 'PUT', '/db/_design/d', { json: { views: { v: { map } } } });
  const rows = await server.client.must(200, 'GET', '/db/_design/d/_view/v');
  const lengths = arrayAt(rows.json, 'rows').map((row) => at(row, 'value'));
  expect(lengths.filter((length) => length === 2)).toHaveLength(10);
  expect(lengths.filter((length) => length === 20_000_000)).toHaveLength(30 - (await leftOut()));
  const again = await server.client.must(200, 'GET', '/db/_design/d/_view/v?startkey=100');
  expect(arrayAt(again.json, 'rows')).toHaveLength(10);
});
