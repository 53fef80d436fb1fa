import { assert } from 'chai';
import { assertAllowed, assertError, assertJson } from '../../support/conformance/answer.ts';
import { suite, test } from '../../support/conformance/suite.ts';

/** `_security` as a thing that is kept (docs/http/databases.md#security-object). */
export default suite('security_object', [
  test('the security object is empty until it is set', async (t) => {
    assertJson(await t.get('/_security'), 200, {});
  }),

  test('the security object is stored as written, with additional members', async (t) => {
    const security = {
      admins: { names: ['ada'], roles: ['boss'] },
      members: { names: ['bob', 'Ünal'], roles: [] },
      note: { any: ['thing', 1, null] },
    };
    assertJson(await t.at('PUT', '/_security', { json: security }), 200, { ok: true });
    assertJson(await t.get('/_security'), 200, security);
    assertJson(await t.at('PUT', '/_security', { json: {} }), 200, { ok: true });
    assertJson(await t.get('/_security'), 200, {});
  }),

  test('the security object has no revision, sequence or row', async (t) => {
    await t.at('PUT', '/_security', { json: { members: { names: ['ada'] } } });
    const answer = await t.get('/_security');
    assert.notProperty(answer.headers, 'etag');
    assert.deepInclude(await t.info(), { doc_count: 0, update_seq: 0 });
    assertJson(await t.get('/_all_docs'), 200, { total_rows: 0, offset: 0, rows: [] });
  }),

  test('the security object must be an object', async (t) => {
    for (const json of [[], 'text', 1, null]) {
      const answer = await t.at('PUT', '/_security', { json });
      assertError(answer, 400, 'bad_request', 'Request body must be a JSON object');
    }
    assertError(await t.at('PUT', '/_security', { body: '{' }), 400, 'bad_request', 'invalid_json');
  }),

  test('names and roles are lists of strings', async (t) => {
    for (const group of ['admins', 'members', 'readers']) {
      for (const member of ['names', 'roles']) {
        for (const bad of ['ada', [1], { a: 1 }, [null]]) {
          const answer = await t.at('PUT', '/_security', { json: { [group]: { [member]: bad } } });
          assertError(answer, 400, 'bad_request', `${member} must be a JSON list of strings`);
        }
      }
    }
    assertJson(await t.get('/_security'), 200, {});
  }),

  test('no content type is required', async (t) => {
    const headers = { 'content-type': 'text/plain' };
    assert.equal((await t.at('PUT', '/_security', { body: '{}', headers })).status, 200);
  }),

  test('only PUT and GET are allowed', async (t) => {
    assertAllowed(await t.at('POST', '/_security', { json: {} }), 'PUT,GET');
    assertAllowed(await t.at('DELETE', '/_security'), 'PUT,GET');
  }),
]);
