import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Endpoint } from '../../../../src/replication/contract.ts';
import { ReplicationError } from '../../../../src/replication/failure.ts';
import { jobInfo } from '../../../../src/replication/jobs/job-listing.ts';
import type { ReplicateOutcome } from '../../../../src/replication/jobs/replicator.ts';
import {
  ADMIN,
  type FakeOptions,
  type FakeService,
  failure,
  NO_FIGURES,
  openReplicator,
  RESULT,
  refused,
  settle,
} from './support.ts';

const LIVE = { source: 'a', target: 'b', continuous: true };
const ONCE = { source: 'a', target: 'b' };
const JOE = { name: 'joe', roles: [] };

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

function post({ replicator }: FakeService, body: object, user = ADMIN): Promise<ReplicateOutcome> {
  return replicator.replicate({ ...body }, { user, ownBases: [] });
}

async function resultOf(outcome: ReplicateOutcome): Promise<unknown> {
  if (outcome.kind !== 'running') throw new Error(`it is ${outcome.kind}`);
  return outcome.result;
}

function nameOf(endpoint: Endpoint): string {
  return endpoint.kind === 'local' ? endpoint.name : endpoint.url;
}

/** Of those that run, in the order of their names. */
function targets({ replicator }: FakeService): string[] {
  const running = replicator.jobs.list().filter(({ state }) => state === 'running');
  return running.map(({ order }) => nameOf(order.replication.target)).sort();
}

function states({ replicator }: FakeService): string[] {
  return replicator.jobs.list().map(({ state }) => state);
}

describe('a replication that runs once', () => {
  test('answers with its result, and its job is forgotten', async () => {
    const service = open();
    const outcome = await post(service, ONCE);
    await settle();
    expect(service.runs).toHaveLength(1);
    expect(service.tasks.list()).toMatchObject([{ type: 'replication', source: 'a', target: 'b', continuous: false }]);
    service.runs[0]?.finish();
    expect(await resultOf(outcome)).toEqual(RESULT);
    expect(service.replicator.jobs.list()).toEqual([]);
    await settle();
    expect(service.tasks.list()).toEqual([]);
  });

  test('is joined by an equal request of the same user only', async () => {
    const service = open();
    const outcomes = [await post(service, ONCE), await post(service, ONCE)];
    const other = await post(service, ONCE, JOE);
    await settle();
    expect(service.runs).toHaveLength(2);
    service.runs[0]?.finish();
    expect(await Promise.all(outcomes.map(resultOf))).toEqual([RESULT, RESULT]);
    service.runs[1]?.fail(failure());
    await expect(resultOf(other)).rejects.toThrow('the peer is gone');
  });

  test('is not tried again after a failure', async () => {
    const service = open();
    const outcome = await post(service, ONCE);
    await settle();
    service.runs[0]?.fail(failure());
    await expect(resultOf(outcome)).rejects.toThrow('the peer is gone');
    expect(states(service)).toEqual([]);
  });
});

describe('cancelling a replication', () => {
  test('works by the same request, and by id', async () => {
    const service = open();
    const started = await post(service, LIVE);
    await settle();
    expect(started).toEqual({ kind: 'started', id: expect.stringMatching(/^[\da-f]{32}\+continuous$/) });
    const id = service.replicator.jobs.list()[0]?.id;
    expect(await post(service, { ...LIVE, cancel: true })).toEqual({ kind: 'cancelled', id });
    expect(service.runs[0]?.signal.aborted).toBe(true);
    expect(await post(service, { ...LIVE, cancel: true })).toEqual({ kind: 'unknown' });
    expect(await post(service, LIVE)).toEqual(started);
    expect(await post(service, { cancel: true, replication_id: id })).toEqual({ kind: 'cancelled', id });
    expect(await post(service, { cancel: true, replication_id: id })).toEqual({ kind: 'unknown' });
  });

  test('of another user is refused, except for admins', async () => {
    const service = open();
    const started = await post(service, LIVE, JOE);
    const ann = { name: 'ann', roles: [] };
    const text = "Can't cancel a replication triggered by another user";
    await expect(post(service, { ...LIVE, cancel: true }, ann)).rejects.toThrow(`unauthorized: ${text}`);
    const id = started.kind === 'started' ? started.id : '';
    await expect(post(service, { cancel: true, id }, ann)).rejects.toThrow(text);
    expect(await post(service, { ...LIVE, cancel: true })).toEqual({ kind: 'cancelled', id });
  });

  test('notifies clients that wait for the result', async () => {
    const service = open();
    const waiting = resultOf(await post(service, ONCE));
    const told = expect(waiting).rejects.toThrow('The replication was cancelled.');
    await post(service, { ...ONCE, cancel: true });
    await told;
  });
});

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

