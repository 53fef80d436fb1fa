import { assert } from 'chai';
import { assertJson } from '../../support/conformance/answer.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

const NEEDS = { needs: ['gateway', 'settings', 'forbidden-headers'] } as const;

function withHosts(t: Toolkit, vhosts: Readonly<Record<string, string>>): Promise<Toolkit> {
  return t.withSettings({ vhosts });
}

/** Host names that stand for paths (docs/http/requests.md#virtual-hosts). */
export default suite('vhosts', [
  test(
    'a virtual host maps to a path, and other hosts are unchanged',
    async (t) => {
      const on = await withHosts(t, { 'notes.example.com': `/${t.db}` });
      const rev = await on.put('doc', { n: 1 });
      const headers = { host: 'notes.example.com' };
      assertJson(await on.request('GET', '/doc', { headers }), 200, { _id: 'doc', _rev: rev, n: 1 });
      assertJson(await on.request('GET', '/doc?rev=1-x', { headers: { host: 'notes.example.com:80' } }), 404, {
        error: 'not_found',
        reason: 'missing',
      });
      assert.equal(at((await on.request('GET', '/', { headers })).json, 'db_name'), t.db);
      const written = await on.request('PUT', '/other', { headers, json: {} });
      assert.equal(written.status, 201);
      assert.equal((await on.get('/other')).status, 200);
      assert.equal(at((await on.request('GET', '/')).json, 'svc'), 'Welcome');
    },
    NEEDS,
  ),

  test(
    'labels and path segments can be variables of the target',
    async (t) => {
      const on = await withHosts(t, {
        ':name.example.com': `/${t.db}/:name`,
        '*.example.net': `/${t.db}/*`,
        'path.example.org/a': `/${t.db}`,
      });
      await on.put('one', { n: 1 });
      await on.put('x.y', { n: 2 });
      const ask = async (host: string, path: string) => {
        const answer = await on.request('GET', path, { headers: { host } });
        return answer.status === 200 ? at(answer.json, 'n') : answer.status;
      };
      assert.equal(await ask('one.example.com', '/'), 1);
      assert.equal(await ask('x.y.example.net', '/'), 2);
      assert.equal(await ask('path.example.org', '/a/one'), 1);
    },
    NEEDS,
  ),

  test(
    'global resources are the same on every host',
    async (t) => {
      const on = await withHosts(t, { 'notes.example.com': `/${t.db}` });
      const headers = { host: 'notes.example.com' };
      const answer = await on.request('GET', '/_uuids', { headers });
      assert.equal(answer.status, 200);
      assert.hasAllKeys(answer.json, ['uuids']);
      assert.equal((await on.request('GET', '/_all_docs', { headers })).status, 200);
      assert.equal(at((await on.request('GET', '/_all_dbs', { headers })).json, 'error'), 'bad_request');
    },
    NEEDS,
  ),

  test(
    'a function sees the requested path',
    async (t) => {
      const on = await withHosts(t, { 'app.example.com': `/${t.db}/_design/app/_rewrite` });
      const show = `function (doc, req) {
        return { json: { requested: req.requested_path, vhost: req.headers['X-Svc-Vhost-Path'] || req.headers['x-svc-vhost-path'] } };
      }`;
      await on.put('_design/app', {
        rewrites: [{ from: '/hello', to: '_show/page' }],
        shows: { page: show },
      });
      const answer = await on.request('GET', '/hello?a=b', { headers: { host: 'app.example.com' } });
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(at(answer.json, 'requested'), ['hello']);
      assert.equal(at(answer.json, 'vhost'), '/hello?a=b');
    },
    NEEDS,
  ),
]);
