import { assert } from 'chai';
import { arrayAt, at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import { ask, newTarget, untilState, useReplicator } from './steps.ts';

export default suite('replication_document_list', [
  test('all documents are listed with their states, in pages and filtered by state', async (t) => {
    await useReplicator(t);
    const target = await newTarget(t);
    await ask(t, 'a', { target });
    await ask(t, 'b', { target, continuous: true });
    const done = await untilState(t, 'a', 'completed');
    const live = await untilState(t, 'b', 'triggered');
    const all = await t.request('GET', '/_scheduler/docs');
    assert.equal(all.status, 200, all.text);
    assert.deepInclude(all.json, { total_rows: 2, offset: 0 });
    const [first, second] = arrayAt(all.json, 'docs');
    assert.deepInclude(first, {
      database: '_replicator',
      doc_id: 'a',
      id: at(done, '_replication_id'),
      state: 'completed',
      source: t.db,
      target,
      source_proxy: null,
      target_proxy: null,
      info: at(done, '_replication_stats'),
      error_count: 0,
    });
    assert.deepInclude(second, { doc_id: 'b', id: at(live, '_replication_id'), state: 'running', error_count: 0 });
    const part = await t.request('GET', '/_scheduler/docs/_replicator?limit=1&skip=1');
    assert.deepInclude(part.json, { total_rows: 2, offset: 1 });
    assert.deepEqual(
      arrayAt(part.json, 'docs').map((row) => at(row, 'doc_id')),
      ['b'],
    );
    const running = await t.request('GET', '/_scheduler/docs?states=running,error');
    assert.deepEqual(
      arrayAt(running.json, 'docs').map((row) => at(row, 'doc_id')),
      ['b'],
    );
    const one = await t.request('GET', '/_scheduler/docs/_replicator/a');
    assert.deepEqual(one.json, first);
    assert.equal((await t.request('GET', '/_scheduler/docs/_replicator/none')).status, 404);
    assert.equal((await t.request('GET', '/_scheduler/docs/other')).status, 404);
    assert.equal((await t.request('GET', '/_scheduler/docs?states=odd')).status, 400);
  }),
]);
