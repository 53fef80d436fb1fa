import { assert } from 'chai';
import {
  addUser,
  basic,
  type Headers,
  ROOT,
  userPath,
  withAdmin,
  withUsers,
} from '../../../support/conformance/accounts.ts';
import { arrayAt, at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import type { Toolkit } from '../../../support/conformance/toolkit.ts';
import { newTarget, until } from './steps.ts';

const TIM = basic('tim', 'tim');
const AS_TIM = { name: 'tim', roles: ['team'] };
const ENDED = 'unauthorized: The user tim';

/** A database of the team, with a document, and tim, who is in it. `target` is where the team's documents are to be copied. */
async function withTim(given: Toolkit): Promise<{ readonly t: Toolkit; readonly target: string }> {
  const t = await withUsers(given, [{ name: 'tim', roles: ['team'] }]);
  await t.createDatabase('_replicator');
  const target = await newTarget(t);
  await secure(t, { members: { roles: ['team'] } });
  await write(t, 'before');
  return { t, target };
}

async function secure(t: Toolkit, security: object): Promise<void> {
  assert.equal((await t.at('PUT', '/_security', { headers: ROOT, json: security })).status, 200);
}

async function write(t: Toolkit, id: string, headers: Headers = ROOT): Promise<void> {
  assert.equal((await t.at('PUT', `/${id}`, { headers, json: {} })).status, 201);
}

async function change(t: Toolkit, members: object): Promise<void> {
  const { json } = await t.request('GET', userPath('tim'), { headers: ROOT });
  const changed = await t.request('PUT', userPath('tim'), { headers: ROOT, json: { ...Object(json), ...members } });
  assert.include([200, 201], changed.status, changed.text);
}

async function begin(t: Toolkit, target: string, headers: Headers = TIM): Promise<string> {
  const json = { source: t.db, target, continuous: true };
  const answer = await t.request('POST', '/_replicate', { headers, json });
  assert.equal(answer.status, 202, answer.text);
  return `${at(answer.json, '_local_id')}`;
}

async function arrives(t: Toolkit, database: string, id: string): Promise<void> {
  const read = async () => (await t.request('GET', `/${database}/${id}`, { headers: ROOT })).status;
  await until(read, (status) => status === 200, `${id} should come to ${database}`);
}

/** The job once it is given up: what failed. */
async function whyFailed(t: Toolkit, id: string): Promise<string> {
  const read = async () =>
    (await t.request('GET', `/_scheduler/jobs/${encodeURIComponent(id)}`, { headers: ROOT })).json;
  const job = await until(read, (found) => at(found, 'state') === 'failed', `${id} should be given up`);
  return `${at(arrayAt(job, 'history')[0], 'reason')}`;
}

/** The document once the service says of it that it failed: the reason. */
async function whyNot(t: Toolkit, id: string): Promise<string> {
  const read = async () => (await t.request('GET', `/_replicator/${id}`, { headers: ROOT })).json;
  const found = await until(read, (one) => at(one, '_replication_state') === 'error', `${id} should fail`);
  return `${at(found, '_replication_state_reason')}`;
}

async function isThere(t: Toolkit, database: string, id: string): Promise<boolean> {
  return (await t.request('GET', `/${database}/${id}`, { headers: ROOT })).status === 200;
}

const needs = ['settings'] as const;

/** Replications end with the rights by which they were asked for (docs/http/replication.md#rights-of-replications). */
export default suite('replication_rights', [
  test(
    'a continuous replication ends when its user loses the account, the role or the password',
    async (given) => {
      const ends: readonly (readonly [string, object])[] = [
        ['role', { roles: [] }],
        ['password', { password: 'new' }],
        ['account', { _deleted: true }],
      ];
      for (const [what, members] of ends) {
        const { t, target } = await withTim(given);
        const id = await begin(t, target);
        await arrives(t, target, 'before');
        await change(t, members);
        await write(t, 'hidden');
        assert.include(await whyFailed(t, id), ENDED, what);
        assert.isFalse(await isThere(t, target, 'hidden'), `got by whoever lost the ${what}`);
      }
    },
    { needs },
  ),

  test(
    'a continuous replication outlives the session that requested it, and other changes of the account',
    async (given) => {
      const { t, target } = await withTim(given);
      const session = await t.request('POST', '/_session', { json: { name: 'tim', password: 'tim' } });
      const headers = { cookie: `${session.header('set-cookie')}`.split(';')[0] ?? '' };
      await begin(t, target, headers);
      await arrives(t, target, 'before');
      await t.request('DELETE', '/_session', { headers });
      await change(t, { color: 'red', roles: ['team', 'more'] });
      await write(t, 'later');
      await arrives(t, target, 'later');
    },
    { needs: ['settings', 'forbidden-headers'] },
  ),

  test(
    'a replication of an anonymous client ends when the service gets its first admin',
    async (given) => {
      const t = await given.withSettings({});
      const target = await newTarget(t);
      const id = await begin(t, target, {});
      await t.at('PUT', '/before', { json: {} });
      await until(
        async () => (await t.request('GET', `/${target}/before`)).status,
        (status) => status === 200,
        'first',
      );
      assert.equal((await t.request('PUT', '/_config/admins/root', { json: 'secret of root' })).status, 200);
      await write(t, 'hidden');
      assert.include(await whyFailed(t, id), 'had the role _admin');
      assert.isFalse(await isThere(t, target, 'hidden'));
    },
    { needs },
  ),

  test(
    'a replication by a document that lost its rights says so in the document',
    async (given) => {
      const { t, target } = await withTim(given);
      const members = { source: t.db, target, continuous: true, user_ctx: AS_TIM };
      const asked = await t.request('PUT', '/_replicator/tims', { headers: TIM, json: members });
      assert.equal(asked.status, 201, asked.text);
      await arrives(t, target, 'before');
      await change(t, { _deleted: true });
      await write(t, 'hidden');
      assert.include(await whyNot(t, 'tims'), ENDED);
      assert.isFalse(await isThere(t, target, 'hidden'));
    },
    { needs },
  ),

  test(
    "a replication by a document that lost its rights doesn't start again with the service",
    async (given) => {
      const { t, target } = await withTim(given);
      const members = { source: t.db, target, continuous: true, user_ctx: AS_TIM };
      assert.equal((await t.request('PUT', '/_replicator/tims', { headers: TIM, json: members })).status, 201);
      await arrives(t, target, 'before');
      await change(t, { roles: [] });
      await whyNot(t, 'tims');
      await write(t, 'hidden');
      await t.host.restart?.();
      const last = await t.request('GET', '/_replicator/tims', { headers: ROOT });
      const read = async () => (await t.request('GET', '/_scheduler/docs/_replicator/tims', { headers: ROOT })).json;
      await until(read, (found) => at(found, 'state') === 'failed', `${last.text} should fail again`);
      assert.isFalse(await isThere(t, target, 'hidden'));
    },
    { needs: ['settings', 'restart'] },
  ),

  test(
    'a replication of a former admin ends, as its document has no owner with rights',
    async (given) => {
      const t = await withAdmin(given);
      const path = '/_config/admins/boss';
      assert.equal((await t.request('PUT', path, { headers: ROOT, json: 'boss' })).status, 200);
      await t.createDatabase('_replicator');
      const target = await newTarget(t);
      await secure(t, { members: { roles: ['team'] } });
      await write(t, 'before');
      const boss = basic('boss', 'boss');
      const made = { source: t.db, target, continuous: true };
      const named = { ...made, target: await newTarget(t, 'other'), user_ctx: { name: 'robot', roles: ['team'] } };
      assert.equal((await t.request('PUT', '/_replicator/plain', { headers: boss, json: made })).status, 201);
      assert.equal((await t.request('PUT', '/_replicator/named', { headers: boss, json: named })).status, 201);
      for (const to of [made.target, named.target]) await arrives(t, to, 'before');
      assert.equal((await t.request('DELETE', path, { headers: ROOT })).status, 200);
      await write(t, 'hidden');
      for (const id of ['plain', 'named']) assert.include(await whyNot(t, id), 'is no longer a server admin');
      for (const to of [made.target, named.target]) assert.isFalse(await isThere(t, to, 'hidden'));
    },
    { needs },
  ),

  test(
    'a user who lost a role can request the replication again with the remaining rights',
    async (given) => {
      const { t, target } = await withTim(given);
      const id = await begin(t, target);
      await change(t, { roles: [] });
      await whyFailed(t, id);
      await secure(t, {});
      await addUser(t, { name: 'eva' });
      await begin(t, target);
      await arrives(t, target, 'before');
    },
    { needs },
  ),
]);
