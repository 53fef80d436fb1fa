import { expect, test } from 'vitest';
import { patient } from '../../../support/patience.ts';
import { Service, useServices } from './support.ts';

useServices();

async function withSource(count = 3): Promise<Service> {
  const service = await Service.start();
  await service.must('PUT /a');
  await service.must('PUT /b');
  for (let n = 1; n <= count; n++) await service.must(`PUT /a/d${n}`, { n });
  return service;
}

test('a replication document is carried out, and has the state completed', async () => {
  const service = await withSource();
  expect((await service.ask('PUT /_replicator/copy', { source: 'a', target: 'b' })).status).toBe(201);
  const document = await service.untilState('copy', 'completed');
  expect(document).toMatchObject({ source: 'a', target: 'b', owner: null });
  expect(document['_replication_state_time']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  expect(document['_replication_id']).toMatch(/^[\da-f]{32}$/);
  expect(document['_replication_stats']).toMatchObject({ docs_read: 3, docs_written: 3, doc_write_failures: 0 });
  expect(document).not.toHaveProperty('_replication_state_reason');
  expect(await service.must('GET /b')).toMatchObject({ doc_count: 3 });
  expect(await service.must('GET /_scheduler/jobs')).toMatchObject({ total_rows: 0 });
});

test('a continuous replication document continues after a restart, and ends when it is deleted', async () => {
  const service = await withSource();
  await service.must('PUT /_replicator/live', { source: 'a', target: 'b', continuous: true });
  const triggered = await service.untilState('live', 'triggered');
  expect(triggered['_replication_id']).toMatch(/^[\da-f]{32}\+continuous$/);
  await service.untilRead('b', 'd3', () => true);
  await service.restart();
  await service.must('PUT /a/d4', {});
  await service.untilRead('b', 'd4', () => true);
  // Nothing new is to be said, so nothing is written.
  expect((await service.read('live'))['_rev']).toBe(triggered['_rev']);
  expect(await service.must('GET /_scheduler/jobs')).toMatchObject({
    total_rows: 1,
    jobs: [{ database: '_replicator', doc_id: 'live', state: 'running' }],
  });
  await service.must(`DELETE /_replicator/live?rev=${String(triggered['_rev'])}`);
  await expect.poll(async () => service.must('GET /_scheduler/jobs'), patient).toMatchObject({ total_rows: 0 });
  await service.must('PUT /a/d5', {});
  expect((await service.ask('GET /b/d5')).status).toBe(404);
});

test("of two equal replication documents one is carried out, and the other says why it isn't", async () => {
  const service = await withSource();
  const body = { source: 'a', target: 'b', continuous: true };
  await service.must('PUT /_replicator/one', body);
  const one = await service.untilState('one', 'triggered');
  await service.must('PUT /_replicator/two', body);
  const two = await service.until('two', (document) => '_replication_id' in document);
  expect(two['_replication_id']).toBe(one['_replication_id']);
  expect(two).not.toHaveProperty('_replication_state');
  expect(two['_replication_state_reason']).toMatch(/`one'/);
  await service.restart();
  await service.must(`DELETE /_replicator/one?rev=${String(one['_rev'])}`);
  const taken = await service.untilState('two', 'triggered');
  expect(taken).not.toHaveProperty('_replication_state_reason');
});

test('a replication document that fails says so, and starts again when it is changed', async () => {
  const service = await withSource();
  await service.must('PUT /_replicator/bad', { source: 'none', target: 'b' });
  const failed = await service.untilState('bad', 'error');
  expect(failed['_replication_state_reason']).toMatch(/^db_not_found: could not open none/);
  await service.must('PUT /_replicator/bad', { ...failed, source: 'a' });
  expect(await service.untilState('bad', 'completed')).not.toHaveProperty('_replication_state_reason');
});

test('refused documents are in the state, and are copied when the replication is repeated', async () => {
  const service = await withSource(1);
  const refuse = "function (doc) { if (doc.n === 2) throw { forbidden: 'no twos' }; }";
  const { rev } = await service.must('PUT /b/_design/rules', { validate_doc_update: refuse });
  await service.must('PUT /_replicator/live', { source: 'a', target: 'b', continuous: true });
  const before = await service.untilState('live', 'triggered');
  await service.must('PUT /a/d2', { n: 2 });
  const told = await service.until('live', (document) => '_replication_stats' in document);
  const refused = { id: 'd2', error: 'forbidden', reason: 'no twos' };
  expect(told).toMatchObject({
    _replication_state: 'triggered',
    _replication_stats: { refused_count: 1, refused: [refused] },
  });
  await service.restart();
  await service.must(`DELETE /b/_design/rules?rev=${String(rev)}`);
  const retry = { retry_refused: true, replication_id: before['_replication_id'] };
  await expect.poll(async () => (await service.ask('POST /_replicate', retry)).status, patient).toBe(200);
  await service.until('live', (document) => !('_replication_stats' in document));
  expect(await service.must('GET /b/d2')).toMatchObject({ n: 2 });
});

test.each([0, 1])('all refused documents are counted after a restart if only %s are named', async (most) => {
  const service = await Service.start({ replicator: { max_refused: String(most) } });
  await service.must('PUT /a');
  await service.must('PUT /b');
  await service.must('PUT /b/_design/rules', { validate_doc_update: "function () { throw { forbidden: 'no' }; }" });
  for (let n = 1; n <= 3; n++) await service.must(`PUT /a/d${n}`, {});
  await service.must('PUT /_replicator/live', { source: 'a', target: 'b', continuous: true });
  const counted = { refused_count: 3, refused: { length: most } };
  const told = async () => (await service.read('live'))['_replication_stats'];
  await expect.poll(told, patient).toMatchObject(counted);
  await service.restart();
  const listed = () => service.must('GET /_scheduler/docs/_replicator/live');
  await expect.poll(listed, patient).toMatchObject({ state: 'running', info: { changes_pending: 0, ...counted } });
  // What waits to be written is, before it closes.
  await service.restart();
  expect(await told()).toMatchObject(counted);
});

test('a document that is refused just before the service closes is in the state', async () => {
  const service = await withSource(1);
  const refuse = "function (doc) { if (doc.n === 2) throw { forbidden: 'no twos' }; }";
  await service.must('PUT /b/_design/rules', { validate_doc_update: refuse });
  await service.must('PUT /_replicator/live', { source: 'a', target: 'b', continuous: true });
  await service.untilState('live', 'triggered');
  await service.must('PUT /a/d2', { n: 2 });
  const told = () => service.must('GET /_scheduler/docs/_replicator/live');
  await expect.poll(told, { ...patient, interval: 5 }).toMatchObject({ info: { refused_count: 1 } });
  await service.restart();
  expect(await service.read('live')).toMatchObject({
    _replication_stats: { refused_count: 1, refused: [{ id: 'd2', error: 'forbidden', reason: 'no twos' }] },
  });
});

test('a replication document can retry the refused documents of another one', async () => {
  const service = await withSource(2);
  const refuse = "function (doc) { if (doc.n === 2) throw { forbidden: 'no twos' }; }";
  const { rev } = await service.must('PUT /b/_design/rules', { validate_doc_update: refuse });
  const body = { source: 'a', target: 'b' };
  await service.must('PUT /_replicator/copy', body);
  const done = await service.untilState('copy', 'completed');
  expect(done).toMatchObject({ _replication_stats: { doc_write_failures: 1, refused: [{ id: 'd2' }] } });
  await service.must(`DELETE /b/_design/rules?rev=${String(rev)}`);
  await service.must('PUT /_replicator/copy', { ...body, _rev: done['_rev'], retry_refused: true });
  const again = await service.untilState('copy', 'completed');
  expect(again).toMatchObject({ _replication_stats: { doc_write_failures: 0, docs_written: 1 } });
  expect(await service.must('GET /b/d2')).toMatchObject({ n: 2 });
});

test('the list of replication documents has every state', async () => {
  const service = await withSource(2);
  expect(await service.must('GET /_scheduler/docs')).toEqual({ total_rows: 0, offset: 0, docs: [] });
  expect((await service.ask('GET /_scheduler/docs/_replicator/copy')).status).toBe(404);
  await service.must('PUT /_replicator/copy', { source: 'a', target: 'b' });
  await service.must('PUT /_replicator/live', { source: 'b', target: 'a', continuous: true });
  await service.must('PUT /_replicator/wrong', { source: 'a', target: 'b', doc_ids: ['x'], filter: 'd/f' });
  await service.must('PUT /_replicator/_design/none', {});
  const copied = await service.untilState('copy', 'completed');
  const live = await service.untilState('live', 'triggered');
  await service.untilState('wrong', 'error');
  const reason = '`doc_ids`, `filter`, `selector` are mutually exclusive';
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  const common = {
    database: '_replicator',
    node: 'nonode@nohost',
    source_proxy: null,
    target_proxy: null,
    error_count: 0,
    start_time: time,
    last_updated: time,
  };
  const rows = [
    {
      ...common,
      doc_id: 'copy',
      id: copied['_replication_id'],
      state: 'completed',
      source: 'a',
      target: 'b',
      info: copied['_replication_stats'],
    },
    {
      ...common,
      doc_id: 'live',
      id: live['_replication_id'],
      state: 'running',
      source: 'b',
      target: 'a',
      info: expect.objectContaining({ docs_written: 0, changes_pending: 0 }),
    },
    { ...common, doc_id: 'wrong', id: null, state: 'failed', source: 'a', target: 'b', info: { error: reason } },
  ];
  await expect
    .poll(() => service.must('GET /_scheduler/docs'), patient)
    .toEqual({ total_rows: 3, offset: 0, docs: rows });
  expect(await service.must('GET /_scheduler/docs/_replicator?skip=1&limit=1')).toEqual({
    total_rows: 3,
    offset: 1,
    docs: [rows[1]],
  });
  expect(await service.must('GET /_scheduler/docs?states=failed,completed')).toEqual({
    total_rows: 2,
    offset: 0,
    docs: [rows[0], rows[2]],
  });
  expect(await service.must('GET /_scheduler/docs/_replicator/wrong')).toEqual(rows[2]);
  expect((await service.ask('GET /_scheduler/docs?states=odd')).status).toBe(400);
  expect((await service.ask('GET /_scheduler/docs/other')).status).toBe(404);
});
