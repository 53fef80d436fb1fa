import { assert } from 'chai';
import { assertError } from '../../support/conformance/answer.ts';
import { suite, test } from '../../support/conformance/suite.ts';

const reserved = 'Only reserved document ids may start with underscore.';

/** Ids that no document can have (docs/http/documents.md#document-ids). */
export default suite('invalid_docids', [
  test('an id of our own must not begin with an underscore', async (t) => {
    for (const id of ['_foo', '_', '_All_docs', '_designs/x']) {
      assertError(await t.at('POST', '', { json: { _id: id } }), 400, 'bad_request', reserved);
      assertError(await t.at('PUT', `/${encodeURIComponent(id)}`, { json: {} }), 400, 'bad_request', reserved);
    }
    assert.deepInclude(await t.info(), { doc_count: 0, update_seq: 0 });
  }),

  test('an id must be a string', async (t) => {
    for (const id of [1, null, true, {}, ['a']]) {
      const answer = await t.at('POST', '', { json: { _id: id } });
      assertError(answer, 400, 'bad_request', 'Document id must be a string');
    }
  }),

  test('an id must not be empty', async (t) => {
    assertError(await t.at('POST', '', { json: { _id: '' } }), 400, 'bad_request', 'Document id must not be empty');
  }),

  test('an id in a path must be UTF-8', async (t) => {
    const answer = await t.at('PUT', '/a%FFb', { json: {} });
    assertError(answer, 400, 'bad_request', 'Document id must be valid UTF-8');
  }),

  test('one bad id refuses the whole bulk', async (t) => {
    const bad = [
      { id: '_foo', reason: reserved },
      { id: 7, reason: 'Document id must be a string' },
    ];
    for (const { id, reason } of bad) {
      const answer = await t.at('POST', '/_bulk_docs', { json: { docs: [{ _id: 'good' }, { _id: id }] } });
      assertError(answer, 400, 'bad_request', reason);
    }
    assertError(await t.get('/good'), 404, 'not_found', 'missing');
    assert.deepInclude(await t.info(), { doc_count: 0, update_seq: 0 });
  }),

  test('a local document has exactly one name segment', async (t) => {
    const bare = 'Invalid _local document id.';
    const deep = '_local documents do not accept attachments.';
    assertError(await t.at('PUT', '/_local', { json: {} }), 400, 'bad_request', bare);
    assertError(await t.at('PUT', '/_local/', { json: {} }), 400, 'bad_request', bare);
    assertError(await t.at('PUT', '/_local/a/b', { json: {} }), 400, 'bad_request', deep);
    assertError(await t.get('/_local/a/b'), 400, 'bad_request', deep);
  }),
]);
