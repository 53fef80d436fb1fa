import { assert } from 'chai';
import { assertAllowed, assertError, assertJson } from '../../support/conformance/answer.ts';
import { fakeRev, replicated } from '../../support/conformance/fake-revisions.ts';
import { arrayAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

async function bulkGet(t: Toolkit, query: string, docs: readonly object[]): Promise<readonly unknown[]> {
  const answer = await t.at('POST', `/_bulk_get${query}`, { json: { docs } });
  assert.equal(answer.status, 200, answer.text);
  assert.hasAllKeys(answer.json, ['results']);
  return arrayAt(answer.json, 'results');
}

function missing(id: string, rev: string): object {
  return { error: { id, rev, error: 'not_found', reason: 'missing' } };
}

/** `_bulk_get`, by which replicators of today read (docs/http/bulk.md#bulk-reads). */
export default suite('bulk_get', [
  test('reads given revisions, in order and with duplicates', async (t) => {
    const a = await t.put('a', { n: 1 });
    const b = await t.put('b', { n: 2 });
    const ok = (_id: string, _rev: string, n: number): object => ({ id: _id, docs: [{ ok: { _id, _rev, n } }] });
    const asked = [
      { id: 'b', rev: b },
      { id: 'a', rev: a },
      { id: 'b', rev: b },
    ];
    assert.deepEqual(await bulkGet(t, '', asked), [ok('b', b, 2), ok('a', a, 1), ok('b', b, 2)]);
  }),

  test('names the revisions that are missing', async (t) => {
    await t.put('a', { n: 1 });
    const asked = [
      { id: 'a', rev: fakeRev(7, 'a') },
      { id: 'nobody', rev: fakeRev(1, 'b') },
    ];
    assert.deepEqual(await bulkGet(t, '', asked), [
      { id: 'a', docs: [missing('a', fakeRev(7, 'a'))] },
      { id: 'nobody', docs: [missing('nobody', fakeRev(1, 'b'))] },
    ]);
  }),

  test('without a revision returns every leaf, also deleted ones', async (t) => {
    await t.replicate([
      replicated('doc', 2, 'ba', { n: 1 }),
      replicated('doc', 2, 'ca', { n: 2 }),
      replicated('doc', 3, 'dea', { _deleted: true }),
    ]);
    const [result] = await bulkGet(t, '', [{ id: 'doc' }]);
    assert.sameDeepMembers(
      [...arrayAt(result, 'docs')],
      [
        { ok: { _id: 'doc', _rev: fakeRev(2, 'b'), n: 1 } },
        { ok: { _id: 'doc', _rev: fakeRev(2, 'c'), n: 2 } },
        { ok: { _id: 'doc', _rev: fakeRev(3, 'd'), _deleted: true } },
      ],
    );
  }),

  test('says that an unknown document without a revision is missing, with the revision "undefined"', async (t) => {
    assert.deepEqual(await bulkGet(t, '', [{ id: 'nobody' }]), [
      { id: 'nobody', docs: [missing('nobody', 'undefined')] },
    ]);
  }),

  test('revs=true adds the ancestors', async (t) => {
    await t.replicate([replicated('doc', 3, 'cba', { n: 1 })]);
    const ids = ['c'.repeat(32), 'b'.repeat(32), 'a'.repeat(32)];
    assert.deepEqual(await bulkGet(t, '?revs=true', [{ id: 'doc', rev: fakeRev(3, 'c') }]), [
      { id: 'doc', docs: [{ ok: { _id: 'doc', _rev: fakeRev(3, 'c'), n: 1, _revisions: { start: 3, ids } } }] },
    ]);
  }),

  test('latest=true returns the leaves that descend from the revision', async (t) => {
    await t.replicate([replicated('doc', 2, 'ba', { n: 1 }), replicated('doc', 3, 'dca', { n: 2 })]);
    const [result] = await bulkGet(t, '?latest=true', [{ id: 'doc', rev: fakeRev(1, 'a') }]);
    assert.sameDeepMembers(
      [...arrayAt(result, 'docs')],
      [{ ok: { _id: 'doc', _rev: fakeRev(2, 'b'), n: 1 } }, { ok: { _id: 'doc', _rev: fakeRev(3, 'd'), n: 2 } }],
    );
  }),

  test('answers with JSON whenever the client accepts it', async (t) => {
    await t.put('a', {});
    for (const accept of ['*/*', 'application/json', 'multipart/mixed, application/json;q=0.5']) {
      const answer = await t.at('POST', '/_bulk_get', { json: { docs: [{ id: 'a' }] }, headers: { accept } });
      assert.lengthOf(arrayAt(answer.json, 'results'), 1);
    }
  }),

  test('an empty list of documents is answered with no results', async (t) => {
    assertJson(await t.at('POST', '/_bulk_get', { json: { docs: [] } }), 200, { results: [] });
  }),

  test('a body without a list of documents is answered 400', async (t) => {
    const reason = "Missing JSON list of 'docs'.";
    assertError(await t.at('POST', '/_bulk_get', { json: {} }), 400, 'bad_request', reason);
  }),

  test('only POST is allowed', async (t) => {
    assertAllowed(await t.at('GET', '/_bulk_get'), 'POST,QUERY');
  }),
]);
