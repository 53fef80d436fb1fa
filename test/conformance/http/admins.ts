import { assert } from 'chai';
import { assertError, assertJson } from '../../support/conformance/answer.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

/** The password "secret" with the salt "00000000000000000000000000000000" and a hundred iterations of PBKDF2 with SHA-1 (RFC 8018, 5.2). */
const HASH = '-pbkdf2-30f169fd3deb4489c9fc6a3e4be1c9812d9717dc,00000000000000000000000000000000,100';

const BASIC = { authorization: `Basic ${btoa('ada:secret')}` };

/** Admins of the server are settings whose values are hashed (docs/http/accounts.md#server-admins). */
export default suite('admins', [
  test('a password is stored hashed with its own salt, and the answer is what is stored', async (t) => {
    // Until now there is no admin, and nobody of that name.
    const answer = await t.request('PUT', '/_config/admins/ada', { json: 'secret' });
    try {
      assert.equal(answer.status, 200, answer.text);
      assert.match(`${answer.json}`, /^-pbkdf2-[0-9a-f]{40},[0-9a-f]{32},10000$/);
      const kept = await t.request('GET', '/_config/admins', { headers: BASIC });
      assertJson(kept, 200, { ada: answer.json });
      const again = await t.request('PUT', '/_config/admins/ada', { json: 'secret', headers: BASIC });
      assert.match(`${again.json}`, /^-pbkdf2-[0-9a-f]{40},[0-9a-f]{32},10000$/);
      assert.notEqual(again.json, answer.json);
    } finally {
      assert.equal((await t.request('DELETE', '/_config/admins/ada', { headers: BASIC })).status, 200);
    }
    assertJson(await t.request('GET', '/_config/admins'), 200, {});
    const gone = await t.request('DELETE', '/_config/admins/ada');
    assertError(gone, 404, 'not_found', 'unknown_config_value');
  }),

  test(
    'a hashed password is stored unchanged',
    async (t) => {
      const other = await t.withSettings({});
      const answer = await other.request('PUT', '/_config/admins/ada?raw=true', { json: HASH });
      assertJson(answer, 200, HASH);
    },
    { needs: ['settings'] },
  ),

  test(
    'a password that looks like a hash is hashed, unless the request says that it is a hash',
    async (t) => {
      const other = await t.withSettings({});
      let headers = {};
      for (const query of ['', '?raw=false']) {
        for (const password of [HASH, '-pbkdf2-', '-hashed-x', '-pbkdf2:sha256-a,b,c']) {
          const answer = await other.request('PUT', `/_config/admins/ada${query}`, { headers, json: password });
          assert.match(`${answer.json}`, /^-pbkdf2-[0-9a-f]{40},[0-9a-f]{32},10000$/, password);
          assert.notEqual(answer.json, password);
          headers = { authorization: `Basic ${btoa(`ada:${password}`)}` };
          assert.equal(at((await other.request('GET', '/_session', { headers })).json, 'userCtx', 'name'), 'ada');
        }
      }
      for (const json of ['-pbkdf2-', '-hashed-x', '-pbkdf2:sha256-a,b,c', `${HASH.slice(0, -1)}x`]) {
        const answer = await other.request('PUT', '/_config/admins/ada?raw=true', { headers, json });
        assert.equal(answer.status, 400, json);
      }
      assert.equal((await other.request('GET', '/_active_tasks', { headers })).status, 200);
    },
    { needs: ['settings'] },
  ),

  test('a password that is not a string is refused', async (t) => {
    const answer = await t.request('PUT', '/_config/admins/ada', { json: { password: 'secret' } });
    assert.equal(answer.status, 400);
    assert.equal(at(answer.json, 'error'), 'bad_request');
    assertJson(await t.request('GET', '/_config/admins'), 200, {});
  }),
]);
