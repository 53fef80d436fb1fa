import { assert } from 'chai';
import { SignJWT } from 'jose';
import {
  addUser,
  basic,
  type Headers,
  logIn,
  QUICK,
  ROOT,
  userPath,
  withUsers,
} from '../../../support/conformance/accounts.ts';
import { assertError } from '../../../support/conformance/answer.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import type { Toolkit } from '../../../support/conformance/toolkit.ts';

const needs = ['settings'] as const;
const USERS = [{ name: 'ana', roles: ['editor'] }];
const ANA = basic('ana', 'ana');

async function secure(t: Toolkit, security: unknown): Promise<void> {
  assert.equal((await t.at('PUT', '/_security', { headers: ROOT, json: security })).status, 200);
}

async function write(t: Toolkit, id: string): Promise<void> {
  assert.equal((await t.at('PUT', `/${id}`, { headers: ROOT, json: {} })).status, 201);
}

async function change(t: Toolkit, members: object): Promise<void> {
  const { json } = await t.request('GET', userPath('ana'), { headers: ROOT });
  const changed = await t.request('PUT', userPath('ana'), { headers: ROOT, json: { ...Object(json), ...members } });
  assert.include([200, 201], changed.status, changed.text);
}

function follow(t: Toolkit, headers: Headers, path = '/_changes?feed=continuous&heartbeat=1000') {
  return t.follow(`/${t.db}${path}`, { headers });
}

/** A database for `cleo`, who has tokens. */
async function withTokens(given: Toolkit): Promise<Toolkit> {
  const httpd = { authentication_handlers: 'jwt, default' };
  const t = await withUsers(given, [], { httpd, jwt_keys: { 'hmac:_default': btoa('key') } });
  await secure(t, { members: { names: ['cleo'] } });
  return t;
}

async function tokenFor(seconds: number): Promise<Headers> {
  const claims = new SignJWT({ sub: 'cleo', exp: Math.floor(Date.now() / 1_000) + seconds });
  const token = await claims.setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode('key'));
  return { authorization: `Bearer ${token}` };
}

