import { expect, test } from 'vitest';
import { type JsonObject, ownMember } from '../../../../src/base/json/objects.ts';
import type { Network } from '../../../../src/core/core.ts';
import { createFetch } from '../../../../src/http/fetch-adapter.ts';
import { patient } from '../../../support/patience.ts';
import { Service, useServices } from './support.ts';

useServices();

/** A server on a network that the device has, or has not. */
class Remote {
  isReachable = false;
  readonly #server: Service;

  constructor(server: Service) {
    this.#server = server;
  }

  readonly network: Network = {
    fetch: async (...request) => {
      if (this.isReachable) return createFetch(this.#server.core.handle)(new Request(...request));
      throw new TypeError('fetch failed', {
        cause: Object.assign(new Error('getaddrinfo ENOTFOUND db.test'), { code: 'ENOTFOUND' }),
      });
    },
  };

  async make(path: string, body?: unknown): Promise<void> {
    await this.#server.must(`PUT ${path}`, body);
  }
}

/** No failure is forgiven: a single one that counts would be the last. */
const STRICT = { replicator: { retries_per_request: '0', max_replication_retry_count: '0' } };

async function start(): Promise<{ remote: Remote; service: Service }> {
  const remote = new Remote(await Service.start());
  await remote.make('/notes');
  await remote.make('/notes/one', { by: 'server' });
  const service = await Service.start(STRICT, undefined, remote.network);
  await service.must('PUT /_replicator');
  await service.must('PUT /notes');
  return { remote, service };
}

const PULL = { source: 'http://db.test/notes', target: 'notes', continuous: true };
const OFFLINE = /^offline: http:\/\/db\.test\/notes can't be reached: getaddrinfo ENOTFOUND db\.test$/;

function isOffline(document: JsonObject): boolean {
  return OFFLINE.test(String(ownMember(document, '_replication_state_reason')));
}

test('a document that needs the network says so while there is none, and is carried out when it is back', async () => {
  const { remote, service } = await start();
  await service.must('PUT /_replicator/pull', PULL);
  const document = await service.until('pull', isOffline);
  // Servers of the family know no such state.
  expect(document).not.toHaveProperty('_replication_state');
  const listed = await service.must('GET /_scheduler/docs/_replicator/pull');
  const times = { error_since: expect.any(String), next_attempt: expect.any(String) };
  expect(listed).toMatchObject({
    state: 'paused',
    error_count: 0,
    info: { error: expect.stringMatching(OFFLINE), ...times },
  });
  expect(await service.must('GET /_scheduler/docs?states=paused')).toMatchObject({ total_rows: 1 });
  const jobs = await service.must('GET /_scheduler/jobs');
  expect(jobs).toMatchObject({ jobs: [{ doc_id: 'pull', state: 'paused', info: times }] });
  const tasks = await service.ask('GET /_active_tasks');
  expect(tasks.json).toMatchObject([{ type: 'replication', doc_id: 'pull', state: 'paused', ...times }]);
  remote.isReachable = true;
  service.core.networkIsBack();
  expect(await service.untilState('pull', 'triggered')).not.toHaveProperty('_replication_state_reason');
  await service.untilRead('notes', 'one', () => true);
});

test('a paused document begins as soon as another replication reaches its host', async () => {
  const { remote, service } = await start();
  await remote.make('/more');
  await service.must('PUT /more');
  await service.must('PUT /_replicator/pull', PULL);
  await service.until('pull', isOffline);
  remote.isReachable = true;
  await service.must('POST /_replicate', { source: 'http://db.test/more', target: 'more' });
  await service.untilState('pull', 'triggered');
  await service.untilRead('notes', 'one', () => true);
});

test('a paused document begins at once when its replication is requested', async () => {
  const { remote, service } = await start();
  await service.must('PUT /_replicator/pull', PULL);
  await service.until('pull', isOffline);
  remote.isReachable = true;
  await service.must('POST /_replicate', PULL);
  await service.untilState('pull', 'triggered');
});

test('a document whose filter is at a host that cannot be reached is paused, and begins when another replication reaches it', async () => {
  const { remote, service } = await start();
  await remote.make('/notes/_design/d', { filters: { all: 'function () { return true; }' } });
  await service.must('PUT /_replicator/pull', { ...PULL, filter: 'd/all' });
  await service.until('pull', isOffline);
  expect(await service.must('GET /_scheduler/docs/_replicator/pull')).toMatchObject({
    state: 'paused',
    error_count: 0,
    info: { error: expect.stringMatching(OFFLINE), next_attempt: expect.any(String) },
  });
  remote.isReachable = true;
  await service.must('PUT /copy');
  await service.must('POST /_replicate', { source: 'http://db.test/notes', target: 'copy' });
  await service.untilState('pull', 'triggered');
});

test('a paused document can be changed, and stays paused after a restart', async () => {
  const { remote, service } = await start();
  await service.must('PUT /_replicator/pull', PULL);
  const { _rev } = await service.until('pull', isOffline);
  await service.must('PUT /_replicator/pull', { ...PULL, note: 'changed', _rev });
  await service.until('pull', (document) => isOffline(document) && document['note'] === 'changed');
  await service.restart();
  const state = async () => ownMember(await service.must('GET /_scheduler/docs/_replicator/pull'), 'state');
  await expect.poll(state, patient).toBe('paused');
  remote.isReachable = true;
  service.core.networkIsBack();
  await service.untilState('pull', 'triggered');
});

test('what was refused is named while there is no network, and after restarts', async () => {
  const { remote, service } = await start();
  const refuse = "function (doc) { if (doc.n === 2) throw { forbidden: 'no twos' }; }";
  await remote.make('/notes/_design/rules', { validate_doc_update: refuse });
  remote.isReachable = true;
  const named = { _replication_stats: { refused_count: 1, refused: [{ id: 'd2', reason: 'no twos' }] } };
  await service.must('PUT /_replicator/push', { ...PULL, source: 'notes', target: 'http://db.test/notes' });
  await service.must('PUT /notes/d2', { n: 2 });
  expect(await service.until('push', (document) => '_replication_stats' in document)).toMatchObject(named);

  remote.isReachable = false;
  await service.must('PUT /notes/d3', { n: 3 });
  expect(await service.until('push', isOffline)).toMatchObject(named);
  const info = async () => ownMember(await service.must('GET /_scheduler/docs/_replicator/push'), 'info');
  for (let restart = 0; restart < 2; restart++) {
    await service.restart();
    await expect.poll(info, patient).toMatchObject({ error: expect.stringMatching(OFFLINE) });
    expect(await service.until('push', isOffline)).toMatchObject(named);
  }
  remote.isReachable = true;
  service.core.networkIsBack();
  expect(await service.untilState('push', 'triggered')).toMatchObject(named);
  expect(await info()).toMatchObject({ refused_count: 1, refused: [{ id: 'd2' }] });
});
