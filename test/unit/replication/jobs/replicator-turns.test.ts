import { describe, expect, test, vi } from 'vitest';
import type { Endpoint } from '../../../../src/replication/contract.ts';
import { JOE, LIVE, ONCE, open, post, states, useReplicators } from './opened-replicators.ts';
import { type FakeService, settle } from './support.ts';

useReplicators();

function nameOf(endpoint: Endpoint): string {
  return endpoint.kind === 'local' ? endpoint.name : endpoint.url;
}

/** Of those that run, in the order of their names. */
function targets({ replicator }: FakeService): string[] {
  const running = replicator.jobs.list().filter(({ state }) => state === 'running');
  return running.map(({ order }) => nameOf(order.replication.target)).sort();
}

describe('running replications in turns', () => {
  test('is limited to a number of them, and idle ones give way first', async () => {
    const service = open({ settings: { max_jobs: '2', interval: '1000', max_churn: '1' } });
    for (const target of ['b', 'c', 'd']) await post(service, { ...LIVE, target });
    await settle();
    expect(states(service)).toEqual(['running', 'running', 'pending']);
    service.runs[1]?.observer.idle(true);
    service.now += 1000;
    vi.advanceTimersByTime(1000);
    await settle();
    expect(service.runs.map(({ replication }) => replication.target)).toEqual([
      { kind: 'local', name: 'b' },
      { kind: 'local', name: 'c' },
      { kind: 'local', name: 'd' },
    ]);
    expect(states(service)).toEqual(['running', 'pending', 'running']);
    const second = service.replicator.jobs.list()[1];
    expect(second?.history.map(({ type }) => type)).toEqual(['stopped', 'started', 'added']);
    // Now the first one has run for longest.
    service.now += 1000;
    vi.advanceTimersByTime(1000);
    await settle();
    expect(states(service)).toEqual(['pending', 'running', 'running']);
  });

  test('starts one at once for a user with less than a share', async () => {
    const service = open({ settings: { max_jobs: '4' } });
    for (let n = 0; n < 50; n++) await post(service, { ...LIVE, target: `joe${n}` }, JOE);
    for (let n = 0; n < 2; n++) await post(service, { ...ONCE, target: `joe-once${n}` }, JOE);
    await settle();
    expect(targets(service)).toEqual(['joe0', 'joe1', 'joe2', 'joe3']);
    service.runs[2]?.observer.idle(true);
    await post(service, { ...ONCE, target: 'own' });
    await settle();
    // The one that has nothing to do makes room.
    expect(targets(service)).toEqual(['joe0', 'joe1', 'joe3', 'own']);
    await post(service, { ...ONCE, target: 'own2' });
    await post(service, { ...ONCE, target: 'own3' });
    await settle();
    expect(targets(service)).toEqual(['joe1', 'joe3', 'own', 'own2']);
    service.runs.find(({ replication: { target } }) => nameOf(target) === 'own')?.finish();
    await settle();
    expect(targets(service)).toEqual(['joe1', 'joe3', 'own2', 'own3']);
  });

  test('makes one-time replications give way if all places are of one user', async () => {
    const service = open({ settings: { max_jobs: '2' } });
    for (let n = 0; n < 3; n++) await post(service, { ...ONCE, target: `joe${n}` }, JOE);
    await post(service, { ...ONCE, target: 'own' });
    await settle();
    expect(targets(service)).toEqual(['joe1', 'own']);
  });

  test('makes no user give way who has at most a share', async () => {
    const service = open({ settings: { max_jobs: '2', interval: '1000' } });
    await post(service, { ...LIVE, target: 'own' });
    for (let n = 0; n < 3; n++) await post(service, { ...LIVE, target: `joe${n}` }, JOE);
    await settle();
    expect(targets(service)).toEqual(['joe0', 'own']);
    service.now += 1000;
    vi.advanceTimersByTime(1000);
    await settle();
    expect(targets(service)).toEqual(['joe1', 'own']);
  });

  test('starts a waiting one when one ends', async () => {
    const service = open({ settings: { max_jobs: '1' } });
    await post(service, ONCE);
    await post(service, LIVE);
    await settle();
    expect(states(service)).toEqual(['running', 'pending']);
    service.runs[0]?.finish();
    await settle();
    expect(states(service)).toEqual(['running']);
    expect(service.runs).toHaveLength(2);
  });
});
