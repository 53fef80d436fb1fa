import { assert } from 'chai';
import { assertAllowed, assertError, assertJson } from '../../support/conformance/answer.ts';
import { fakeRev, replicated } from '../../support/conformance/fake-revisions.ts';
import { suite, test } from '../../support/conformance/suite.ts';

/** `_revs_diff` and `_missing_revs` (docs/http/bulk.md#missing-revisions): what a replicator asks before it sends. */
export default suite('revs_diff', [
  test('every revision of an unknown document is missing', async (t) => {
    const asked = { nobody: [fakeRev(1, 'a'), fakeRev(2, 'b')] };
    assertJson(await t.at('POST', '/_revs_diff', { json: asked }), 200, {
      nobody: { missing: [fakeRev(1, 'a'), fakeRev(2, 'b')] },
    });
    assertJson(await t.at('POST', '/_missing_revs', { json: asked }), 200, { missing_revs: asked });
  }),

  test('known revisions are not returned', async (t) => {
    await t.replicate([replicated('one', 2, 'ba'), replicated('two', 1, 'a')]);
    const asked = { one: [fakeRev(2, 'b'), fakeRev(1, 'a')], two: [fakeRev(1, 'a')] };
    assertJson(await t.at('POST', '/_revs_diff', { json: asked }), 200, {});
    assertJson(await t.at('POST', '/_missing_revs', { json: asked }), 200, { missing_revs: {} });
  }),

  test('leaves below the highest missing generation are possible ancestors', async (t) => {
    await t.replicate([replicated('doc', 2, 'ba'), replicated('doc', 4, 'fdca')]);
    const answer = await t.at('POST', '/_revs_diff', { json: { doc: [fakeRev(3, '9'), fakeRev(2, 'b')] } });
    assertJson(answer, 200, { doc: { missing: [fakeRev(3, '9')], possible_ancestors: [fakeRev(2, 'b')] } });
  }),

  test('without such leaves there is no possible_ancestors member', async (t) => {
    await t.replicate([replicated('doc', 2, 'ba')]);
    const answer = await t.at('POST', '/_revs_diff', { json: { doc: [fakeRev(2, '9'), fakeRev(1, '8')] } });
    assertJson(answer, 200, { doc: { missing: [fakeRev(2, '9'), fakeRev(1, '8')] } });
  }),

  test('a revision removed by compaction is known', async (t) => {
    const first = await t.put('doc', { n: 1 });
    const second = await t.put('doc', { _rev: first, n: 2 });
    await t.compact();
    assertError(await t.get(`/doc?rev=${first}`), 404, 'not_found', 'missing');
    assertJson(await t.at('POST', '/_revs_diff', { json: { doc: [first, second] } }), 200, {});
    assertJson(await t.at('POST', '/_missing_revs', { json: { doc: [first] } }), 200, { missing_revs: {} });
  }),

  test('a tombstone is known', async (t) => {
    const tombstone = await t.delete('doc', await t.put('doc', {}));
    assertJson(await t.at('POST', '/_revs_diff', { json: { doc: [tombstone] } }), 200, {});
  }),

  test('many documents are compared in one request', async (t) => {
    await t.bulk(Array.from({ length: 500 }, (_, n) => ({ _id: `known${n}` })));
    const asked = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`unknown${n}`, [fakeRev(1, 'a')]]));
    const answer = await t.at('POST', '/_revs_diff', { json: asked });
    const expected = Object.keys(asked).map((id) => [id, { missing: [fakeRev(1, 'a')] }]);
    assertJson(answer, 200, Object.fromEntries(expected));
  }),

  test('no content type is required', async (t) => {
    const headers = { 'content-type': 'text/plain' };
    assertJson(await t.at('POST', '/_revs_diff', { body: '{}', headers }), 200, {});
    assertJson(await t.at('POST', '/_missing_revs', { body: '{}', headers }), 200, { missing_revs: {} });
  }),

  test('an invalid request is refused', async (t) => {
    for (const path of ['/_revs_diff', '/_missing_revs']) {
      const badRev = await t.at('POST', path, { json: { doc: ['nonsense'] } });
      assertError(badRev, 400, 'bad_request', 'Invalid rev format');
      const list = await t.at('POST', path, { json: [] });
      assertError(list, 400, 'bad_request', 'Request body must be a JSON object');
      assertError(await t.at('POST', path, { body: '{"a":' }), 400, 'bad_request', 'invalid_json');
      assert.equal((await t.at('POST', path, { json: { doc: 'no list' } })).status, 400);
      assertAllowed(await t.get(path), 'POST,QUERY');
    }
  }),
]);
