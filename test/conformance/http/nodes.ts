import { assert } from 'chai';
import { basic, QUICK, ROOT } from '../../support/conformance/accounts.ts';
import { assertAllowed, assertError, assertJson } from '../../support/conformance/answer.ts';
import { numberAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

const NAME = 'nonode@nohost';
const OK = { ok: true };
const NOT_ADMIN = 'You are not a server admin.';
const WRONG = 'Name or password is incorrect.';
const NO_ADMIN = 'Cluster setup requires admin account to be configured: give username and password as strings.';

/** What administration tools ask of a server that could be one of several (docs/http/server.md#nodes). */
export default suite('nodes', [
  test(
    'the service is the only node',
    async (t) => {
      assertJson(await t.request('GET', '/_membership'), 200, { all_nodes: [NAME], cluster_nodes: [NAME] });
      assertJson(await t.request('GET', '/_node/_local'), 200, { name: NAME });
      assertJson(await t.request('GET', `/_node/${NAME}`), 200, { name: NAME });
    },
    { needs: ['one-process'] },
  ),

  test('each node that _membership names tells its name', async (t) => {
    const { all_nodes: names } = (await t.request('GET', '/_membership')).json as { all_nodes: string[] };
    assert.isAtLeast(names.length, 1);
    for (const name of names) {
      assertJson(await t.request('GET', `/_node/${encodeURIComponent(name)}`), 200, { name });
      const { json } = await t.request('GET', `/_node/${encodeURIComponent(name)}/_system`);
      assert.isTrue(numberAt(json, 'uptime') >= 0);
    }
  }),

  test('_system returns the uptime', async (t) => {
    const first = await t.request('GET', '/_node/_local/_system');
    assert.equal(first.status, 200);
    assert.hasAllKeys(first.json, ['uptime']);
    const uptime = numberAt(first.json, 'uptime');
    assert.isTrue(Number.isInteger(uptime) && uptime >= 0 && uptime < 3_600, first.text);
    assertAllowed(await t.request('PUT', '/_node/_local/_system', { json: {} }), 'GET');
    assertError(await t.request('GET', '/_node/_local/_system/uptime'), 404, 'not_found', 'missing');
  }),

  test('other nodes, and unknown resources of this node, are answered 404', async (t) => {
    assertError(await t.request('GET', '/_node/other'), 404, 'not_found', 'no such node: other');
    assertError(await t.request('GET', '/_node'), 404, 'not_found', 'missing');
    assertError(await t.request('GET', '/_node/_local/_absent'), 404, 'not_found', 'missing');
    assertAllowed(await t.request('PUT', '/_node/_local', { json: {} }), 'GET');
  }),

  test('_cluster_setup is unfinished without an admin', async (t) => {
    assertJson(await t.request('GET', '/_cluster_setup'), 200, { state: 'single_node_disabled' });
  }),

  test(
    'enable_single_node creates an admin and the system databases',
    async (given) => {
      const t = await given.withSettings({ svc_httpd_auth: QUICK });
      const set = {
        action: 'enable_single_node',
        username: 'root',
        password: 'secret of root',
        bind_address: '0.0.0.0',
      };
      assertJson(
        await t.request('POST', '/_cluster_setup', { json: { ...set, port: 5984, singlenode: true } }),
        201,
        OK,
      );
      assertError(await t.request('GET', '/_cluster_setup'), 401, 'unauthorized', NOT_ADMIN);
      const state = await t.request('GET', '/_cluster_setup', { headers: ROOT });
      assertJson(state, 200, { state: 'single_node_enabled' });
      for (const name of ['_users', '_replicator']) {
        assert.equal((await t.request('GET', `/${name}`, { headers: ROOT })).status, 200, name);
      }
      const finish = { action: 'finish_cluster' };
      assertError(await t.request('POST', '/_cluster_setup', { json: finish }), 401, 'unauthorized', NOT_ADMIN);
      assertJson(await t.request('POST', '/_cluster_setup', { headers: ROOT, json: finish }), 201, OK);
      // Who is an admin is changed by the configuration alone.
      const other = { ...set, username: 'other' };
      assertJson(await t.request('POST', '/_cluster_setup', { headers: ROOT, json: other }), 201, OK);
      assertError(
        await t.request('GET', '/_cluster_setup', { headers: basic('other', set.password) }),
        401,
        'unauthorized',
        WRONG,
      );
    },
    { needs: ['settings'] },
  ),

  test('other actions are refused, and none is carried out partially', async (t) => {
    const refusals: readonly (readonly [object, string])[] = [
      [{}, 'action must be a string.'],
      [
        { action: 'add_node', host: 'other' },
        "Invalid Action 'add_node': this service is a single node; send enable_single_node or finish_cluster.",
      ],
      [{ action: 'finish_cluster' }, NO_ADMIN],
      [{ action: 'enable_single_node', username: 'root' }, NO_ADMIN],
      [{ action: 'enable_single_node', username: 'root', password: '' }, NO_ADMIN],
      [{ action: 'enable_single_node', username: 1, password: 'x' }, NO_ADMIN],
    ];
    for (const [json, reason] of refusals) {
      assertError(await t.request('POST', '/_cluster_setup', { json }), 400, 'bad_request', reason);
    }
    assertJson(await t.request('GET', '/_cluster_setup'), 200, { state: 'single_node_disabled' });
  }),

  test('other methods are refused', async (t) => {
    assertAllowed(await t.request('PUT', '/_membership', { json: {} }), 'GET');
    assertAllowed(await t.request('PUT', '/_cluster_setup', { json: {} }), 'GET,POST');
  }),
]);
