import { assert } from 'chai';
import { assertError } from '../../../support/conformance/answer.ts';
import { fakeHash, fakeRev, replicated } from '../../../support/conformance/fake-revisions.ts';
import { at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import type { RequestOptions, Toolkit } from '../../../support/conformance/toolkit.ts';
import { changes, threeDocuments } from './steps.ts';

const filters = {
  even: 'function (doc) { return doc.n % 2 === 0; }',
  none: 'function (doc) { return false; }',
  truthy: 'function (doc) { return doc.n === 1 ? "yes" : doc.n === 2 ? 1 : ""; }',
  from: 'function (doc, req) { return doc.n >= Number(req.query.least); }',
  own: 'function (doc) { return this.answers[doc.n] === "pass"; }',
  body: 'function (doc, req) { return JSON.parse(req.body).only === doc.n; }',
  seen: 'function (doc, req) { throw({ seen: JSON.stringify(doc) }); }',
  gone: 'function (doc) { return doc._deleted === true; }',
  fails: 'function (doc) { if (doc.n === 3) throw new Error("three"); return true; }',
  conflicted: 'function (doc) { return doc._conflicts !== undefined && doc._conflicts.length === 1; }',
  history: 'function (doc) { return doc._revisions.start === 2 && doc._revisions.ids.length === 2; }',
  broken: 'function (doc) {',
  nothing: 'function () { throw null; }',
};
const views = {
  odd: { map: 'function (doc) { if (doc.n % 2) { emit(doc.n); emit(doc._id); } }' },
  careless: { map: 'function (doc) { if (doc.n === 2) throw("no"); emit(doc.n.x); }' },
};

async function prepare(t: Toolkit): Promise<void> {
  await threeDocuments(t);
  await t.put('_design/app', { filters, views, answers: { 1: 'pass', 3: 'pass' } });
}

async function idsOf(t: Toolkit, parameters: string, options?: RequestOptions): Promise<unknown[]> {
  return (await changes(t, parameters, options)).rows.map((row) => at(row, 'id'));
}

/** Functions of design documents as filters (docs/http/changes.md#filters-of-changes). */
export default suite('changes_filter_functions', [
  test('a filter function lets documents pass for which it returns a truthy value', async (t) => {
    await prepare(t);
    assert.deepEqual(await idsOf(t, 'filter=app/even'), ['a']);
    assert.deepEqual(await idsOf(t, 'filter=app%2Feven'), ['a']);
    assert.deepEqual(await idsOf(t, 'filter=app/truthy'), ['b', 'a']);
    assert.deepEqual(await idsOf(t, 'filter=app/own'), ['b', 'c']);
    assert.deepInclude(await changes(t, 'filter=app/none'), { rows: [], lastSeq: 4, pending: 0 });
  }),

  test('a filter function sees the request with all parameters and its body', async (t) => {
    await prepare(t);
    assert.deepEqual(await idsOf(t, 'filter=app/from&least=2'), ['a', 'c']);
    assert.deepEqual(await idsOf(t, 'filter=app/body', { json: { only: 3 } }), ['c']);
  }),

  test('a filter function sees documents with their ancestry and conflicts', async (t) => {
    await t.put('_design/app', { filters });
    await t.replicate([replicated('x', 2, 'ba'), replicated('x', 2, 'ca'), replicated('y', 1, 'a')]);
    assert.deepEqual(await idsOf(t, 'filter=app/conflicted'), ['x']);
    assert.deepEqual(await idsOf(t, 'filter=app/history'), ['x']);
    assert.deepEqual((await changes(t, 'filter=app/history&style=all_docs')).rows, [
      { seq: 3, id: 'x', changes: [{ rev: fakeRev(2, 'c') }, { rev: fakeRev(2, 'b') }] },
    ]);
  }),

  test('a filter function sees conflicts on the winner only if all leaves are listed', async (t) => {
    await t.put('_design/app', {
      filters,
      views: { conflicted: { map: 'function (doc) { if (doc._conflicts) emit(1); }' } },
    });
    await t.replicate([replicated('x', 2, 'ba'), replicated('x', 2, 'ca')]);
    const winner = [{ seq: 3, id: 'x', changes: [{ rev: fakeRev(2, 'c') }] }];
    assert.deepEqual((await changes(t, 'filter=app/conflicted&style=all_docs')).rows, winner);
    assert.deepEqual((await changes(t, 'filter=_view&view=app/conflicted&style=all_docs')).rows, winner);
  }),

  test('a filter function sees deleted documents', async (t) => {
    await prepare(t);
    await t.delete('a', fakeRev(1, 'b'));
    assert.deepEqual(await idsOf(t, 'filter=app/gone'), ['a']);
  }),

  test('a filter function is called for each leaf if all leaves are listed', async (t) => {
    await t.put('_design/app', { filters });
    await t.replicate([replicated('x', 2, 'ba', { n: 2 }), replicated('x', 2, 'ca', { n: 1 })]);
    assert.deepEqual((await changes(t, 'filter=app/even')).rows, []);
    assert.deepEqual((await changes(t, 'filter=app/even&style=all_docs')).rows, [
      { seq: 3, id: 'x', changes: [{ rev: fakeRev(2, 'b') }] },
    ]);
  }),

  test('_view lets documents pass for which the map function emits', async (t) => {
    await prepare(t);
    assert.deepEqual(await idsOf(t, 'filter=_view&view=app/odd'), ['b', 'c']);
    assert.deepEqual(await idsOf(t, 'filter=_view&view=app/careless'), ['b', 'c']);
  }),

  test('a missing filter function is answered 404, in any feed', async (t) => {
    await prepare(t);
    for (const feed of ['normal', 'longpoll', 'continuous', 'eventsource']) {
      const get = (parameters: string) => t.get(`/_changes?feed=${feed}&${parameters}`);
      assertError(await get('filter=other/even'), 404, 'not_found', 'missing');
      assertError(await get('filter=app/other'), 404, 'not_found', 'missing json key: other');
      assertError(await get('filter=_view&view=other/odd'), 404, 'not_found', 'missing');
      assertError(await get('filter=_view&view=app/other'), 404, 'not_found', 'missing json key: other');
    }
    await t.put('_design/bare', {});
    assertError(await t.get('/_changes?filter=bare/x'), 404, 'not_found', 'missing json key: filters');
    assertError(await t.get('/_changes?filter=_view&view=bare/x'), 404, 'not_found', 'missing json key: views');
  }),

  test("a filter that throws, or isn't a function, ends a normal feed with its own status", async (t) => {
    await prepare(t);
    const failed = await t.get('/_changes?filter=app/fails');
    assert.equal(failed.status, 500, failed.text);
    const broken = await t.get('/_changes?filter=app/broken');
    assert.equal(broken.status, 500, broken.text);
    assert.equal(at(broken.json, 'error'), 'compilation_error');
    const nothing = await t.get('/_changes?filter=app/nothing');
    const reason = 'null was thrown: by the function, or since its memory ran out';
    assertError(nothing, 500, 'unnamed_error', reason);
    const seen = await t.get('/_changes?filter=app/seen&limit=1');
    assert.include(seen.text, `_revisions`);
    assert.include(seen.text, fakeHash('a'));
  }),

  test("a filter function that throws aborts a live feed, so that the feed doesn't look complete", async (t) => {
    await prepare(t);
    const feed = await t.feed('feed=continuous&filter=app/fails&since=3&heartbeat=10000');
    await feed.line();
    await t.replicate([replicated('d', 1, 'd', { n: 3 })]);
    assert.isNotEmpty(await feed.failure());
  }),

  test('a running feed keeps its filter function when the design document changes', async (t) => {
    await prepare(t);
    const feed = await t.feed('feed=continuous&filter=app/even&since=now&heartbeat=10000');
    const rev = `${(await t.get('/_design/app')).header('etag')?.slice(1, -1)}`;
    await t.put('_design/app', { _rev: rev, filters: { even: 'function () { return true; }' } });
    await t.replicate([replicated('d', 1, 'd', { n: 5 }), replicated('e', 1, 'e', { n: 6 })]);
    assert.include(await feed.line(), '"id":"e"');
  }),
]);