describe('a user who is not an admin', () => {
  const NAMELESS = { name: null, roles: [] };

  test('can request a limited number of replications', async () => {
    const service = open({ settings: { max_jobs_per_user: '2' } });
    for (const user of [JOE, NAMELESS]) {
      for (const target of ['b', 'c']) await post(service, { ...LIVE, target }, user);
      await expect(post(service, { ...LIVE, target: 'd' }, user)).rejects.toMatchObject({ code: 'too_many_requests' });
      // The same as before is no other one.
      expect(await post(service, LIVE, user)).toMatchObject({ kind: 'started' });
    }
    for (const target of ['b', 'c', 'd']) await post(service, { ...LIVE, target });
    await post(service, { ...LIVE, cancel: true }, JOE);
    expect(await post(service, { ...LIVE, target: 'd' }, JOE)).toMatchObject({ kind: 'started' });
  });

  test('can request no more while all users together have the maximum', async () => {
    const service = open({ settings: { max_jobs_of_users: '2' } });
    await post(service, LIVE, JOE);
    await post(service, LIVE, NAMELESS);
    const other = { name: 'jane', roles: [] };
    await expect(post(service, LIVE, other)).rejects.toMatchObject({ code: 'too_busy' });
    expect(await post(service, LIVE)).toMatchObject({ kind: 'started' });
  });
});

test('the ids of users take bounded memory, and those of an admin are unlimited', async () => {
  const service = open();
  // Each takes 100 bytes and two for each of its eight characters: 300,000 of them 35 MB.
  const idsFrom = (first: number, count: number) =>
    Array.from({ length: count }, (_, n) => `${first + n}`.padStart(8, '0'));
  const ask = (target: string, count: number, user?: { name: string | null; roles: string[] }) =>
    post(service, { ...LIVE, target, doc_ids: idsFrom(count, count) }, user);
  await expect(ask('b', 600_000, JOE)).rejects.toMatchObject({ code: 'too_large' });
  expect(await ask('b', 300_000, JOE)).toMatchObject({ kind: 'started' });
  await expect(ask('c', 300_000, JOE)).rejects.toMatchObject({ code: 'too_many_requests' });
  expect(await ask('c', 200_000, JOE)).toMatchObject({ kind: 'started' });
  const jane = { name: 'jane', roles: [] };
  await expect(ask('b', 400_000, jane)).rejects.toMatchObject({ code: 'too_busy' });
  expect(await ask('b', 300_000, jane)).toMatchObject({ kind: 'started' });
  expect(await ask('b', 600_000)).toMatchObject({ kind: 'started' });
  // What others take is free when they are done.
  await post(service, { ...LIVE, target: 'b', doc_ids: idsFrom(300_000, 300_000), cancel: true }, JOE);
  expect(await ask('d', 300_000, JOE)).toMatchObject({ kind: 'started' });
});

const gone = () => new ReplicationError('not_found', 'could not open it', { isRetryable: true });

test('replications of users are logged as entries of clients', async () => {
  const service = open();
  await post(service, LIVE, JOE);
  await post(service, { ...LIVE, target: 'd' });
  await settle();
  for (const run of service.runs) run.fail(gone());
  await settle();
  const told = service.logged.map((line) => line.replace(/replication \S+ /, ''));
  expect(told).toEqual([
    expect.stringMatching(/^of a client \[info\] started: a to b$/),
    expect.stringMatching(/^started: a to d$/),
    expect.stringMatching(/^of a client \[info\] failed \(a to b\)/),
    expect.stringMatching(/^failed \(a to d\)/),
  ]);
});

