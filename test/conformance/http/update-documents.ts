import { assert } from 'chai';
import { assertError, assertJson, assertWritten } from '../../support/conformance/answer.ts';
import { fakeHash, fakeRev, replicated } from '../../support/conformance/fake-revisions.ts';
import { stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

const conflict = 'Document update conflict.';
const missingRev = 'Document must have a _rev when new_edits is false';

/** Where a write takes its revision from, and what a document may hold (docs/http/documents.md#writing-a-document). */
export default suite('update_documents', [
  test('the revision can be in the body, the query or If-Match', async (t) => {
    const first = await t.put('doc', { n: 1 });
    const second = assertWritten(await t.at('PUT', '/doc', { json: { _rev: first, n: 2 } }), 201, 'doc');
    const third = assertWritten(await t.at('PUT', `/doc?rev=${second}`, { json: { n: 3 } }), 201, 'doc');
    const quoted = { 'if-match': `"${third}"` };
    const fourth = assertWritten(await t.at('PUT', '/doc', { json: { n: 4 }, headers: quoted }), 201, 'doc');
    const bare = { 'if-match': fourth };
    const fifth = assertWritten(await t.at('PUT', '/doc', { json: { n: 5 }, headers: bare }), 201, 'doc');
    assert.match(fifth, /^5-/);
  }),

  test('equal revisions in several places are accepted', async (t) => {
    const rev = await t.put('doc', { n: 1 });
    const headers = { 'if-match': `"${rev}"` };
    assertWritten(await t.at('PUT', `/doc?rev=${rev}`, { json: { _rev: rev, n: 2 }, headers }), 201, 'doc');
  }),

  test('contradicting revisions in several places are refused', async (t) => {
    const first = await t.put('doc', { n: 1 });
    const second = await t.put('doc', { _rev: first, n: 2 });
    const byQuery = await t.at('PUT', `/doc?rev=${second}`, { json: { _rev: first, n: 3 } });
    const queryReason = 'Document rev from request body and query string have different values';
    assertError(byQuery, 400, 'bad_request', queryReason);
    const byHeader = await t.at('PUT', '/doc', { json: { _rev: second, n: 3 }, headers: { 'if-match': `"${first}"` } });
    assertError(byHeader, 400, 'bad_request', 'Document rev and etag have different values');
    assertJson(await t.get('/doc'), 200, { _id: 'doc', _rev: second, n: 2 });
  }),

  test('a live document is not overwritten without its current revision', async (t) => {
    const first = await t.put('doc', { n: 1 });
    assertError(await t.at('PUT', '/doc', { json: { n: 2 } }), 409, 'conflict', conflict);
    await t.put('doc', { _rev: first, n: 2 });
    assertError(await t.at('PUT', '/doc', { json: { _rev: first, n: 3 } }), 409, 'conflict', conflict);
    assertError(await t.at('POST', '', { json: { _id: 'doc', n: 3 } }), 409, 'conflict', conflict);
  }),

  test('a revision of a missing document conflicts', async (t) => {
    const answer = await t.at('PUT', '/doc', { json: { _rev: fakeRev(1, 'a') } });
    assertError(answer, 409, 'conflict', conflict);
    assertError(await t.get('/doc'), 404, 'not_found', 'missing');
  }),

  test('an invalid revision is refused', async (t) => {
    await t.put('doc', {});
    for (const rev of ['nonsense', '1', '-abc', 'x-abc', '1-']) {
      const reason = 'Invalid rev format';
      assertError(await t.at('PUT', '/doc', { json: { _rev: rev } }), 400, 'bad_request', reason);
      assertError(await t.at('PUT', `/doc?rev=${rev}`, { json: {} }), 400, 'bad_request', reason);
      assertError(await t.at('DELETE', `/doc?rev=${rev}`), 400, 'bad_request', reason);
      assertError(await t.get(`/doc?rev=${rev}`), 400, 'bad_request', reason);
    }
  }),

  test('a revision that is not a string is refused', async (t) => {
    for (const _rev of [7, null, {}, ['1-a']]) {
      assertError(await t.at('PUT', '/doc', { json: { _rev } }), 400, 'bad_request', 'Invalid rev format');
    }
  }),

  test('DELETE takes the revision from the query or If-Match', async (t) => {
    const one = await t.put('one', {});
    assertWritten(await t.at('DELETE', `/one?rev=${one}`), 200, 'one');
    const two = await t.put('two', {});
    assertWritten(await t.at('DELETE', '/two', { headers: { 'if-match': `"${two}"` } }), 200, 'two');
  }),

  test('DELETE needs the current revision and an existing document', async (t) => {
    const first = await t.put('doc', { n: 1 });
    const second = await t.put('doc', { _rev: first, n: 2 });
    assertError(await t.at('DELETE', '/doc'), 409, 'conflict', conflict);
    assertError(await t.at('DELETE', `/doc?rev=${first}`), 409, 'conflict', conflict);
    assertError(await t.at('DELETE', `/nobody?rev=${first}`), 404, 'not_found', 'missing');
    const tombstone = await t.delete('doc', second);
    assertError(await t.at('DELETE', `/doc?rev=${tombstone}`), 404, 'not_found', 'deleted');
  }),

  test('PUT of a tombstone deletes, answers 200, and keeps its members', async (t) => {
    const first = await t.put('doc', { n: 1 });
    const answer = await t.at('PUT', '/doc', { json: { _rev: first, _deleted: true, why: 'old' } });
    const rev = assertWritten(answer, 200, 'doc');
    assert.notProperty(answer.headers, 'location');
    assertJson(await t.get(`/doc?rev=${rev}`), 200, { _id: 'doc', _rev: rev, _deleted: true, why: 'old' });
  }),

  test('_deleted: false means a live document', async (t) => {
    const answer = await t.at('PUT', '/doc', { json: { _deleted: false, n: 1 } });
    const rev = assertWritten(answer, 201, 'doc');
    assertJson(await t.get('/doc'), 200, { _id: 'doc', _rev: rev, n: 1 });
  }),

  test('a document must be an object', async (t) => {
    for (const json of [[], 'text', 1, null, true]) {
      assertError(await t.at('PUT', '/doc', { json }), 400, 'bad_request', 'Document must be a JSON object');
    }
  }),

  test('invalid JSON is refused', async (t) => {
    for (const body of ['', '{', '{"a":1}x', "{'a':1}", '{"a":1,}', '{"a":NaN}', '{"a":01}', '{"a":"\n"}']) {
      assertError(await t.at('PUT', '/doc', { body }), 400, 'bad_request', 'invalid_json');
    }
  }),

  test('PUT requires no content type, and POST does', async (t) => {
    const headers = { 'content-type': 'text/plain' };
    assert.equal((await t.at('PUT', '/one', { body: '{}', headers })).status, 201);
    const refused = await t.at('POST', '', { body: '{}', headers });
    assertError(refused, 415, 'bad_content_type', 'Content-Type must be application/json');
  }),

  test('unknown members that begin with an underscore are refused', async (t) => {
    for (const member of ['_zing', '_', '_Rev', '_attachment', '_show']) {
      const answer = await t.at('PUT', '/doc', { json: { [member]: 1 } });
      assertError(answer, 400, 'doc_validation', `Bad special document member: ${member}`);
    }
    const nested = await t.at('PUT', '/doc', { json: { inner: { _zing: 1, _id: 2 } } });
    assert.equal(nested.status, 201);
    assert.deepInclude((await t.get('/doc')).json, { inner: { _zing: 1, _id: 2 } });
  }),

  test('members that a read adds are dropped when they are written back', async (t) => {
    const rev = await t.put('doc', {
      n: 1,
      _revs_info: [{ rev: '1-a', status: 'available' }],
      _conflicts: ['1-b'],
      _deleted_conflicts: ['1-c'],
      _local_seq: 7,
      _revisions: { start: 0, ids: [] },
    });
    assertJson(await t.get('/doc?conflicts=true'), 200, { _id: 'doc', _rev: rev, n: 1 });
  }),

  test("the replicator's members are kept", async (t) => {
    const members = {
      _replication_state: 'completed',
      _replication_state_time: '2024-05-01T00:00:00Z',
      _replication_state_reason: 'none',
      _replication_id: 'abc',
      _replication_stats: { docs_read: 1 },
    };
    const rev = await t.put('doc', members);
    assertJson(await t.get('/doc'), 200, { _id: 'doc', _rev: rev, ...members });
  }),

  ...[
    { document: { _revisions: { start: '1', ids: ['a'] } }, reason: "_revisions.start isn't an integer." },
    { document: { _revisions: { start: 1, ids: 'a' } }, reason: "_revisions.ids isn't a array." },
    { document: { _revisions: { start: 1, ids: [7] } }, reason: "RevId isn't a string" },
  ].map(({ document, reason }) =>
    test(`${JSON.stringify(document)} is refused`, async (t) => {
      assertError(await t.at('PUT', '/doc?new_edits=false', { json: document }), 400, 'doc_validation', reason);
    }),
  ),

  test('new_edits=false writes the given revision', async (t) => {
    const answer = await t.at('PUT', '/doc?new_edits=false', { json: replicated('doc', 3, 'cba', { n: 1 }) });
    assertWritten(answer, 201, 'doc');
    assert.equal(stringAt(answer.json, 'rev'), fakeRev(3, 'c'));
    const known = await t.at('PUT', '/doc?new_edits=false', { json: replicated('doc', 3, 'cba', { n: 1 }) });
    assert.equal(known.status, 201);
    const branch = await t.at('POST', '?new_edits=false', { json: replicated('doc', 2, 'fa', { n: 2 }) });
    assert.equal(stringAt(branch.json, 'rev'), fakeRev(2, 'f'));
    assertJson(await t.get('/doc?revs=true&conflicts=true'), 200, {
      _id: 'doc',
      _rev: fakeRev(3, 'c'),
      n: 1,
      _revisions: { start: 3, ids: [fakeHash('c'), fakeHash('b'), fakeHash('a')] },
      _conflicts: [fakeRev(2, 'f')],
    });
  }),

  test('new_edits=false takes the revision from body, query or If-Match, and refuses two that differ', async (t) => {
    const rev = fakeRev(2, 'b');
    for (const [path, headers] of [
      [`/query?new_edits=false&rev=${rev}`, {}],
      ['/header?new_edits=false', { 'if-match': `"${rev}"` }],
    ] as const) {
      const answer = await t.at('PUT', path, { json: { n: 1 }, headers });
      assert.equal(stringAt(answer.json, 'rev'), rev);
    }
    const differ = await t.at('PUT', `/query?new_edits=false&rev=${fakeRev(3, 'c')}`, { json: { _rev: rev } });
    const reason = 'Document rev from request body and query string have different values';
    assertError(differ, 400, 'bad_request', reason);
    assert.deepInclude(await t.info(), { doc_count: 2, update_seq: 2 });
  }),

  test('new_edits=false without a revision is refused', async (t) => {
    assertError(await t.at('PUT', '/doc?new_edits=false', { json: { n: 1 } }), 400, 'bad_request', missingRev);
    const posted = await t.at('POST', '?new_edits=false', { json: { _id: 'doc' } });
    assertError(posted, 400, 'bad_request', missingRev);
    assert.deepInclude(await t.info(), { doc_count: 0, update_seq: 0 });
  }),
]);
