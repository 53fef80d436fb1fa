import { assert } from 'chai';
import { assertError } from '../../support/conformance/answer.ts';
import { arrayAt, at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import { pluck, putViews, query, rowsOf } from '../../support/conformance/view-steps.ts';

/** Functions of documents reach nothing but what they are given (docs/http/functions.md#the-sandbox). */
export default suite('view_sandboxing', [
  test("a map function can't change the document for the next map function", async (t) => {
    await putViews(t, {
      a: 'function (doc) { doc.n = 2; delete doc.list; emit(doc.n, null); }',
      b: 'function (doc) { try { doc.list.push(9); } catch (e) {} emit(doc.n, doc.list); }',
      c: 'function (doc) { emit(doc.n, doc.list); }',
    });
    await t.put('x', { n: 1, list: [1] });
    assert.deepEqual(rowsOf(await query(t, 'b')), [{ id: 'x', key: 1, value: [1] }]);
    assert.deepEqual(rowsOf(await query(t, 'c')), [{ id: 'x', key: 1, value: [1] }]);
    assert.equal(at((await t.get('/x')).json, 'n'), 1);
  }),

  test('a map function has no network, storage or process', async (t) => {
    const names = [
      'fetch',
      'XMLHttpRequest',
      'indexedDB',
      'process',
      'importScripts',
      'self',
      'window',
      'WebAssembly',
      'postMessage',
    ];
    const tests = names.map((name) => `emit("${name}", typeof ${name});`).join(' ');
    await putViews(t, { v: `function (doc) { ${tests} }` });
    await t.put('x', {});
    assert.deepEqual(new Set(pluck(await query(t, 'v'), 'value')), new Set(['undefined']));
  }),

  test("state that one document leaves behind doesn't reach other databases", async (t) => {
    const map =
      'function (doc) { try { globalThis.seen = (globalThis.seen || 0) + 1; } catch (e) {} emit(doc._id, typeof seen); }';
    await putViews(t, { v: map });
    await t.put('x', {});
    await query(t, 'v');
    const other = `${t.db}_other`;
    await t.createDatabase(other);
    await t.request('PUT', `/${other}/_design/test`, {
      json: { views: { v: { map: 'function (doc) { emit(1, typeof seen); }' } } },
    });
    await t.request('PUT', `/${other}/x`, { json: {} });
    const answer = await t.request('GET', `/${other}/_design/test/_view/v`);
    assert.deepEqual(pluck(answer, 'value'), ['undefined']);
  }),

  test('sum, toJSON, isArray, log and JSON are available', async (t) => {
    await putViews(t, {
      v: 'function (doc) { log("seen " + doc._id); emit(sum([1, 2, 3]), [isArray([]), isArray({}), toJSON({ a: 1 }), JSON.parse("[7]")]); }',
    });
    await t.put('x', {});
    assert.deepEqual(rowsOf(await query(t, 'v')), [{ id: 'x', key: 6, value: [true, false, '{"a":1}', [7]] }]);
  }),

  test('modules of views.lib can be required', async (t) => {
    await putViews(t, {
      lib: {
        double: 'exports.of = function (n) { return 2 * n; };',
        deep: {
          quad: 'var double = require("../double"); module.exports = function (n) { return double.of(double.of(n)); };',
        },
      },
      v: 'function (doc) { emit(require("views/lib/double").of(doc.n), require("views/lib/deep/quad")(doc.n)); }',
    });
    await t.put('x', { n: 3 });
    assert.deepEqual(rowsOf(await query(t, 'v')), [{ id: 'x', key: 6, value: 12 }]);
  }),

  test('modules may require each other', async (t) => {
    const modules = {
      a: 'exports.early = "e"; var b = require("./b"); exports.name = "a" + b.name;',
      b: 'var a = require("./a"); exports.name = "b" + a.early; exports.later = function () { return a.name; };',
    };
    const names = (folder: string) =>
      `[require("${folder}/a").name, require("${folder}/b").name, require("${folder}/b").later()].join()`;
    await t.put('_design/test', {
      views: { lib: modules, v: { map: `function () { emit(${names('views/lib')}, null); }` } },
      lib: modules,
      shows: { s: `function () { return ${names('lib')}; }` },
      lists: { l: `function () { return ${names('lib')}; }` },
      updates: { u: `function () { return [null, ${names('lib')}]; }` },
      filters: { f: `function () { return ${names('lib')} === "abe,be,abe"; }` },
      validate_doc_update: `function () { if (${names('lib')} !== "abe,be,abe") throw { forbidden: "no" }; }`,
    });
    await t.put('x', {});
    assert.deepEqual(pluck(await query(t, 'v'), 'key'), ['abe,be,abe']);
    assert.equal((await t.get('/_design/test/_show/s')).text, 'abe,be,abe');
    assert.equal((await t.get('/_design/test/_list/l/v')).text, 'abe,be,abe');
    assert.equal((await t.at('POST', '/_design/test/_update/u')).text, 'abe,be,abe');
    assert.lengthOf(arrayAt((await t.get('/_changes?filter=test/f')).json, 'results'), 2);
  }),

  test('dates are in UTC', async (t) => {
    await putViews(t, {
      v: 'function (doc) { var d = new Date(doc.at); emit([d.getFullYear(), d.getMonth(), d.getDate(), d.getHours(), d.getTimezoneOffset()], new Date(2026, 6, 1).getTime()); }',
    });
    await t.put('a', { at: '2026-07-01T00:30:00Z' });
    await t.put('b', { at: '2026-07-01T00:30:00' });
    const rows = rowsOf(await query(t, 'v'));
    const value = 1_782_864_000_000;
    assert.deepEqual(rows, [
      { id: 'a', key: [2026, 6, 1, 0, 0], value },
      { id: 'b', key: [2026, 6, 1, 0, 0], value },
    ]);
  }),

  test('endless recursion leaves out that document only', async (t) => {
    await putViews(t, { v: 'function (doc) { if (doc.bad) { (function f() { f(); })(); } emit(doc._id, null); }' });
    await t.bulk([{ _id: 'a' }, { _id: 'b', bad: true }, { _id: 'c' }]);
    assert.deepEqual(pluck(await query(t, 'v'), 'key'), ['a', 'c']);
  }),

  test('a map function that exhausts its memory leaves out that document, and the service continues', async (t) => {
    await putViews(t, {
      v: 'function (doc) { var all = []; while (true) all.push(new Uint8Array(1000000)); }',
    });
    await t.put('x', {});
    const answer = await t.get('/_design/test/_view/v');
    assert.deepEqual([answer.status, at(answer.json, 'rows')], [200, []]);
    const info = await t.get('/_design/test/_info');
    assert.equal(at(info.json, 'view_index', 'documents_left_out'), 1);
    assert.equal((await t.get('/x')).status, 200);
  }),

  test('views in other languages are refused', async (t) => {
    await putViews(t, { v: 'fun({Doc}) -> ok end.' }, { language: 'erlang' });
    const answer = await t.get('/_design/test/_view/v');
    assert.deepEqual([answer.status, at(answer.json, 'error')], [501, 'not_implemented']);
  }),

  test('a map that is not a function is a compilation error', async (t) => {
    await putViews(t, { v: '"no function"' });
    await t.put('x', {});
    const answer = await t.get('/_design/test/_view/v');
    assert.deepEqual([answer.status, at(answer.json, 'error')], [500, 'compilation_error']);
    assertError(await t.get('/_design/test/_view/w'), 404, 'not_found', 'missing_named_view');
  }),
]);