test('ten accounts at one address leave others their share, and an admin is unlimited', async () => {
  const service = open({ settings: { max_jobs_of_users: '200' } });
  let number = 0;
  const ask = (user: { name: string | null; roles: string[] }, address: string) => {
    const origin = { user, ownBases: [], address };
    return service.replicator.replicate({ ...LIVE, target: `t${++number}` }, origin);
  };
  const refused = {
    code: 'too_many_requests',
    reason: expect.stringMatching(/^Clients at this address have 100 replications/),
  };
  for (let n = 0; n < 100; n++) await ask({ name: `user${n % 10}`, roles: [] }, `2001:db8::${n}`);
  await expect(ask({ name: 'user10', roles: [] }, '2001:db8:0:0:1::1')).rejects.toMatchObject(refused);
  await expect(ask({ name: null, roles: [] }, '2001:db8::')).rejects.toMatchObject(refused);
  // The next address has half of what is left, or few in any case.
  for (let n = 0; n < 50; n++) await ask(JOE, '192.0.2.1');
  await expect(ask(JOE, '192.0.2.1')).rejects.toMatchObject({ code: 'too_many_requests' });
  for (let n = 0; n < 50; n++) await ask(JOE, n % 2 === 0 ? '192.0.2.2' : '192.0.2.3');
  await expect(ask(JOE, '192.0.2.4')).rejects.toMatchObject({ code: 'too_busy' });
  await ask({ name: 'root', roles: ['_admin'] }, '192.0.2.1');
});

describe('documents that a replication refused', () => {
  test('are stored by id up to a limit, and counted', async () => {
    const service = open({ settings: { max_refused: '2' } });
    await post(service, LIVE);
    await settle();
    for (const id of ['x', 'y', 'z', 'x']) service.runs[0]?.observer.refused(refused(id));
    const [job] = service.replicator.jobs.list();
    expect(job?.ledger.count).toBe(3);
    expect(job?.ledger.list()).toEqual([refused('x'), refused('y')]);
  });

  test('are retried beside the replication, and forgotten when accepted', async () => {
    const checkpoint = { history: [{ doc_write_failures: 1, refused: [refused('old')] }, { doc_write_failures: 0 }] };
    const asked: string[] = [];
    const service = open({
      handle: ({ method, url }) => {
        asked.push(`${method} ${url}`);
        return { status: 200, headers: {}, body: JSON.stringify(checkpoint) };
      },
    });
    await post(service, LIVE);
    await settle();
    const [live] = service.runs;
    live?.observer.refused(refused('x'));
    live?.observer.refused(refused('y'));
    const retried = await post(service, { ...LIVE, retry_refused: true });
    await settle();
    expect(asked).toEqual([`GET /b/_local/${live?.checkpointId}`]);
    expect(service.runs[1]?.replication).toMatchObject({
      continuous: false,
      useCheckpoints: false,
      selection: { kind: 'ids', ids: ['old', 'x', 'y'] },
    });
    service.runs[1]?.observer.refused(refused('y'));
    service.runs[1]?.finish();
    expect(await resultOf(retried)).toEqual(RESULT);
    expect(service.replicator.jobs.list()[0]?.ledger.list()).toEqual([refused('y')]);
    expect(live?.signal.aborted).toBe(false);
  });

  test('make the run compare everything if not all are known', async () => {
    const checkpoint = { history: [{ doc_write_failures: 3, refused: [refused('old')] }] };
    const service = open({ handle: () => ({ status: 200, headers: {}, body: JSON.stringify(checkpoint) }) });
    await post(service, { ...ONCE, retry_refused: true });
    await settle();
    expect(service.runs[0]?.replication).toMatchObject({ selection: undefined, useCheckpoints: false });
  });

  test('are remembered from one run to the next', async () => {
    const service = open({ handle: () => ({ status: 200, headers: {}, body: '{"history":[]}' }) });
    await post(service, ONCE);
    await settle();
    service.runs[0]?.observer.refused(refused('x'));
    service.runs[0]?.finish();
    await settle();
    await post(service, ONCE);
    await settle();
    service.runs[1]?.finish();
    await settle();
    await post(service, { ...ONCE, retry_refused: true });
    await settle();
    expect(service.runs[2]?.replication.selection).toEqual({ kind: 'ids', ids: ['x'] });
  });
});

test('the text of the filter function is part of the replication id', async () => {
  const service = open({ readFilter: async (_replication, filter) => `function of ${filter}` });
  const one = await post(service, { ...LIVE, filter: 'd/f' });
  const other = await post(service, { ...LIVE, filter: 'd/g' });
  expect(one).not.toEqual(other);
  await post(service, { ...LIVE, filter: '_design' });
});

test('closing ends all replications, and refuses later requests', async () => {
  const service = open();
  const waiting = resultOf(await post(service, ONCE));
  const told = expect(waiting).rejects.toThrow('shutting_down');
  await settle();
  await service.replicator.close();
  await told;
  expect(service.runs[0]?.signal.aborted).toBe(true);
  await expect(post(service, LIVE)).rejects.toThrow('shutting_down');
});
