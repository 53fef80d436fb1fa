import { assert } from 'chai';
import { assertAllowed, assertError, assertJson } from '../../support/conformance/answer.ts';
import { fakeRev, replicated } from '../../support/conformance/fake-revisions.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

async function purge(t: Toolkit, json: Record<string, readonly string[]>): Promise<unknown> {
  const answer = await t.at('POST', '/_purge', { json });
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

/** `_purge` (docs/http/databases.md#purge): leaves go for good, as if they had never been. */
export default suite('purge', [
  test('purging the only leaf removes the document completely', async (t) => {
    const first = await t.put('doc', { n: 1 });
    const rev = await t.put('doc', { _rev: first, n: 2 });
    const other = await t.put('other', {});
    assert.deepEqual(await purge(t, { doc: [rev], other: [] }), { purge_seq: 1, purged: { doc: [rev] } });
    assertError(await t.get('/doc'), 404, 'not_found', 'missing');
    assertError(await t.get(`/doc?rev=${first}`), 404, 'not_found', 'missing');
    assertError(await t.get(`/doc?rev=${rev}`), 404, 'not_found', 'missing');
    assert.deepInclude(await t.info(), { doc_count: 1, doc_del_count: 0, purge_seq: 1, update_seq: 4 });
    assertJson(await t.get('/_all_docs'), 200, {
      total_rows: 1,
      offset: 0,
      rows: [{ id: 'other', key: 'other', value: { rev: other } }],
    });
  }),

  test('purging several documents at once is one step of update_seq and purge_seq', async (t) => {
    const [one, two] = [await t.put('one', {}), await t.put('two', {})];
    const outcome = await purge(t, { one: [one], two: [two] });
    assert.deepEqual(outcome, { purge_seq: 1, purged: { one: [one], two: [two] } });
    assert.deepInclude(await t.info(), { doc_count: 0, purge_seq: 1, update_seq: 3 });
    const three = await t.put('three', {});
    assert.deepEqual(await purge(t, { three: [three] }), { purge_seq: 2, purged: { three: [three] } });
  }),

  test('a purged document can be created again from generation 1', async (t) => {
    const rev = await t.put('doc', { n: 1 });
    const second = await t.put('doc', { _rev: rev, n: 2 });
    await purge(t, { doc: [second] });
    assert.equal(await t.put('doc', { n: 1 }), rev);
  }),

  test('purging one of two branches removes it back to the fork', async (t) => {
    await t.replicate([replicated('doc', 2, 'ba', { n: 1 }), replicated('doc', 3, 'dca', { n: 2 })]);
    const outcome = await purge(t, { doc: [fakeRev(3, 'd')] });
    assert.deepEqual(outcome, { purge_seq: 1, purged: { doc: [fakeRev(3, 'd')] } });
    assertJson(await t.get('/doc?conflicts=true'), 200, { _id: 'doc', _rev: fakeRev(2, 'b'), n: 1 });
    const asked = { doc: [fakeRev(3, 'd'), fakeRev(2, 'c'), fakeRev(1, 'a')] };
    assertJson(await t.at('POST', '/_missing_revs', { json: asked }), 200, {
      missing_revs: { doc: [fakeRev(3, 'd'), fakeRev(2, 'c')] },
    });
    assert.deepInclude(await t.info(), { doc_count: 1, doc_del_count: 0 });
  }),

  test('a tombstone can be purged', async (t) => {
    const tombstone = await t.delete('doc', await t.put('doc', {}));
    await purge(t, { doc: [tombstone] });
    assertError(await t.get('/doc'), 404, 'not_found', 'missing');
    assert.deepInclude(await t.info(), { doc_count: 0, doc_del_count: 0 });
  }),

  test("unknown revisions and revisions that aren't leaves are ignored", async (t) => {
    const first = await t.put('doc', { n: 1 });
    const second = await t.put('doc', { _rev: first, n: 2 });
    const other = await t.put('other', {});
    const outcome = await purge(t, { nobody: [fakeRev(1, 'a')], doc: [first], other: [fakeRev(9, '9'), other] });
    assert.deepInclude(outcome, { purged: { other: [other] } });
    assertJson(await t.get('/doc'), 200, { _id: 'doc', _rev: second, n: 2 });
  }),

  test('an invalid request is refused', async (t) => {
    const invalid = await t.at('POST', '/_purge', { json: { doc: ['nonsense'] } });
    assertError(invalid, 400, 'bad_request', 'Invalid rev format');
    const typed = await t.at('POST', '/_purge', { body: '{}', headers: { 'content-type': 'text/plain' } });
    assertError(typed, 415, 'bad_content_type', 'Content-Type must be application/json');
    const list = await t.at('POST', '/_purge', { json: [] });
    assertError(list, 400, 'bad_request', 'Request body must be a JSON object');
    assertAllowed(await t.get('/_purge'), 'POST');
  }),
]);
