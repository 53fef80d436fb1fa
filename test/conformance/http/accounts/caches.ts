import { assert } from 'chai';
import { basic, type Headers, ROOT, withAdmin, withUsers } from '../../../support/conformance/accounts.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import type { Toolkit } from '../../../support/conformance/toolkit.ts';

const needs = ['settings'] as const;
const ANA = basic('ana', 'ana');
const BOB = basic('bob', 'bob');
const USERS = [{ name: 'ana', roles: ['editor'] }, { name: 'bob' }];

async function tagOf(t: Toolkit, path: string, headers: Headers): Promise<string> {
  const answer = await t.request('GET', path, { headers });
  assert.equal(answer.status, 200, answer.text);
  return `${answer.header('etag')}`;
}

/** Each has a tag of the own, by which nobody else is answered 304. */
async function assertOwnTags(t: Toolkit, path: string, readers: readonly Headers[]): Promise<void> {
  const tags = [];
  for (const headers of readers) tags.push(await tagOf(t, path, headers));
  for (const [index, headers] of readers.entries()) {
    for (const [of, tag] of tags.entries()) {
      const answer = await t.request('GET', path, { headers: { ...headers, 'if-none-match': tag } });
      assert.equal(answer.status, of === index ? 304 : 200, `reader ${index} with the tag of ${of}`);
    }
  }
}

/** What caches may keep of answers that depend on who asks (docs/http/answers.md#common-headers). */
export default suite('accounts_caches', [
  test(
    'an answer to a logged-in user is private, and with accounts every answer varies by credentials',
    async (given) => {
      const t = await withUsers(given, USERS);
      await t.at('PUT', '/doc', { headers: ROOT, json: {} });
      const rev = `${(await t.at('GET', '/doc', { headers: ANA })).header('etag')}`;
      for (const path of ['/doc', '/_all_docs', '/_changes', '/absent', '/_security']) {
        const own = await t.at('GET', path, { headers: ANA });
        assert.equal(own.header('cache-control'), 'private, must-revalidate', path);
        assert.equal(own.header('vary'), 'Accept, Cookie, Authorization', path);
        const anonymous = await t.get(path);
        assert.equal(anonymous.header('cache-control'), 'must-revalidate', path);
        assert.equal(anonymous.header('vary'), 'Accept, Cookie, Authorization', path);
      }
      const known = await t.at('GET', '/doc', { headers: { ...ANA, 'if-none-match': rev } });
      assert.equal(known.status, 304);
      assert.equal(known.header('cache-control'), 'private, must-revalidate');
      assert.equal(known.header('vary'), 'Accept, Cookie, Authorization');
      const session = await t.request('GET', '/_session', { headers: ANA });
      assert.equal(session.header('cache-control'), 'private, must-revalidate');
      // Whatever a function says: caches before servers have headers of their own, and may read what fits no grammar in another way.
      const odd = {
        'public, max-age=60': 'private, max-age=60',
        'S-MaxAge=60, Public=1, no-transform': 'private, no-transform',
        'private="x-name", max-age=60': 'private, max-age=60',
        'x="a, private, b", public': 'private, x="a, private, b"',
        'x="a, private, public': 'private, must-revalidate',
        'max-age=60 private': 'private, must-revalidate',
        'NO-STORE': 'NO-STORE',
        'Private,max-age=60': 'Private, max-age=60',
        ', ,': 'private',
      };
      const shows = {
        odd: `function (doc, req) {
          return { headers: { 'Cache-Control': req.query.as, 'CDN-Cache-Control': 'public', 'Surrogate-Control': 'max-age=9', 'X-Accel-Expires': '9', 'X-Own': '1' }, body: '' };
        }`,
      };
      await t.at('PUT', '/_design/d', { headers: ROOT, json: { shows } });
      for (const [given, expected] of Object.entries(odd)) {
        const shown = await t.at('GET', `/_design/d/_show/odd?as=${encodeURIComponent(given)}`, { headers: ANA });
        assert.equal(shown.header('cache-control'), expected, given);
        assert.equal(shown.header('x-own'), '1');
        for (const name of ['cdn-cache-control', 'surrogate-control', 'x-accel-expires'])
          assert.notOk(shown.header(name), name);
      }
      const icon = await t.request('GET', '/favicon.ico', { headers: ANA });
      assert.match(`${icon.header('cache-control')}`, /^public/);
    },
    { needs },
  ),

  test('without admins, answers vary by the accepted type only', async (t) => {
    await t.put('doc', {});
    for (const path of ['/doc', '/_all_docs']) {
      const answer = await t.get(path);
      assert.equal(answer.header('cache-control'), 'must-revalidate');
      assert.equal(answer.header('vary'), 'Accept');
    }
  }),

  test(
    'public fields of users have another ETag for each reader',
    async (given) => {
      const settings = { svc_httpd_auth: { users_db_public: 'true', public_fields: 'name' } };
      const t = await withUsers(given, USERS, settings);
      await assertOwnTags(t, '/_users/_all_docs?include_docs=true', [ROOT, ANA, BOB]);
    },
    { needs },
  ),

  test(
    'documents of replications have another ETag for each reader, as only owners see their passwords',
    async (given) => {
      const t = await withUsers(given, USERS);
      await t.createDatabase('_replicator');
      const json = { source: 'http://ana:secret@127.0.0.1:1/db', target: t.db, owner: 'ana' };
      await t.request('PUT', '/_replicator/one', { headers: ROOT, json });
      const path = '/_replicator/_all_docs?include_docs=true';
      const tag = await tagOf(t, path, ROOT);
      const others = await t.request('GET', path, { headers: { ...BOB, 'if-none-match': tag } });
      assert.equal(others.status, 200);
      assert.notInclude(others.text, 'secret');
    },
    { needs },
  ),

  test(
    'changes filtered by a function that reads the user have another ETag for each reader',
    async (given) => {
      const t = await withUsers(given, USERS);
      const filters = { mine: "function (doc, req) { return req.userCtx.roles.indexOf('editor') >= 0; }" };
      await t.at('PUT', '/_design/d', { headers: ROOT, json: { filters } });
      await assertOwnTags(t, `/${t.db}/_changes?filter=d/mine`, [ANA, BOB]);
      // What all get alike has one tag.
      const path = `/${t.db}/_changes`;
      assert.equal(await tagOf(t, path, ANA), await tagOf(t, path, BOB));
    },
    { needs },
  ),

  test(
    "a session's cookie is SameSite by default, or as the settings say",
    async (given) => {
      // By http from elsewhere browsers take none for pages of other sites.
      const expected = {
        lax: '; SameSite=Lax',
        strict: '; SameSite=Strict',
        none: '(?:; Secure; SameSite=None|; SameSite=Lax)',
      };
      const t = await withAdmin(given);
      for (const [value, attributes] of Object.entries({ '': expected.lax, ...expected })) {
        if (value !== '') {
          const path = '/_config/svc_httpd_auth/same_site';
          assert.equal((await t.request('PUT', path, { headers: ROOT, json: value })).status, 200);
        }
        const json = { name: 'root', password: 'secret of root' };
        const begun = await t.request('POST', '/_session', { json });
        const ended = await t.request('DELETE', '/_session');
        const pattern = new RegExp(`; HttpOnly${attributes}(?:;|$)`);
        for (const answer of [begun, ended]) assert.match(`${answer.header('set-cookie')}`, pattern);
      }
      const wrong = await t.request('PUT', '/_config/svc_httpd_auth/same_site', { headers: ROOT, json: 'some' });
      assert.equal(wrong.status, 400);
    },
    { needs: ['settings', 'forbidden-headers'] },
  ),
]);
