import { assert } from 'chai';
import { assertAllowed, assertError } from '../../support/conformance/answer.ts';
import { at, numberAt, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

/** The statistics of interface 2.12. */
const ALL: Readonly<Record<string, readonly string[]>> = {
  svc: [
    'auth_cache_hits',
    'auth_cache_misses',
    'database_reads',
    'database_writes',
    'open_databases',
    'open_os_files',
    'request_time',
  ],
  httpd_request_methods: ['COPY', 'DELETE', 'GET', 'HEAD', 'POST', 'PUT'],
  httpd_status_codes: ['200', '201', '202', '301', '304', '400', '401', '403', '404', '405', '409', '412', '500'],
  httpd: ['bulk_requests', 'clients_requesting_changes', 'requests', 'temporary_view_reads', 'view_reads'],
};

const NUMBERS = ['current', 'max', 'mean', 'min', 'stddev', 'sum'];

async function count(t: Toolkit, section: string, id: string): Promise<number> {
  const answer = await t.request('GET', `/_stats/${section}/${id}?flush=true`);
  assert.equal(answer.status, 200, answer.text);
  return numberAt(answer.json, section, id, 'current');
}

/** How much a statistic grows by what is done. */
async function growth(t: Toolkit, section: string, id: string, act: () => Promise<unknown>): Promise<number> {
  const before = await count(t, section, id);
  await act();
  return (await count(t, section, id)) - before;
}

/** What the service counts about itself (docs/http/server.md#statistics). */
export default suite('stats', [
  test('every statistic exists, with all members', async (t) => {
    const answer = await t.request('GET', '/_stats');
    assert.equal(answer.status, 200, answer.text);
    const json: unknown = answer.json;
    assert.hasAllKeys(json, Object.keys(ALL));
    for (const [section, ids] of Object.entries(ALL)) {
      assert.hasAllKeys(at(json, section), [...ids]);
      for (const id of ids) {
        assert.hasAllKeys(at(json, section, id), ['description', ...NUMBERS]);
        assert.isNotEmpty(stringAt(json, section, id, 'description'));
        for (const name of NUMBERS) numberAt(json, section, id, name);
      }
    }
  }),

  test('a single statistic has the same form', async (t) => {
    const { json } = await t.request('GET', '/_stats/httpd/requests');
    assert.hasAllKeys(json, ['httpd']);
    assert.hasAllKeys(at(json, 'httpd'), ['requests']);
    assert.hasAllKeys(at(json, 'httpd', 'requests'), ['description', ...NUMBERS]);
  }),

  test('names have two parts, and unknown names are refused', async (t) => {
    for (const path of ['/_stats/httpd', '/_stats/httpd/requests/current']) {
      const reason = 'Stat names must have exactly two parts.';
      assertError(await t.request('GET', path), 400, 'bad_request', reason);
    }
    assertError(await t.request('GET', '/_stats/httpd/absent'), 404, 'not_found', 'missing');
    assertAllowed(await t.request('POST', '/_stats', { json: {} }), 'GET');
  }),

  test('a range must be a configured window', async (t) => {
    for (const range of [0, 60, 300, 900]) {
      assert.equal((await t.request('GET', `/_stats?range=${range}`)).status, 200);
    }
    const reason = 'range is "7"; it must be one of 0, 60, 300, 900.';
    assertError(await t.request('GET', '/_stats?range=7'), 400, 'bad_request', reason);
    const recent = await t.request('GET', '/_stats/httpd/requests?range=60&flush=true');
    assert.isAtLeast(numberAt(recent.json, 'httpd', 'requests', 'sum'), 1);
  }),

  test('requests are counted by method and by status', async (t) => {
    const rev = await t.put('doc', {});
    const headers = { destination: 'copy', 'if-match': `"${rev}"` };
    assert.equal(await growth(t, 'httpd_request_methods', 'PUT', () => t.put('other', {})), 1);
    assert.equal(await growth(t, 'httpd_request_methods', 'COPY', () => t.at('COPY', '/doc', { headers })), 1);
    assert.equal(await growth(t, 'httpd_request_methods', 'HEAD', () => t.at('HEAD', '/doc')), 1);
    assert.equal(await growth(t, 'httpd_status_codes', '404', () => t.get('/absent')), 1);
    assert.equal(await growth(t, 'httpd_status_codes', '201', () => t.put('third', {})), 1);
    assert.equal(await growth(t, 'httpd_status_codes', '409', () => t.at('PUT', '/doc', { json: {} })), 1);
    assert.equal(await growth(t, 'httpd_status_codes', '405', () => t.at('GET', '/_bulk_docs')), 1);
    assert.equal(await growth(t, 'httpd_status_codes', '304', () => t.get('/doc', { 'if-none-match': `"${rev}"` })), 1);
    assert.equal(await growth(t, 'httpd_status_codes', '400', () => t.get('/_x')), 1);
    // Both questions are requests as well.
    assert.equal(await growth(t, 'httpd', 'requests', () => t.get('/doc')), 2);
    assert.isAtLeast(await growth(t, 'svc', 'request_time', () => t.get('/doc')), 0);
  }),

  test('document reads and writes are counted', async (t) => {
    assert.equal(await growth(t, 'svc', 'database_writes', () => t.put('a', {})), 1);
    assert.equal(await growth(t, 'svc', 'database_writes', () => t.bulk([{ _id: 'b' }, { _id: 'c' }])), 2);
    assert.equal(await growth(t, 'svc', 'database_writes', () => t.at('PUT', '/a', { json: {} })), 0);
    assert.equal(await growth(t, 'svc', 'database_reads', () => t.get('/a')), 1);
    assert.equal(await growth(t, 'svc', 'database_reads', () => t.get('/a?revs=true')), 1);
    assert.equal(await growth(t, 'svc', 'database_reads', () => t.get('/_all_docs?include_docs=true')), 3);
    assert.equal(await growth(t, 'svc', 'database_reads', () => t.get('/_all_docs')), 0);
  }),

  test(
    'open databases and files are counted',
    async (t) => {
      await t.put('a', {});
      assert.isAtLeast(await count(t, 'svc', 'open_databases'), 1);
      assert.isAtLeast(await count(t, 'svc', 'open_os_files'), 1);
    },
    { needs: ['one-process'] },
  ),

  test(
    'bulk requests, views and feeds are counted',
    async (t) => {
      await t.put('_design/d', { views: { v: { map: 'function (doc) { emit(doc._id); }' } } });
      await t.get('/_design/d/_view/v');
      assert.equal(await growth(t, 'httpd', 'bulk_requests', () => t.bulk([{ _id: 'b' }])), 1);
      assert.equal(await growth(t, 'httpd', 'view_reads', () => t.get('/_design/d/_view/v')), 1);
      const json = { map: 'function (doc) { emit(doc._id); }' };
      assert.equal(await growth(t, 'httpd', 'temporary_view_reads', () => t.at('POST', '/_temp_view', { json })), 1);
      const before = await count(t, 'httpd', 'clients_requesting_changes');
      const feed = await t.feed('feed=continuous&since=now&heartbeat=100');
      assert.equal(await count(t, 'httpd', 'clients_requesting_changes'), before + 1);
      await feed.cancel();
    },
    { needs: ['one-process'] },
  ),

  test('statistics are available under /_node/…/_stats as in later CouchDB versions', async (t) => {
    const { status, json } = await t.request('GET', '/_node/_local/_stats');
    assert.equal(status, 200);
    assert.isAtLeast(numberAt(json, 'svc', 'httpd', 'requests', 'value'), 1);
    assert.equal(stringAt(json, 'svc', 'httpd_request_methods', 'GET', 'type'), 'counter');
    assert.equal(stringAt(json, 'svc', 'open_databases', 'type'), 'gauge');
    numberAt(json, 'svc', 'request_time', 'value', 'arithmetic_mean');
    const one = await t.request('GET', '/_node/_local/_stats/svc/httpd/requests');
    assert.hasAllKeys(one.json, ['value', 'type', 'desc']);
    assertError(await t.request('GET', '/_node/_local/_stats/svc/constructor'), 404, 'not_found', 'missing');
  }),

  test(
    'statistics are available in the text format of Prometheus',
    async (t) => {
      const answer = await t.request('GET', '/_node/_local/_prometheus');
      assert.equal(answer.status, 200);
      assert.equal(answer.header('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
      assert.match(answer.text, /^# HELP svc_info .*\n# TYPE svc_info gauge\nsvc_info\{version="\d[^"]*"\} 1\n/);
      assert.match(answer.text, /^# TYPE svc_httpd_requests_total counter\nsvc_httpd_requests_total [1-9]\d*$/m);
      assert.match(answer.text, /^svc_httpd_status_codes_total\{code="200"\} [1-9]\d*$/m);
      assert.match(answer.text, /^svc_httpd_request_methods_total\{method="PUT"\} [1-9]\d*$/m);
      assert.match(answer.text, /^# TYPE svc_open_databases gauge\nsvc_open_databases [1-9]\d*$/m);
      assert.match(answer.text, /^svc_request_time_seconds_count [1-9]\d*$/m);
      const names = [...answer.text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
      assert.equal(new Set(names).size, names.length);
      for (const line of answer.text.trimEnd().split('\n')) {
        assert.match(line, /^(# (HELP|TYPE) \S+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [\d.e+-]+)$/);
      }
    },
    { needs: ['one-process'] },
  ),
]);
