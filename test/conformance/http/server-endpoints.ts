import { assert } from 'chai';
import { assertAllowed } from '../../support/conformance/answer.ts';
import { arrayAt, at, numberAt, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import { nextPoll, type Toolkit } from '../../support/conformance/toolkit.ts';

/** The task that builds an index which takes a second at least, however fast the host is. */
async function seeTaskOfIndex(t: Toolkit): Promise<unknown> {
  await t.bulk(Array.from({ length: 40 }, (_, n) => ({ _id: `doc-${n}` })));
  const map = 'function (doc) { var end = Date.now() + 25; while (Date.now() < end); emit(doc._id); }';
  await t.put('_design/slow', { views: { v: { map } } });
  let isBuilt = false;
  const built = t.get('/_design/slow/_view/v').finally(() => {
    isBuilt = true;
  });
  let task: unknown;
  while (task === undefined && !isBuilt) {
    await nextPoll();
    const tasks = arrayAt((await t.request('GET', '/_active_tasks')).json);
    task = tasks.find((each) => at(each, 'database') === t.db && at(each, 'type') === 'indexer');
  }
  assert.equal((await built).status, 200);
  return task;
}

/** What the service answers above any database (docs/http/server.md). */
export default suite('server_endpoints', [
  test('the root returns the welcome message, and names the service', async (t) => {
    const { status, json } = await t.request('GET', '/');
    assert.equal(status, 200);
    assert.hasAllKeys(json, ['svc', 'uuid', 'version', 'vendor']);
    assert.equal(stringAt(json, 'svc'), 'Welcome');
    assert.match(stringAt(json, 'uuid'), /^[0-9a-f]{32}$/);
    assert.match(stringAt(json, 'version'), /^\d+\.\d+\.\d+/);
    assert.equal(stringAt(json, 'vendor', 'name'), 'Settee');
    assert.match(stringAt(json, 'vendor', 'version'), /^\d+\.\d+\.\d+/);
  }),

  test("the uuid of the server doesn't change", async (t) => {
    const first = await t.request('GET', '/');
    const second = await t.request('GET', '/');
    assert.equal(stringAt(first.json, 'uuid'), stringAt(second.json, 'uuid'));
  }),

  test('_up reports that the service is running', async (t) => {
    const { status, json } = await t.request('GET', '/_up');
    // A server of several processes adds the role of the one that answers.
    assert.deepEqual([status, stringAt(json, 'status')], [200, 'ok']);
  }),

  test('_all_dbs lists created databases', async (t) => {
    const answer = await t.request('GET', '/_all_dbs');
    assert.equal(answer.status, 200);
    assert.include(arrayAt(answer.json), t.db);
  }),

  test('_dbs_info returns the info of many databases', async (t) => {
    await t.put('doc', {});
    const absent = `${t.db}_absent`;
    const answer = await t.request('POST', '/_dbs_info', { json: { keys: [t.db, absent] } });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json, [
      { key: t.db, info: await t.info() },
      { key: absent, error: 'not_found' },
    ]);
  }),

  test('_active_tasks lists running tasks', async (t) => {
    const idle = await t.request('GET', '/_active_tasks');
    assert.equal(idle.status, 200);
    assert.isArray(idle.json);
  }),

  test('a running task has all its members', async (t) => {
    const task = await seeTaskOfIndex(t);
    for (const name of ['progress', 'changes_done', 'total_changes', 'started_on', 'updated_on']) numberAt(task, name);
    for (const name of ['pid', 'design_document']) assert.isNotEmpty(stringAt(task, name));
    assert.match(stringAt(task, 'status'), /^(Starting|Processed \d+ of \d+ changes \(\d+%\))$/);
    assert.equal(stringAt(task, 'task'), `${t.db} ${stringAt(task, 'design_document')}`);
    assert.isAtLeast(numberAt(task, 'started_on'), 1_700_000_000);
  }),

  test('a favicon is served or answered 404', async (t) => {
    const answer = await t.request('GET', '/favicon.ico');
    assert.include([200, 404], answer.status);
    if (answer.status === 404) return;
    assert.equal(answer.header('content-type'), 'image/x-icon');
    assert.match(answer.header('cache-control') ?? '', /max-age=\d+/);
    // ICO: reserved 0, type 1, at least one image.
    assert.deepEqual([...answer.bytes.slice(0, 4)], [0, 0, 1, 0]);
    assert.isAtLeast(answer.bytes[4] ?? 0, 1);
    const head = await t.request('HEAD', '/favicon.ico');
    assert.equal(head.header('content-length'), `${answer.bytes.length}`);
  }),

  test('server resources answer GET and HEAD only', async (t) => {
    for (const path of ['/', '/_all_dbs', '/_active_tasks', '/favicon.ico']) {
      assertAllowed(await t.request('DELETE', path), 'GET,HEAD');
      assertAllowed(await t.request('PUT', path, { json: {} }), 'GET,HEAD');
    }
  }),
]);
