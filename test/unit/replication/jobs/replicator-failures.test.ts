import { describe, expect, test, vi } from 'vitest';
import { jobInfo } from '../../../../src/replication/jobs/job-listing.ts';
import { LIVE, open, post, states, useReplicators } from './opened-replicators.ts';
import { failure, NO_FIGURES, settle } from './support.ts';

useReplicators();

describe('failures of a replication', () => {
  test('are retried after five seconds, doubled each time, ten times', async () => {
    const service = open();
    await post(service, LIVE);
    await settle();
    for (let attempt = 1; attempt <= 10; attempt++) {
      service.runs.at(-1)?.fail(failure());
      await settle();
      expect(states(service)).toEqual(['crashing']);
      const waitMs = 5_000 * 2 ** (attempt - 1);
      vi.advanceTimersByTime(waitMs - 1);
      await settle();
      expect(service.runs).toHaveLength(attempt);
      vi.advanceTimersByTime(1);
      await settle();
      expect(service.runs).toHaveLength(attempt + 1);
    }
    service.runs.at(-1)?.fail(failure());
    await settle();
    expect(states(service)).toEqual(['failed']);
    vi.advanceTimersByTime(1e9);
    await settle();
    expect(service.runs).toHaveLength(11);
  });

  test('are reported with their beginning and the time of the next attempt', async () => {
    const service = open();
    await post(service, LIVE);
    await settle();
    const [job] = service.replicator.jobs.list();
    const info = () => job && jobInfo(job);
    const at = (seconds: number) => new Date(service.now + seconds * 1_000).toISOString().replace('.000', '');
    service.now = Date.UTC(2026, 0, 1);
    const outage = { reason: 'code: no answer', since: service.now - 7_000, nextAttempt: service.now + 3_000 };
    service.runs[0]?.observer.progress({ ...NO_FIGURES, outage });
    expect(info()).toMatchObject({ error: 'code: no answer', error_since: at(-7), next_attempt: at(3) });
    service.runs[0]?.fail(failure('it is away'));
    await settle();
    const away = { error: 'replication_failed: it is away', error_since: at(-7) };
    expect(info()).toMatchObject({ ...away, next_attempt: at(5) });
    vi.advanceTimersByTime(5_000);
    await settle();
    expect(info()).toEqual(away);
    service.runs[1]?.observer.progress({ ...NO_FIGURES, outage: { ...outage, since: service.now } });
    expect(info()).toMatchObject({ error: 'code: no answer', error_since: at(-7), next_attempt: at(3) });
    service.runs[1]?.observer.progress(NO_FIGURES);
    service.runs[1]?.observer.idle(true);
    expect(info()).not.toHaveProperty('error');
    expect(job?.failingSince).toBeUndefined();
  });

  test('with Retry-After are retried at that time', async () => {
    const service = open();
    await post(service, LIVE);
    await settle();
    service.runs[0]?.fail(failure('too many requests', 60_000));
    await settle();
    vi.advanceTimersByTime(59_999);
    await settle();
    expect(service.runs).toHaveLength(1);
    vi.advanceTimersByTime(1);
    await settle();
    expect(service.runs).toHaveLength(2);
  });

  test('are counted from the start after progress', async () => {
    const service = open();
    await post(service, LIVE);
    await settle();
    for (const _ of [1, 2, 3]) {
      service.runs.at(-1)?.fail(failure());
      await settle();
      vi.advanceTimersByTime(100_000);
      await settle();
    }
    const [job] = service.replicator.jobs.list();
    expect(job?.failures).toBe(3);
    service.runs.at(-1)?.observer.progress(NO_FIGURES);
    expect(job?.failures).toBe(3);
    service.runs.at(-1)?.observer.progress({ ...NO_FIGURES, checkpointedSourceSeq: 7 });
    expect(job?.failures).toBe(0);
  });

  test('that wait or were given up are retried at once when the network is back', async () => {
    const service = open({ settings: { max_replication_retry_count: '0' } });
    await post(service, LIVE);
    await post(service, { ...LIVE, target: 'c' });
    await settle();
    service.runs[0]?.fail(failure());
    await settle();
    expect(states(service)).toEqual(['failed', 'running']);
    service.replicator.jobs.wake();
    await settle();
    expect(states(service)).toEqual(['running', 'running']);
    expect(service.runs).toHaveLength(3);
  });

  test('that were given up restart by an equal request, with its password', async () => {
    const service = open();
    const to = (password: string) => ({ ...LIVE, target: `https://joe:${password}@example.org/b` });
    const first = await post(service, to('wrong'));
    await settle();
    // While it runs the request attaches.
    expect(await post(service, to('right'))).toEqual(first);
    service.runs[0]?.fail(failure());
    await settle();
    expect(await post(service, to('right'))).toEqual(first);
    await settle();
    expect(service.runs).toHaveLength(2);
    expect(service.runs[1]?.replication.target).toMatchObject({ credentials: { password: 'right' } });
    expect(states(service)).toEqual(['running']);
  });

  test('have no password in lists, tasks and logs', async () => {
    const service = open();
    await post(service, { ...LIVE, target: 'https://joe:hunter2@example.org/b' });
    await settle();
    service.runs[0]?.fail(failure());
    await settle();
    expect(JSON.stringify([service.tasks.list(), service.logged])).not.toContain('hunter2');
    expect(service.logged).toHaveLength(2);
  });
});
