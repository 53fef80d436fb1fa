import { assert } from 'chai';
import { addUser, basic, logIn, ROOT, userPath, whoIs, withUsers } from '../../../support/conformance/accounts.ts';
import { assertError } from '../../../support/conformance/answer.ts';
import { at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import type { Toolkit } from '../../../support/conformance/toolkit.ts';

const needs = ['settings', 'forbidden-headers'] as const;
const WRONG = 'Name or password is incorrect.';

async function change(t: Toolkit, name: string, members: object): Promise<void> {
  const { json } = await t.request('GET', userPath(name), { headers: ROOT });
  const changed = await t.request('PUT', userPath(name), { headers: ROOT, json: { ...Object(json), ...members } });
  assert.equal(changed.status, 201, changed.text);
}

/** What is remembered of accounts never outlives a change of theirs. */
export default suite('accounts_auth_cache', [
  ...['50', '1', '0'].map((auth_cache_size) =>
    test(
      `with ${auth_cache_size} entries, changed roles, changed passwords and deletions take effect with the next request`,
      async (given) => {
        const t = await withUsers(given, [{ name: 'ana' }, { name: 'bob' }], { svc_httpd_auth: { auth_cache_size } });
        const ana = basic('ana', 'ana');
        const cookie = await logIn(t, 'ana');
        for (const headers of [ana, cookie, ana, cookie]) {
          assert.deepEqual(await whoIs(t, headers), { name: 'ana', roles: [] });
          assert.deepEqual(await whoIs(t, basic('bob', 'bob')), { name: 'bob', roles: [] });
        }
        await change(t, 'ana', { roles: ['editor'] });
        for (const headers of [ana, cookie]) {
          assert.deepEqual(await whoIs(t, headers), { name: 'ana', roles: ['editor'] });
        }
        await change(t, 'ana', { password: 'new' });
        assertError(await t.request('GET', '/', { headers: ana }), 401, 'unauthorized', WRONG);
        assert.deepEqual(await whoIs(t, cookie), { name: null, roles: [] });
        assert.deepEqual(await whoIs(t, basic('ana', 'new')), { name: 'ana', roles: ['editor'] });
        const rev = at((await t.request('GET', userPath('ana'), { headers: ROOT })).json, '_rev');
        await t.request('DELETE', `${userPath('ana')}?rev=${rev}`, { headers: ROOT });
        assertError(await t.request('GET', '/', { headers: basic('ana', 'new') }), 401, 'unauthorized', WRONG);
        await addUser(t, { name: 'ana', password: 'third' });
        assert.deepEqual(await whoIs(t, basic('ana', 'third')), { name: 'ana', roles: [] });
      },
      { needs },
    ),
  ),

  test(
    'a deleted users database has no users',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }]);
      const cookie = await logIn(t, 'ana');
      assert.deepEqual(await whoIs(t, cookie), { name: 'ana', roles: [] });
      await t.request('DELETE', '/_users', { headers: ROOT });
      assert.deepEqual(await whoIs(t, cookie), { name: null, roles: [] });
      assertError(await t.request('GET', '/', { headers: basic('ana', 'ana') }), 401, 'unauthorized', WRONG);
    },
    { needs },
  ),
]);