/** Feeds that are open look at their right again (docs/http/accounts.md#rights-that-end). */
export default suite('accounts_open_feeds', [
  test(
    'a feed ends when its reader loses membership, and reports nothing after that',
    async (given) => {
      const t = await withUsers(given, USERS);
      await write(t, 'seen');
      const feeds = [await follow(t, ANA), await follow(t, {})];
      const events = await follow(t, ANA, '/_changes?feed=eventsource');
      for (const feed of [...feeds, events]) await feed.until('"seen"');
      await secure(t, { members: { names: ['bob'] } });
      await write(t, 'hidden');
      for (const feed of feeds) assert.notInclude(await feed.failure(), 'hidden');
      // Through a service worker an event source ends in order, so that it connects again (docs/browser.md#following-changes).
      assert.notInclude(await events.over(), 'hidden');
    },
    { needs },
  ),

  test(
    'a feed continues while its reader stays a member',
    async (given) => {
      const t = await withUsers(given, USERS);
      const byName = await follow(t, ANA);
      const admin = await follow(t, ROOT);
      await secure(t, { members: { roles: ['editor'] } });
      await change(t, { color: 'red' });
      await write(t, 'seen');
      await byName.until('"seen"');
      await admin.until('"seen"');
    },
    { needs },
  ),

  test(
    'a feed ends with the session that opened it, but not with another session of the user',
    async (given) => {
      const t = await withUsers(given, USERS);
      const [first, second] = [await logIn(t, 'ana'), await logIn(t, 'ana')];
      const [ofFirst, ofSecond, byPassword] = [await follow(t, first), await follow(t, second), await follow(t, ANA)];
      await t.request('DELETE', '/_session', { headers: first });
      await write(t, 'seen');
      assert.notInclude(await ofFirst.failure(), 'seen');
      await ofSecond.until('"seen"');
      await byPassword.until('"seen"');
    },
    { needs: ['settings', 'forbidden-headers'] },
  ),

  test(
    'a feed of an anonymous client ends when anonymous clients become refused',
    async (given) => {
      const t = await withUsers(given, USERS);
      const [anonymous, nobody, ofAna] = [await follow(t, {}), await follow(t, basic('_', '_')), await follow(t, ANA)];
      const path = '/_config/svc_httpd_auth/require_valid_user';
      assert.equal((await t.request('PUT', path, { headers: ROOT, json: 'true' })).status, 200);
      await write(t, 'seen');
      for (const feed of [anonymous, nobody]) assert.notInclude(await feed.failure(), 'seen');
      await ofAna.until('"seen"');
    },
    { needs },
  ),

  test(
    'a feed ends when its reader loses the role, changes the password or is deleted',
    async (given) => {
      const t = await withUsers(given, USERS);
      await secure(t, { members: { roles: ['editor'] } });
      const byRole = await follow(t, ANA);
      await change(t, { roles: [] });
      await byRole.failure();
      await change(t, { roles: ['editor'] });
      const byPassword = await follow(t, ANA);
      await change(t, { password: 'new' });
      await byPassword.failure();
      const longpoll = await follow(t, basic('ana', 'new'), '/_changes?feed=longpoll&since=now&heartbeat=1000');
      await change(t, { _deleted: true });
      await longpoll.failure();
    },
    { needs },
  ),

  test(
    'a feed on a service that got its first admin while running ends when its reader loses membership',
    async (given) => {
      const t = await given.withSettings({ svc_httpd_auth: QUICK });
      await t.createDatabase('_users');
      assert.equal((await t.request('PUT', '/_config/admins/root', { json: 'secret of root' })).status, 200);
      await addUser(t, { name: 'ana', roles: ['editor'] });
      await secure(t, { members: { roles: ['editor'] } });
      const feed = await follow(t, ANA);
      await change(t, { roles: [] });
      await feed.failure();
    },
    { needs },
  ),

  test(
    'live views and live queries end when their reader loses membership',
    async (given) => {
      const t = await withUsers(given, USERS);
      const views = { v: { map: 'function (doc) { emit(doc._id, null); }' } };
      assert.equal((await t.at('PUT', '/_design/d', { headers: ROOT, json: { views } })).status, 201);
      await write(t, 'seen');
      const view = await follow(t, ANA, '/_design/d/_view/v?feed=continuous&include_rows=true&heartbeat=1000');
      await view.until('"seen"');
      const path = `/${t.db}/_find?feed=continuous&heartbeat=1000`;
      const query = await t.follow(path, { headers: ANA, method: 'POST', json: { selector: {} } });
      await query.until('"seen"');
      await secure(t, { members: { names: ['bob'] } });
      await write(t, 'hidden');
      assert.notInclude(await view.failure(), 'hidden');
      assert.notInclude(await query.failure(), 'hidden');
    },
    { needs },
  ),

  test(
    'a feed of a system database ends when its reader is no longer an admin',
    async (given) => {
      const t = await withUsers(given, USERS);
      const keepers = (roles: readonly string[]) =>
        t.request('PUT', '/_users/_security', { headers: ROOT, json: { admins: { roles } } });
      await keepers(['editor']);
      const changes = await t.follow('/_users/_changes?feed=continuous&include_docs=true', { headers: ANA });
      await changes.until('user:ana');
      const asked = { headers: ANA, method: 'POST', json: { selector: {} } };
      const query = await t.follow('/_users/_find?feed=continuous', asked);
      await query.until('user:ana');
      await keepers([]);
      await addUser(t, { name: 'secretive' });
      assert.notInclude(await changes.failure(), 'secretive');
      assert.notInclude(await query.failure(), 'secretive');
    },
    { needs },
  ),

  test(
    'a feed with a filter function ends when its reader loses a role, and a feed without one continues',
    async (given) => {
      const t = await withUsers(given, USERS);
      const filters = {
        mine: "function (doc, req) { return req.userCtx.roles.indexOf('editor') >= 0; }",
      };
      assert.equal((await t.at('PUT', '/_design/d', { headers: ROOT, json: { filters } })).status, 201);
      const [filtered, plain] = [
        await follow(t, ANA, '/_changes?feed=continuous&heartbeat=1000&filter=d/mine'),
        await follow(t, ANA),
      ];
      await filtered.until('_design/d');
      await change(t, { roles: [] });
      await write(t, 'hidden');
      assert.notInclude(await filtered.failure(), 'hidden');
      await plain.until('"hidden"');
    },
    { needs },
  ),

  test(
    'a slow answer is refused if its reader lost the right to read meanwhile',
    async (given) => {
      const t = await withUsers(given, USERS);
      await secure(t, { members: { roles: ['editor'] } });
      const map = 'function (doc) { for (var i = 0; i < 3e6; i++); emit(doc._id, null); }';
      assert.equal((await t.at('PUT', '/_design/d', { headers: ROOT, json: { views: { v: { map } } } })).status, 201);
      for (const id of ['a', 'b', 'c', 'd']) await write(t, id);
      const slow = t.at('GET', '/_design/d/_view/v', { headers: ANA });
      await change(t, { roles: [] });
      assertError(await slow, 401, 'unauthorized', 'You are not authorized to access this db.');
    },
    { needs },
  ),

  test(
    'a feed opened with a token ends when the token expires',
    async (given) => {
      const t = await withTokens(given);
      const feed = await follow(t, await tokenFor(1_000));
      await write(t, 'seen');
      await feed.until('"seen"');
      t.host.moveClock?.(2_000_000);
      await write(t, 'hidden');
      assert.notInclude(await feed.failure(), 'hidden');
    },
    { needs: ['settings', 'clock'] },
  ),

  test(
    'also if nothing happens',
    async (given) => {
      const t = await withTokens(given);
      // A busy machine may need longer than the first token lasts.
      for (const seconds of [2, 10, 30]) {
        const feed = await follow(t, await tokenFor(seconds), '/_changes?feed=continuous&timeout=60000').catch(
          () => {},
        );
        if (feed === undefined) continue;
        await feed.failure();
        return;
      }
      assert.fail('no feed was opened');
    },
    { needs },
  ),

  test(
    'a feed opened with a token ends when tokens are not accepted any more',
    async (given) => {
      const t = await withTokens(given);
      const feed = await follow(t, await tokenFor(1_000));
      await write(t, 'seen');
      await feed.until('"seen"');
      const headers = { ...ROOT, 'x-svc-persist': 'false' };
      const changed = { headers, json: 'cookie, default' };
      const { status, text } = await t.request('PUT', '/_config/httpd/authentication_handlers', changed);
      assert.equal(status, 200, text);
      await write(t, 'hidden');
      assert.notInclude(await feed.failure(), 'hidden');
    },
    { needs },
  ),

  test(
    'a feed opened with a session continues after the session expires, until the password changes',
    async (given) => {
      const t = await withUsers(given, USERS, { svc_httpd_auth: { timeout: '100' } });
      await secure(t, { members: { names: ['ana'] } });
      const feed = await follow(t, await logIn(t, 'ana'));
      t.host.moveClock?.(200_000);
      await change(t, { color: 'red' });
      await write(t, 'seen');
      await feed.until('"seen"');
      await change(t, { password: 'new' });
      await feed.failure();
    },
    { needs: ['settings', 'forbidden-headers', 'clock'] },
  ),
]);
