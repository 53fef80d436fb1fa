import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ReplicationActivity, RequestStore } from '../../../../src/replication/contract.ts';
import { patient } from '../../../support/patience.ts';
import { ADMIN, type FakeOptions, type FakeService, failure, openReplicator, settle } from './support.ts';

const LIVE = { source: 'a', target: 'b', continuous: true };
const REMOTE = { source: 'http://peer/a', target: 'b', continuous: true };

let services: FakeService[] = [];

function open(options?: FakeOptions): FakeService {
  const service = openReplicator(options);
  services.push(service);
  return service;
}

beforeEach(() => {
  services = [];
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(async () => {
  for (const { replicator } of services) await replicator.close();
  vi.useRealTimers();
});

function post({ replicator }: FakeService, body: object, user = ADMIN) {
  return replicator.replicate({ ...body }, { user, ownBases: [] });
}

function createStore(text = ''): RequestStore {
  const store = { text, save: (saved: string) => Object.assign(store, { text: saved }) };
  return store;
}

describe('replication requests that outlive the core', () => {
  test('continue in the next core if they are continuous, with the rights of their user', async () => {
    const requests = createStore();
    const first = open({ requests });
    await post(first, LIVE, { name: 'joe', roles: ['x'] });
    await post(first, { source: 'c', target: 'd' });
    await first.replicator.close();
    const next = open({ requests });
    await next.replicator.resume();
    await settle();
    expect(next.runs.map(({ replication }) => replication)).toMatchObject([
      { source: { name: 'a' }, target: { name: 'b' }, continuous: true, user: { name: 'joe', roles: ['x'] } },
    ]);
    // What runs already is not begun again.
    await next.replicator.resume();
    await settle();
    expect(next.runs).toHaveLength(1);
  });

  test('are forgotten when cancelled, and an equal request replaces the earlier one', async () => {
    const requests = createStore();
    const service = open({ requests });
    await post(service, { ...REMOTE, source: 'http://joe:wrong@peer/a' });
    const other = await post(service, LIVE);
    await settle();
    service.runs[0]?.fail(failure());
    await settle();
    const corrected = { ...REMOTE, source: 'http://joe:right@peer/a' };
    await post(service, corrected);
    expect(JSON.parse(requests.text)).toMatchObject([{ body: LIVE }, { body: corrected }]);
    if (other.kind === 'started') await post(service, { cancel: true, replication_id: other.id });
    expect(JSON.parse(requests.text)).toMatchObject([{ body: corrected }]);
  });

  test("that can't start are kept and tried again", async () => {
    const body = { ...LIVE, filter: 'd/f' };
    const requests = createStore(JSON.stringify([{ body, origin: { user: ADMIN, ownBases: [] } }]));
    let isThere = false;
    const readFilter = () => (isThere ? Promise.resolve('function () {}') : Promise.reject(failure('it is away')));
    const service = open({ requests, readFilter });
    await expect(service.replicator.resume()).rejects.toThrow('it is away');
    await post(service, REMOTE);
    expect(JSON.parse(requests.text)).toHaveLength(2);
    isThere = true;
    await service.replicator.resume();
    expect(service.replicator.jobs.list()).toHaveLength(2);
  });
});

describe('when the network is back', () => {
  test('waiting replications are tried at once, replications over the network restart, and local ones continue', async () => {
    const service = open();
    await post(service, REMOTE);
    await post(service, { ...REMOTE, target: 'c' });
    await post(service, LIVE);
    await settle();
    service.runs[0]?.fail(failure());
    await settle();
    service.replicator.jobs.wake();
    await settle();
    const ended = service.runs.map(({ signal }) => signal.aborted);
    expect(ended).toEqual([false, true, false, false, false]);
    expect(service.replicator.jobs.list().map(({ state }) => state)).toEqual(['running', 'running', 'running']);
  });
});

test('the replicator reports whether anything is being copied', async () => {
  const told: ReplicationActivity[] = [];
  const service = open({ onActivity: (activity) => told.push(activity) });
  await post(service, LIVE);
  await expect.poll(() => told, patient).toEqual(['busy']);
  service.runs[0]?.observer.idle(true);
  await expect.poll(() => told, patient).toEqual(['busy', 'resting']);
  service.runs[0]?.observer.idle(false);
  await expect.poll(() => told, patient).toEqual(['busy', 'resting', 'busy']);
  service.runs[0]?.fail(failure());
  await expect.poll(() => told, patient).toEqual(['busy', 'resting', 'busy', 'failing']);
  expect(service.replicator.jobs.activity).toBe('failing');
});
