import { assert } from 'chai';
import {
  addUser,
  basic,
  type Headers,
  ROOT,
  USER_ID,
  userDocument,
  userPath,
  whoIs,
  withUsers,
} from '../../../support/conformance/accounts.ts';
import { assertError, assertJson } from '../../../support/conformance/answer.ts';
import { arrayAt, at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import type { Toolkit } from '../../../support/conformance/toolkit.ts';

const needs = ['settings'] as const;
const HASH = { password_scheme: 'pbkdf2', iterations: 10 };

/** The document as it is kept, which must have a hash of `password` and nothing else of it. */
async function assertHashed(t: Toolkit, name: string, password: string): Promise<void> {
  const answer = await t.request('GET', userPath(name), { headers: ROOT });
  assert.deepInclude(answer.json, { name, ...HASH }, answer.text);
  assert.match(`${at(answer.json, 'derived_key')}`, /^[\da-f]{40}$/);
  assert.match(`${at(answer.json, 'salt')}`, /^[\da-f]{32}$/);
  assert.notInclude(answer.text, '"password"');
  assert.notInclude(answer.text, password);
  assert.deepEqual(at(await whoIs(t, basic(name, password)), 'name'), name);
}

const asRoot: { readonly headers: Headers } = { headers: ROOT };

/** Documents of users: passwords, and who may write which (docs/http/accounts.md#writing-users). */
export default suite('accounts_users_db', [
  test(
    'a password is replaced by its hash, whatever the kind of write',
    async (given) => {
      const t = await withUsers(given, []);
      const document = (name: string) => ({
        _id: `${USER_ID}${name}`,
        ...userDocument({ name, password: `pw-${name}` }),
      });
      await addUser(t, { name: 'put', password: 'pw-put' });
      await t.request('POST', '/_users', { ...asRoot, json: document('post') });
      const docs = [document('bulk1'), document('bulk2')];
      await t.request('POST', '/_users/_bulk_docs', { ...asRoot, json: { docs } });
      const replicated = { ...document('replicated'), _rev: '1-abc' };
      await t.request('POST', '/_users/_bulk_docs', { ...asRoot, json: { docs: [replicated], new_edits: false } });
      const single = { ...document('single'), _rev: '1-abc' };
      await t.request('PUT', `${userPath('single')}?new_edits=false`, { ...asRoot, json: single });
      await t.request('PUT', `${userPath('batch')}?batch=ok`, { ...asRoot, json: document('batch') });
      await t.request('POST', '/_users/_ensure_full_commit', { ...asRoot, json: {} });
      for (const name of ['put', 'post', 'bulk1', 'bulk2', 'replicated', 'single', 'batch']) {
        await assertHashed(t, name, `pw-${name}`);
      }
    },
    { needs },
  ),

  test(
    'a password member whose name is escaped is still replaced',
    async (given) => {
      const t = await withUsers(given, []);
      const body = '{"type":"user","name":"esc","roles":[],"p\\u0061ssword":"hidden away"}';
      const headers = { ...ROOT, 'content-type': 'application/json' };
      assert.equal((await t.request('PUT', userPath('esc'), { headers, body })).status, 201);
      await assertHashed(t, 'esc', 'hidden away');
    },
    { needs },
  ),

  test(
    'an update function stores a hash, too',
    async (given) => {
      const t = await withUsers(given, []);
      const updates = { make: 'function (doc, req) { return [JSON.parse(req.body), "done"]; }' };
      await t.request('PUT', '/_users/_design/d', { ...asRoot, json: { updates } });
      const json = { _id: `${USER_ID}made`, ...userDocument({ name: 'made', password: 'by function' }) };
      const made = await t.request('POST', '/_users/_design/d/_update/make', { ...asRoot, json });
      assert.equal(made.status, 201, made.text);
      await assertHashed(t, 'made', 'by function');
    },
    { needs },
  ),

  test(
    "a document written without a password keeps its hash, and a null password doesn't remove the hash",
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana', password: 'first' }]);
      const { json } = await t.request('GET', userPath('ana'), asRoot);
      const changed = { ...Object(json), color: 'red', password: null };
      assert.equal((await t.request('PUT', userPath('ana'), { ...asRoot, json: changed })).status, 201);
      await assertHashed(t, 'ana', 'first');
      const answer = await t.request('PUT', userPath('bad'), {
        ...asRoot,
        json: { ...userDocument({ name: 'bad' }), password: 7 },
      });
      assertError(answer, 400, 'bad_request', 'Password must be a string');
    },
    { needs },
  ),

  test(
    'a user document must have the required form',
    async (given) => {
      const t = await withUsers(given, []);
      const good = userDocument({ name: 'ana' });
      const hash = { password_scheme: 'pbkdf2', iterations: 10, derived_key: 'a', salt: 'b' };
      const cases: readonly (readonly [document: object, reason: string])[] = [
        [{ ...good, type: 'person' }, 'doc.type must be user'],
        [{ ...good, name: '' }, 'doc.name is required'],
        [{ ...good, name: 'bob' }, 'Doc ID must be of the form org.couchdb.user:name'],
        [{ ...good, roles: undefined }, 'doc.roles must exist'],
        [{ ...good, roles: 'a' }, 'doc.roles must be an array'],
        [{ ...good, roles: [1] }, 'doc.roles can only contain strings'],
        [{ ...good, roles: ['_admin'] }, 'No system roles (starting with underscore) in users db.'],
        [{ ...good, password: undefined, ...hash, iterations: '10' }, 'iterations must be a number.'],
        [{ ...good, password: undefined, ...hash, derived_key: 1 }, 'derived_key must be a string.'],
      ];
      for (const [json, reason] of cases) {
        assertError(await t.request('PUT', userPath('ana'), { ...asRoot, json }), 403, 'forbidden', reason);
      }
      const salted = await t.request('PUT', userPath('ana'), {
        ...asRoot,
        json: { type: 'user', name: 'ana', roles: [], password_sha: 'a' },
      });
      assert.match(`${at(salted.json, 'reason')}`, /^Users with password_sha must have a salt/);
      for (const [name, reason] of [
        ['_ana', 'Username may not start with underscore.'],
        ['a:b', 'Character `:` is not allowed in usernames.'],
        // One by which nobody could log in.
        ['a'.repeat(1_025), 'Usernames have at most 1024 characters.'],
      ] as const) {
        const answer = await t.request('PUT', userPath(name), { ...asRoot, json: userDocument({ name }) });
        assertError(answer, 403, 'forbidden', reason);
      }
      await addUser(t, { name: 'ana' });
      assertJson(await t.request('GET', '/_users/_all_docs?limit=0', asRoot), 200, {
        total_rows: 1,
        offset: 0,
        rows: [],
      });
    },
    { needs },
  ),

  test(
    'everyone can sign up, without roles, with a name that is free',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }]);
      const sign = (name: string, members: object, query = '') =>
        t.request('PUT', `${userPath(name)}${query}`, { json: { ...userDocument({ name }), ...members } });
      assert.equal((await sign('bob', {})).status, 201);
      assert.deepEqual(await whoIs(t, basic('bob', 'bob')), { name: 'bob', roles: [] });
      assertError(await sign('eve', { roles: ['editor'] }), 403, 'forbidden', 'Only _admin may set roles');
      const taken = 'Document update conflict.';
      assertError(await sign('ana', { password: 'mine now' }), 409, 'conflict', taken);
      assertError(await sign('ana', { password: 'mine now', roles: ['editor'] }), 409, 'conflict', taken);
      assertError(await sign('ana', { password: 'mine now', _rev: '1-abc' }), 409, 'conflict', taken);
      const row = { _id: `${USER_ID}ana`, ...userDocument({ name: 'ana' }) };
      assertError(await t.request('POST', '/_users', { json: row }), 409, 'conflict', taken);
      const bulk = await t.request('POST', '/_users/_bulk_docs', { json: { docs: [row] } });
      assert.deepInclude(arrayAt(bulk.json)[0], { error: 'conflict', reason: taken });
      const reason = 'You may only update your own user document.';
      const all = await t.request('POST', '/_users/_bulk_docs', { json: { docs: [row], all_or_nothing: true } });
      assert.include(all.text, reason);
      const branch = { password: 'mine now', _rev: '9-abc', _revisions: { start: 9, ids: ['abc', 'def'] } };
      assertError(await sign('ana', branch, '?new_edits=false'), 403, 'forbidden', reason);
      const { json } = await t.request('GET', userPath('ana'), asRoot);
      const known = { password: 'mine now', _rev: at(json, '_rev') };
      assertError(await sign('ana', known), 403, 'forbidden', reason);
      assertError(await t.request('DELETE', `${userPath('ana')}?rev=${at(json, '_rev')}`), 404, 'not_found', 'missing');
      assert.deepEqual(await whoIs(t, basic('ana', 'ana')), { name: 'ana', roles: [] });
    },
    { needs },
  ),

  test(
    'users can change their own document, but not its name or roles',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana', roles: ['b', 'a'] }, { name: 'bob' }]);
      const headers = basic('ana', 'ana');
      const { json } = await t.request('GET', userPath('ana'), { headers });
      const write = (members: object, name = 'ana') =>
        t.request('PUT', userPath(name), { headers, json: { ...Object(json), ...members } });
      assertError(await write({ roles: ['a', 'b', 'c'] }), 403, 'forbidden', 'Only _admin may edit roles');
      assertError(await write({ roles: [] }), 403, 'forbidden', 'Only _admin may edit roles');
      assertError(await write({ name: 'bob' }), 403, 'forbidden', 'Doc ID must be of the form org.couchdb.user:name');
      const foreign = await t.request('COPY', userPath('bob'), { headers: { ...headers, destination: 'x' } });
      assertError(foreign, 404, 'not_found', 'missing');
      const changed = await write({ roles: ['a', 'b'], color: 'red', password: 'new' });
      assert.equal(changed.status, 201, changed.text);
      const rev = at(changed.json, 'rev');
      const gone = await t.request('DELETE', `${userPath('ana')}?rev=${rev}`, { headers: basic('ana', 'new') });
      assert.equal(gone.status, 200, gone.text);
    },
    { needs },
  ),

  test(
    "a logged-in user can't write another user's document, and learns nothing about it",
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }, { name: 'bob' }]);
      const headers = basic('ana', 'ana');
      const rev = `${at((await t.request('GET', userPath('bob'), asRoot)).json, '_rev')}`;
      for (const name of ['bob', 'nobody']) {
        const id = `${USER_ID}${name}`;
        const path = userPath(name);
        const json = { _id: id, ...userDocument({ name, password: 'mine' }) };
        const branch = { ...json, _rev: '9-abc', _revisions: { start: 9, ids: ['abc', 'def'] } };
        const answers = [
          await t.request('PUT', path, { headers, json }),
          await t.request('PUT', path, { headers, json: { ...json, _rev: rev } }),
          await t.request('PUT', path, { headers, json: { ...json, roles: 1 } }),
          await t.request('PUT', `${path}?new_edits=false`, { headers, json: branch }),
          await t.request('POST', '/_users', { headers, json }),
          await t.request('DELETE', `${path}?rev=${rev}`, { headers }),
          await t.request('COPY', userPath('ana'), { headers: { ...headers, destination: id } }),
          await t.request('COPY', userPath('ana'), { headers: { ...headers, destination: `${id}?rev=${rev}` } }),
          await t.request('PUT', `${path}/file`, { headers, body: 'x' }),
          await t.request('PUT', `${path}/file?rev=${rev}`, { headers, body: 'x' }),
          await t.request('DELETE', `${path}/file?rev=${rev}`, { headers }),
        ];
        for (const answer of answers) assertError(answer, 404, 'not_found', 'missing');
        for (const body of [{ docs: [json] }, { docs: [branch], new_edits: false }]) {
          const rows = arrayAt((await t.request('POST', '/_users/_bulk_docs', { headers, json: body })).json);
          assert.deepInclude(rows[0], { id, error: 'not_found', reason: 'missing' });
        }
      }
      assert.equal(at((await t.request('GET', userPath('bob'), asRoot)).json, '_rev'), rev);
      assertError(await t.request('GET', userPath('nobody'), asRoot), 404, 'not_found', 'missing');
    },
    { needs },
  ),

  test(
    'of many simultaneous sign-ups with one name one succeeds',
    async (given) => {
      const t = await withUsers(given, []);
      const sign = (number: number) => {
        const json = userDocument({ name: 'ana', password: `word ${number}` });
        if (number % 2 === 0) return t.request('PUT', userPath('ana'), { json });
        const ids = [`${number}`.padStart(32, 'a')];
        const branch = { ...json, _rev: `1-${ids[0]}`, _revisions: { start: 1, ids } };
        return t.request('PUT', `${userPath('ana')}?new_edits=false`, { json: branch });
      };
      const answers = await Promise.all(Array.from({ length: 20 }, (_, number) => sign(number)));
      assert.lengthOf(
        answers.filter(({ status }) => status === 201),
        1,
      );
      const leaves = await t.request('GET', `${userPath('ana')}?conflicts=true`, asRoot);
      assert.isUndefined(at(leaves.json, '_conflicts'));
      const winner = answers.findIndex(({ status }) => status === 201);
      assert.deepEqual(await whoIs(t, basic('ana', `word ${winner}`)), { name: 'ana', roles: [] });
    },
    { needs },
  ),

  test(
    'a bulk write checks each row on its own',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }, { name: 'bob' }]);
      const { json } = await t.request('GET', userPath('ana'), asRoot);
      const docs = [
        { ...Object(json), color: 'red' },
        { _id: `${USER_ID}bob`, ...userDocument({ name: 'bob', password: 'x' }) },
        { _id: '_design/d', views: {} },
      ];
      const answer = await t.request('POST', '/_users/_bulk_docs', { headers: basic('ana', 'ana'), json: { docs } });
      assert.equal(answer.status, 201);
      const [own, others, design] = arrayAt(answer.json);
      assert.deepInclude(own, { ok: true });
      assert.deepInclude(others, { error: 'not_found', reason: 'missing' });
      assert.deepInclude(design, { error: 'unauthorized', reason: 'You are not a db or server admin.' });
    },
    { needs },
  ),

  test(
    'another database becomes the users database when the setting names it, and the default one is then unprotected',
    async (given) => {
      const settings = { svc_httpd_auth: { authentication_db: 'people' } };
      const t = await withUsers(given, [], settings);
      await t.createDatabase('people');
      const path = `/people/${encodeURIComponent(`${USER_ID}ana`)}`;
      assert.equal((await t.request('PUT', path, { ...asRoot, json: userDocument({ name: 'ana' }) })).status, 201);
      assert.deepEqual(await whoIs(t, basic('ana', 'ana')), { name: 'ana', roles: [] });
      assertError(await t.request('GET', path), 404, 'not_found', 'missing');
      assert.equal((await t.request('PUT', userPath('any'), { json: { any: 'thing' } })).status, 201);
    },
    { needs },
  ),
]);
