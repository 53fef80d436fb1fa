import { assert } from 'chai';
import { assertAllowed, assertError, assertJson } from '../../support/conformance/answer.ts';
import { at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

const json = { 'content-type': 'application/json' };

/** Who decides when a write is durable, and `_ensure_full_commit` (docs/http/databases.md#durability). */
export default suite('delayed_commits', [
  test('every write accepts the delayed-commits header, under its new and old name', async (t) => {
    for (const name of ['x-svc-full-commit', 'X-Couch-Full-Commit']) {
      for (const value of ['true', 'false']) {
        const headers = { [name]: value };
        const id = `${name}-${value}`;
        const put = await t.at('PUT', `/${id}`, { json: {}, headers });
        assert.equal(put.status, 201);
        assert.equal((await t.at('POST', '', { json: {}, headers })).status, 201);
        assert.equal((await t.at('POST', '/_bulk_docs', { json: { docs: [{}] }, headers })).status, 201);
        const rev = stringAt(put.json, 'rev');
        assert.equal((await t.at('DELETE', `/${id}?rev=${rev}`, { headers })).status, 200);
      }
    }
    assert.deepInclude(await t.info(), { doc_count: 8, doc_del_count: 4, update_seq: 16 });
  }),

  test('_ensure_full_commit commits, and returns the instance start time', async (t) => {
    await t.put('doc', {});
    const answer = await t.at('POST', '/_ensure_full_commit', { headers: json });
    const started = at(await t.info(), 'instance_start_time');
    assert.match(`${started}`, /^\d+$/);
    assertJson(answer, 201, { ok: true, instance_start_time: started });
    assert.deepInclude(await t.info(), { update_seq: 1, committed_update_seq: 1 });
  }),

  test('_ensure_full_commit accepts a sequence up to the current one only', async (t) => {
    await t.put('doc', {});
    assert.equal((await t.at('POST', '/_ensure_full_commit?seq=1', { headers: json })).status, 201);
    const ahead = await t.at('POST', '/_ensure_full_commit?seq=2', { headers: json });
    assertError(ahead, 400, 'bad_request', "can't do a full commit ahead of current update_seq");
  }),

  test('_ensure_full_commit needs POST and the content type of JSON', async (t) => {
    const answer = await t.at('POST', '/_ensure_full_commit', { headers: { 'content-type': 'text/plain' } });
    assertError(answer, 415, 'bad_content_type', 'Content-Type must be application/json');
    assertError(
      await t.at('POST', '/_ensure_full_commit'),
      415,
      'bad_content_type',
      'Content-Type must be application/json',
    );
    assertAllowed(await t.get('/_ensure_full_commit'), 'POST');
  }),
]);
