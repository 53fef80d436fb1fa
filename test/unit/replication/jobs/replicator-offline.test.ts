import { describe, expect, test, vi } from 'vitest';
import { jobInfo, listJob } from '../../../../src/replication/jobs/job-listing.ts';
import { LIVE, open, post, states, useReplicators } from './opened-replicators.ts';
import { type FakeService, failure, NO_FIGURES, offline, settle } from './support.ts';

useReplicators();

const REMOTE = { ...LIVE, target: 'https://db.test/b' };
const ERROR = "offline: https://db.test/b can't be reached: getaddrinfo ENOTFOUND";

/** What the lists show, in the order of arrival. */
function listed({ replicator }: FakeService): unknown[] {
  return replicator.jobs.list().map((job) => Reflect.get(listJob(job), 'state'));
}

async function begun(service: FakeService, body: object = REMOTE): Promise<void> {
  await post(service, body);
  await settle();
}

async function pass(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms);
  await settle();
}

describe('a replication whose host cannot be reached', () => {
  test('never fails: it is paused, and tried again after waits that double up to five minutes', async () => {
    const service = open({ settings: { max_replication_retry_count: '1' } });
    await begun(service);
    for (const waitMs of [5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000, 300_000]) {
      const attempts = service.runs.length;
      service.runs.at(-1)?.fail(offline());
      await settle();
      expect(states(service)).toEqual(['paused']);
      await pass(waitMs - 1);
      expect(service.runs).toHaveLength(attempts);
      await pass(1);
      expect(service.runs).toHaveLength(attempts + 1);
    }
    const [job] = service.replicator.jobs.list();
    expect(job?.failures).toBe(0);
  });

  test('counts its real failures as before', async () => {
    const service = open({ settings: { max_replication_retry_count: '1' } });
    await begun(service);
    for (const one of [failure(), offline(), offline()]) {
      service.runs.at(-1)?.fail(one);
      await settle();
      await pass(300_000);
    }
    expect(states(service)).toEqual(['running']);
    service.runs.at(-1)?.fail(failure());
    await settle();
    expect(states(service)).toEqual(['failed']);
  });

  test('is listed as paused, with the reason and the time of the next attempt, also as a task', async () => {
    const service = open();
    const seconds = (count: number) => new Date(service.now + count * 1_000).toISOString().replace('.000', '');
    await begun(service);
    expect(service.tasks.list()).toMatchObject([{ state: 'running' }]);
    service.runs[0]?.fail(offline());
    await settle();
    const trouble = { error: ERROR, error_since: seconds(0), next_attempt: seconds(5) };
    const [job] = service.replicator.jobs.list();
    expect(job && listJob(job)).toMatchObject({
      state: 'paused',
      info: trouble,
      history: [{ type: 'stopped', reason: ERROR }, { type: 'started' }, { type: 'added' }],
    });
    const status = `Processed 0 of 0 changes (0%); ${ERROR}`;
    expect(service.tasks.list()).toMatchObject([{ state: 'paused', status, ...trouble }]);
    // While it is tried again, nothing shows that the host is back.
    await pass(5_000);
    expect(listed(service)).toEqual(['paused']);
    expect(service.tasks.list()).toEqual([expect.objectContaining({ state: 'paused', error: ERROR })]);
    expect(service.tasks.list()[0]).not.toHaveProperty('next_attempt');
    service.runs[1]?.observer.progress(NO_FIGURES);
    expect(listed(service)).toEqual(['running']);
    expect(job && jobInfo(job)).not.toHaveProperty('error');
    expect(service.tasks.list()).toEqual([expect.objectContaining({ state: 'running' })]);
    expect(service.tasks.list()[0]).not.toHaveProperty('error');
  });

  test('is listed as paused within a run, as crashing if the server responds and fails, and is not healthy before it responds', async () => {
    const service = open();
    await begun(service);
    const [run] = service.runs;
    const [job] = service.replicator.jobs.list();
    const outage = { reason: ERROR, since: service.now, nextAttempt: service.now + 1_000, isOffline: true };
    run?.observer.progress({ ...NO_FIGURES, outage, hasReached: false });
    expect(listed(service)).toEqual(['paused']);
    expect(service.tasks.list()).toMatchObject([{ state: 'paused', error: ERROR }]);
    expect(job?.hasReached).toBe(false);
    run?.observer.progress({ ...NO_FIGURES, outage: { ...outage, isOffline: false }, hasReached: false });
    expect(listed(service)).toEqual(['crashing']);
    run?.observer.progress({ ...NO_FIGURES, hasReached: false });
    expect(job?.hasReached).toBe(false);
    run?.observer.progress({ ...NO_FIGURES, hasReached: true });
    expect(listed(service)).toEqual(['running']);
    expect(job?.hasReached).toBe(true);
  });

  test('is tried at once when the network is back', async () => {
    const service = open();
    await begun(service);
    service.runs[0]?.fail(offline());
    await settle();
    expect(service.replicator.jobs.activity).toBe('failing');
    service.replicator.jobs.wake();
    await settle();
    expect(states(service)).toEqual(['running']);
    expect(service.runs).toHaveLength(2);
    // The timer of the pause is gone.
    await pass(300_000);
    expect(service.runs).toHaveLength(2);
  });

  test('is tried at once when its host responds to another replication, and only then', async () => {
    const service = open();
    await begun(service);
    service.runs[0]?.fail(offline());
    await settle();
    service.reachability.noteResponse('https://other.test');
    await settle();
    expect(states(service)).toEqual(['paused']);
    service.reachability.noteResponse('https://db.test');
    await settle();
    expect(states(service)).toEqual(['running']);
    expect(service.runs).toHaveLength(2);
    await pass(300_000);
    expect(service.runs).toHaveLength(2);
  });

  test('is not woken again and again by a host that responds only to others', async () => {
    const service = open();
    await begun(service);
    service.runs[0]?.fail(offline());
    await settle();
    service.reachability.noteResponse('https://db.test');
    await settle();
    service.runs[1]?.fail(offline());
    await settle();
    service.reachability.noteResponse('https://db.test');
    await settle();
    expect(service.runs).toHaveLength(2);
    await pass(10_000);
    expect(service.runs).toHaveLength(3);
    service.runs[2]?.fail(offline());
    await settle();
    service.reachability.noteResponse('https://db.test');
    await settle();
    expect(service.runs).toHaveLength(4);
  });

  test('is tried at once when it is requested again, between two attempts and within one', async () => {
    const service = open();
    await begun(service);
    service.runs[0]?.fail(offline());
    await settle();
    await begun(service);
    expect(service.runs).toHaveLength(2);
    const outage = { reason: ERROR, since: service.now, nextAttempt: service.now + 20_000, isOffline: true };
    service.runs[1]?.observer.progress({ ...NO_FIGURES, outage });
    await begun(service);
    expect(service.runs).toHaveLength(3);
    expect(service.runs[1]?.signal.aborted).toBe(true);
    expect(states(service)).toEqual(['running']);
  });

  test('requested once ends with the failure, as there is no one to wait for it', async () => {
    const service = open();
    const outcome = await post(service, { source: 'a', target: 'https://db.test/b' });
    await settle();
    const result = outcome.kind === 'running' ? outcome.result : undefined;
    service.runs[0]?.fail(offline());
    await expect(result).rejects.toMatchObject({ code: 'replication_failed' });
    expect(states(service)).toEqual([]);
    expect(service.tasks.list()).toEqual([]);
  });

  test('leaves no task behind when it is cancelled', async () => {
    const service = open();
    await begun(service);
    service.runs[0]?.fail(offline());
    await settle();
    expect(service.tasks.list()).toHaveLength(1);
    await post(service, { ...REMOTE, cancel: true });
    expect(service.tasks.list()).toEqual([]);
    service.reachability.noteResponse('https://db.test');
    await pass(300_000);
    expect(service.runs).toHaveLength(1);
  });
});

test('with infinity as the number of retries a replication is retried forever, at least every hour', async () => {
  const service = open({ settings: { max_replication_retry_count: 'infinity' } });
  await begun(service);
  for (let attempt = 1; attempt <= 60; attempt++) {
    service.runs.at(-1)?.fail(failure());
    await settle();
    expect(listed(service)).toEqual(['crashing']);
    await pass(3_600_000);
    expect(service.runs).toHaveLength(attempt + 1);
  }
});
