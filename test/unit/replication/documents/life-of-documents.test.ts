/** What happens to replications when their documents, or the database of these, are not what they were. */
import { expect, test } from 'vitest';
import { ownMember } from '../../../../src/base/json/objects.ts';
import type { Settings } from '../../../../src/base/system/contract.ts';
import { patient } from '../../../support/patience.ts';
import { Service, useServices } from './support.ts';

useServices();

async function started(config: Settings = {}): Promise<Service> {
  const service = await Service.start(config);
  for (const name of ['a', 'b', 'c']) await service.must(`PUT /${name}`);
  await service.must('PUT /a/d1', {});
  return service;
}

const LIVE = { source: 'a', target: 'b', continuous: true };

async function jobs(service: Service): Promise<unknown> {
  return (await service.must('GET /_scheduler/jobs'))['jobs'];
}

test('replications by documents end with their database, and those in a new database start', async () => {
  const service = await started();
  await service.must('PUT /_replicator/live', LIVE);
  await service.untilRead('b', 'd1', () => true);
  await service.must('DELETE /_replicator');
  await expect.poll(() => jobs(service), patient).toEqual([]);
  await service.must('PUT /_replicator/live', { ...LIVE, target: 'c' });
  await service.untilRead('c', 'd1', () => true);
  expect(await jobs(service)).toMatchObject([{ doc_id: 'live', target: 'c' }]);
});

test('replications by documents end when their documents are purged', async () => {
  const service = await started();
  await service.must('PUT /_replicator/live', LIVE);
  const { _rev } = await service.untilState('live', 'triggered');
  await service.must('PUT /_replicator/other', { ...LIVE, target: 'c' });
  await service.untilState('other', 'triggered');
  await service.must('POST /_replicator/_purge', { live: [_rev] });
  await expect.poll(() => jobs(service), patient).toMatchObject([{ doc_id: 'other' }]);
});

test('the winning revision of a conflict counts', async () => {
  const service = await started();
  await service.must('PUT /_replicator/live', LIVE);
  await service.untilState('live', 'triggered');
  const other = { _id: 'live', source: 'a', target: 'c', continuous: true, owner: null };
  const ids = ['f', 'e', 'd', 'c', 'b', 'a'];
  const user = { name: null, roles: ['_replicator', '_admin'] };
  const docs = [{ ...other, _rev: '6-f', _revisions: { start: 6, ids } }];
  expect(await service.ask('POST /_replicator/_bulk_docs', { docs, new_edits: false }, user)).toMatchObject({
    json: [],
  });
  await service.untilRead('c', 'd1', () => true);
  expect(await jobs(service)).toMatchObject([{ doc_id: 'live', target: 'c' }]);
});

test('a document takes over the replication of a request, and requests attach to that of a document', async () => {
  const service = await started();
  const { _local_id } = await service.must('POST /_replicate', LIVE);
  await service.untilRead('b', 'd1', () => true);
  await service.must('PUT /_replicator/live', LIVE);
  expect(await service.untilState('live', 'triggered')).toMatchObject({ _replication_id: _local_id });
  expect(await jobs(service)).toMatchObject([{ id: _local_id, doc_id: 'live' }]);
  expect(await service.must('POST /_replicate', LIVE)).toEqual({ ok: true, _local_id });
  expect(await service.ask('POST /_replicate', { ...LIVE, cancel: true })).toMatchObject({ status: 403 });
  expect(await jobs(service)).toHaveLength(1);
});

test('a replication that was given up says so in its document, and starts again when the document is written', async () => {
  const service = await started({ replicator: { max_replication_retry_count: '0' } });
  await service.must('PUT /_replicator/copy', { source: 'none', target: 'b' });
  const failed = await service.untilState('copy', 'error');
  expect(await service.must('GET /_scheduler/docs/_replicator/copy')).toMatchObject({
    state: 'failed',
    error_count: 1,
    info: { error: 'db_not_found: could not open none' },
  });
  await service.must('PUT /none');
  await service.must('PUT /_replicator/copy', { source: 'none', target: 'b', _rev: failed['_rev'] });
  await service.untilState('copy', 'completed');
});

test("a replication that couldn't start is tried when the network is back", async () => {
  const service = await started();
  await service.must('PUT /_replicator/copy', { source: 'a', target: 'b', filter: 'd/all' });
  await service.untilState('copy', 'error');
  expect(await service.must('GET /_scheduler/docs/_replicator/copy')).toMatchObject({ state: 'error', error_count: 1 });
  await service.must('PUT /a/_design/d', { filters: { all: 'function () { return true; }' } });
  service.core.networkIsBack();
  await service.untilState('copy', 'completed');
  expect(await service.must('GET /b/d1')).toMatchObject({ _id: 'd1' });
});

test("a replication fails if its user can't read the source", async () => {
  const service = await started();
  const joe = { name: 'joe', roles: [] };
  await service.must('PUT /a/_security', { members: { names: ['ann'], roles: [] } });
  await service.must('PUT /_replicator/joes', { source: 'a', target: 'b', owner: 'joe', user_ctx: joe });
  const document = await service.untilState('joes', 'error');
  expect(document['_replication_state_reason']).toMatch(/^unauthorized: /);
});

test('a replication document keeps its attachments when its state is written', async () => {
  const service = await started();
  const attachments = { note: { content_type: 'text/plain', data: 'QSB3YWxr' } };
  await service.must('PUT /_replicator/copy', { source: 'a', target: 'b', _attachments: attachments });
  const document = await service.untilState('copy', 'completed');
  expect(document['_attachments']).toMatchObject({ note: { length: 6, revpos: 1 } });
});

test('a hundred replication documents, of which three can run at a time, are all carried out', async () => {
  const service = await started({ replicator: { max_jobs: '3' } });
  const docs = Array.from({ length: 100 }, (_, n) => ({
    _id: `r${n}`,
    source: 'a',
    target: `t${n}`,
    create_target: true,
  }));
  await service.ask('POST /_replicator/_bulk_docs', { docs });
  for (const { _id } of docs) await service.untilState(_id, 'completed');
  const names = (await service.ask('GET /_all_dbs')).json;
  expect(names).toHaveLength(104);
  const { rev } = Object(ownMember(await service.must('GET /t99/_all_docs'), 'rows'))[0].value;
  expect(rev).toBe((await service.must('GET /a/d1'))['_rev']);
});

test('a replication document written with batch=ok is carried out', async () => {
  const service = await started();
  await service.must('PUT /_replicator');
  expect((await service.ask('PUT /_replicator/copy?batch=ok', { source: 'a', target: 'b' })).status).toBe(202);
  await service.restart();
  expect(await service.untilState('copy', 'completed')).toMatchObject({ owner: null });
});

test('unknown members of a replication document are ignored, and a validation function can refuse it', async () => {
  const service = await started();
  const refuse = "function (doc) { if (doc.note === 'no') throw { forbidden: 'no notes' }; }";
  await service.must('PUT /_replicator/_design/rules', { validate_doc_update: refuse });
  const refused = await service.ask('PUT /_replicator/copy', { source: 'a', target: 'b', note: 'no' });
  expect(refused).toMatchObject({ status: 403, json: { reason: 'no notes' } });
  await service.must('PUT /_replicator/copy', { source: 'a', target: 'b', note: 'yes', constructor: 1 });
  expect(await service.untilState('copy', 'completed')).toMatchObject({ note: 'yes', constructor: 1 });
});
