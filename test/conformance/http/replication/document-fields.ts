import { assert } from 'chai';
import { assertError } from '../../../support/conformance/answer.ts';
import { arrayAt, at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import { untilState, useReplicator } from './steps.ts';

const ENDS = { source: 'a', target: 'b' };

/** What a document must look like, and the reason for which it is refused with 403. */
const REFUSED: readonly (readonly [members: object, reason: string])[] = [
  [{ target: 'b' }, "The `source' property must exist and be either a string or an object."],
  [{ source: 'a' }, "The `target' property must exist and be either a string or an object."],
  [{ source: 1, target: 'b' }, "The `source' property must exist and be either a string or an object."],
  [{ source: null, target: 'b' }, "The `source' property must exist and be either a string or an object."],
  [{ source: {}, target: 'b' }, "The url property must exist in the `source' field and must be a non-empty string."],
  [
    { source: 'a', target: { url: '' } },
    "The url property must exist in the `target' field and must be a non-empty string.",
  ],
  [{ source: { url: 'http://127.0.0.1:1/a', auth: null }, target: 'b' }, "`source.auth' must be a non-null object."],
  [
    { source: 'a', target: { url: 'http://127.0.0.1:1/a', headers: 'x' } },
    "`target.headers' must be a non-null object.",
  ],
  [{ ...ENDS, create_target: 'true' }, "The `create_target' field must be a boolean."],
  [{ ...ENDS, continuous: 1 }, "The `continuous' field must be a boolean."],
  [{ ...ENDS, design_docs: 'no' }, "The `design_docs' field must be a boolean."],
  [{ ...ENDS, doc_ids: 'x' }, "The `doc_ids' field must be an array of strings."],
  [{ ...ENDS, doc_ids: ['x', 1] }, "The `doc_ids' field must be an array of strings."],
  [{ ...ENDS, filter: '' }, "The `filter' field must be a non-empty string."],
  [{ ...ENDS, filter: {} }, "The `filter' field must be a non-empty string."],
  [{ ...ENDS, filter: 'd/f', query_params: [] }, "The `query_params' field must be an object."],
  [{ ...ENDS, user_ctx: null }, "The `user_ctx' property must be a non-null object."],
  [{ ...ENDS, user_ctx: { name: '' } }, "The `user_ctx.name' property must be a non-empty string or null."],
  [{ ...ENDS, user_ctx: { roles: 'x' } }, "The `user_ctx.roles' property must be an array of strings."],
  [{ ...ENDS, user_ctx: { name: 'joe', roles: [''] } }, 'Roles must be non-empty strings.'],
];

export default suite('replication_document_fields', [
  test('a document with invalid members is refused', async (t) => {
    await useReplicator(t);
    for (const [members, reason] of REFUSED) {
      assertError(await t.request('PUT', '/_replicator/doc', { json: members }), 403, 'forbidden', reason);
    }
    assert.equal((await t.request('GET', '/_replicator/doc')).status, 404);
  }),

  test('a document longer than a request can be is refused', async (t) => {
    await useReplicator(t);
    const json = { ...ENDS, doc_ids: Array(300).fill('x'.repeat(14_000)) };
    const reason =
      'A replication document may have at most 4194304 characters. Use a selector in place of a long list of ids.';
    assertError(await t.request('PUT', '/_replicator/doc', { json }), 413, 'too_large', reason);
    const replicated = { docs: [{ ...json, _id: 'doc', _rev: '1-abc' }], new_edits: false };
    const pushed = await t.request('POST', '/_replicator/_bulk_docs', { json: replicated });
    assert.deepInclude(arrayAt(pushed.json)[0], { id: 'doc', error: 'too_large', reason });
    assert.equal((await t.request('GET', '/_replicator/doc')).status, 404);
  }),

  test('invalid documents in a bulk write are refused one by one, also replicated ones', async (t) => {
    await useReplicator(t);
    const reason = "The `target' property must exist and be either a string or an object.";
    const docs = [{ _id: 'bad', source: 'a' }, { _id: '_design/d' }];
    const bulk = await t.request('POST', '/_replicator/_bulk_docs', { json: { docs } });
    assert.deepInclude(arrayAt(bulk.json)[0], { id: 'bad', error: 'forbidden', reason });
    assert.isTrue(at(arrayAt(bulk.json)[1], 'ok'));
    const replicated = [{ _id: 'bad', _rev: '1-abc', source: 'a' }];
    const pushed = await t.request('POST', '/_replicator/_bulk_docs', { json: { docs: replicated, new_edits: false } });
    assert.deepInclude(arrayAt(pushed.json)[0], { id: 'bad', error: 'forbidden', reason });
  }),

  test('other errors are written to the document', async (t) => {
    await useReplicator(t);
    const cases: readonly (readonly [object, string])[] = [
      [{ doc_ids: ['a'], filter: 'd/f' }, '`doc_ids`, `filter`, `selector` are mutually exclusive'],
      [{ filter: 'f' }, "The `filter' field must have the form designname/filtername."],
    ];
    for (const [index, [members, reason]] of cases.entries()) {
      const id = `doc${index}`;
      assert.equal((await t.request('PUT', `/_replicator/${id}`, { json: { ...ENDS, ...members } })).status, 201);
      const document = await untilState(t, id, 'error');
      assert.equal(at(document, '_replication_state_reason'), reason);
      const listed = await t.request('GET', `/_scheduler/docs/_replicator/${id}`);
      assert.deepInclude(listed.json, { state: 'failed', info: { error: reason }, source: 'a', target: 'b' });
    }
  }),

  test('the owner is the user who writes, unless the document names another', async (t) => {
    await useReplicator(t);
    const ownerOf = async (id: string) => at((await t.request('GET', `/_replicator/${id}`)).json, 'owner');
    await t.request('PUT', '/_replicator/mine', { json: ENDS });
    assert.isNull(await ownerOf('mine'));
    await t.request('PUT', '/_replicator/joes', {
      json: { ...ENDS, owner: 'joe', user_ctx: { name: 'joe', roles: [] } },
    });
    assert.equal(await ownerOf('joes'), 'joe');
  }),
]);
