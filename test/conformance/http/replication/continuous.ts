import { assert } from 'chai';
import { arrayAt, at, stringAt } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import type { Toolkit } from '../../../support/conformance/toolkit.ts';
import { arrives, newTarget, noJobs, until } from './steps.ts';

async function start(t: Toolkit, target: string): Promise<string> {
  const answer = await t.request('POST', '/_replicate', { json: { source: t.db, target, continuous: true } });
  assert.equal(answer.status, 202, answer.text);
  assert.isTrue(at(answer.json, 'ok'));
  return stringAt(answer.json, '_local_id');
}

async function cancel(t: Toolkit, json: object): Promise<void> {
  const answer = await t.request('POST', '/_replicate', { json: { ...json, cancel: true } });
  assert.equal(answer.status, 200, answer.text);
  await noJobs(t);
}

export default suite('replication_continuous', [
  test('a continuous replication copies each change until it is cancelled by the same request or by its id', async (t) => {
    const target = await newTarget(t);
    await t.put('one', {});
    const id = await start(t, target);
    assert.match(id, /^[\da-f]{32}\+continuous$/);
    await arrives(t, target, 'one');
    await t.put('two', {});
    await arrives(t, target, 'two');
    assert.equal(await start(t, target), id);
    await cancel(t, { source: t.db, target, continuous: true });
    await t.put('three', {});
    assert.equal(await start(t, target), id);
    await arrives(t, target, 'three');
    await cancel(t, { replication_id: id });
    const again = await t.request('POST', '/_replicate', { json: { replication_id: id, cancel: true } });
    assert.equal(again.status, 404);
  }),

  test("a continuous replication is listed in _active_tasks and in the scheduler's jobs", async (t) => {
    const target = await newTarget(t);
    await t.put('one', {});
    const id = await start(t, target);
    await arrives(t, target, 'one');
    const read = async () => {
      const tasks = arrayAt((await t.request('GET', '/_active_tasks')).json);
      return tasks.find((task) => at(task, 'replication_id') === id);
    };
    const task = await until(read, (found) => at(found, 'docs_written') === 1, 'the task should tell of the document');
    assert.deepInclude(task, {
      type: 'replication',
      doc_id: null,
      source: t.db,
      target,
      continuous: true,
      docs_read: 1,
      doc_write_failures: 0,
      missing_revisions_found: 1,
      revisions_checked: 1,
    });
    const job = await t.request('GET', `/_scheduler/jobs/${encodeURIComponent(id)}`);
    assert.equal(job.status, 200, job.text);
    assert.deepInclude(job.json, { id, database: null, doc_id: null, source: t.db, target, state: 'running' });
    assert.include(
      arrayAt((await t.request('GET', '/_scheduler/jobs')).json, 'jobs').map((each) => at(each, 'id')),
      id,
    );
    await cancel(t, { replication_id: id });
  }),
]);
