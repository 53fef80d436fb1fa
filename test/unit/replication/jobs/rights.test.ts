import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { RequestStore, Standing, Standings } from '../../../../src/replication/contract.ts';
import { ReplicationError } from '../../../../src/replication/failure.ts';
import { rightsOfDocument, rightsOfRequest } from '../../../../src/replication/jobs/rights.ts';
import { noteTimers } from '../../../support/noted-timers.ts';
import { openReplicator, settle } from './support.ts';

const GONE: Standing = { kind: 'gone' };
const unknown = (mayLogIn: boolean): Standing => ({ kind: 'unknown', mayLogIn });
const account = (...roles: string[]): Standing => ({ kind: 'account', roles });
const TIM = { name: 'tim', roles: ['team'] };

function standingsOf(known: Readonly<Record<string, Standing>>) {
  const listeners: (() => void)[] = [];
  const standings: Standings = {
    of: (name) => known[name ?? 'nobody'] ?? unknown(false),
    onChange: (listener) => void listeners.push(listener),
  };
  return { standings, tell: () => listeners.map((listener) => listener()) };
}

const now = () => 1_000;

describe('the rights of a replication request', () => {
  test.each<[what: string, tim: Standing, why: RegExp | undefined]>([
    ['hold with the role', account('more', 'team'), undefined],
    ['hold for an admin', account('_admin'), undefined],
    ['end with the role', account('more'), /had the role team/],
    ['end with the account', GONE, /no longer valid/],
    ['end where there never was one', unknown(false), /no longer valid/],
    ['hold where others vouch for users', unknown(true), undefined],
  ])('end for %s', async (_what, tim, why) => {
    const told = await rightsOfRequest({ user: TIM }, standingsOf({ tim }).standings, now)?.();
    if (why === undefined) expect(told).toBeUndefined();
    else expect(told).toMatch(why);
  });

  test('are those of its credentials if these are known', async () => {
    const { standings } = standingsOf({ tim: GONE });
    expect(await rightsOfRequest({ user: TIM, recheck: () => TIM }, standings, now)?.()).toBeUndefined();
    expect(await rightsOfRequest({ user: TIM, recheck: () => undefined }, standings, now)?.()).toMatch(
      /no longer valid/,
    );
    expect(await rightsOfRequest({ user: TIM, recheck: () => ({ ...TIM, roles: [] }) }, standings, now)?.()).toMatch(
      /had the role/,
    );
  });

  test.each([
    ['while its credentials are known', { recheck: () => TIM }, undefined],
    ['in another core', {}, standingsOf({ tim: account('team') }).standings],
    ['where there are no accounts', {}, undefined],
  ])('end with its token, %s', async (_where, more, standings) => {
    expect(await rightsOfRequest({ user: TIM, until: 1_001, ...more }, standings, now)?.()).toBeUndefined();
    expect(await rightsOfRequest({ user: TIM, until: 1_000, ...more }, standings, now)?.()).toMatch(/has expired/);
  });
});

describe('the rights of a replication document', () => {
  const root = account('_admin');
  test.each<
    [what: string, owner: string | null, context: typeof TIM | undefined, known: object, why: RegExp | undefined]
  >([
    ['of an admin', 'root', undefined, { root }, undefined],
    ['of an admin of former times', 'root', undefined, { root: account() }, /no longer a server admin/],
    ['of nobody, while everybody is an admin', null, undefined, { nobody: root }, undefined],
    ['of nobody, since there is an admin', null, undefined, { nobody: account() }, /no longer a server admin/],
    ['of an admin, for a name without an account', 'root', TIM, { root }, undefined],
    ['of an admin, for an account that is gone', 'root', TIM, { root, tim: GONE }, /no longer valid/],
    [
      'of an admin of former times, for another user',
      'root',
      TIM,
      { root: GONE, tim: account('team') },
      /no longer a server/,
    ],
    ['of the user', 'tim', TIM, { tim: account('team') }, undefined],
    ['of the user without the role', 'tim', TIM, { tim: account() }, /had the role team/],
  ])('end for %s', async (_what, owner, context, known, why) => {
    const told = await rightsOfDocument(owner, context, standingsOf({ ...known }).standings)?.();
    if (why === undefined) expect(told).toBeUndefined();
    else expect(told).toMatch(why);
  });
});

test('a replication that is requested once fails when its token expires', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const service = openReplicator();
    const until = service.now + 60_000;
    const asked = await service.replicator.replicate({ source: 'a', target: 'b' }, { user: TIM, ownBases: [], until });
    if (asked.kind !== 'running') throw new Error(`it is ${asked.kind}`);
    const failed = expect(asked.result).rejects.toMatchObject({ code: 'unauthorized' });
    await settle();
    expect(service.runs).toHaveLength(1);
    service.now = until;
    vi.advanceTimersByTime(60_000);
    await failed;
    expect([service.runs[0]?.signal.aborted, service.replicator.jobs.list()]).toEqual([true, []]);
    await service.replicator.close();
  } finally {
    vi.useRealTimers();
  }
});

describe('a continuous replication', () => {
  const LIVE = { source: 'a', target: 'b', continuous: true };
  const origin = { user: TIM, ownBases: [] };
  let service: ReturnType<typeof openReplicator>;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });

  afterEach(async () => {
    await service.replicator.close();
    vi.useRealTimers();
  });

  test('ends when its rights end, and is forgotten for the next core', async () => {
    const known: Record<string, Standing> = { tim: account('team') };
    const { standings, tell } = standingsOf(known);
    const requests: { text: string } & RequestStore = {
      text: '',
      save(text) {
        this.text = text;
      },
    };
    service = openReplicator({ standings, requests });
    await service.replicator.replicate(LIVE, origin);
    await settle();
    expect([service.runs.length, requests.text === '[]']).toEqual([1, false]);
    known['tim'] = account('team', 'more');
    tell();
    await settle();
    expect(service.runs[0]?.signal.aborted).toBe(false);
    known['tim'] = GONE;
    tell();
    for (let turn = 0; turn < 5; turn++) await settle();
    const [job] = service.replicator.jobs.list();
    expect([job?.state, job?.lastFailure, service.runs.length]).toEqual([
      'failed',
      expect.stringMatching(/^unauthorized: The user tim/),
      1,
    ]);
    expect(requests.text).toBe('[]');
  });

  test.each([
    ['that runs', false],
    ['that waits for its next attempt', true],
  ])('%s ends when its token expires', async (_what, fails) => {
    service = openReplicator();
    const until = service.now + 60_000;
    await service.replicator.replicate(LIVE, { ...origin, recheck: () => TIM, until: until + 60_000 });
    await service.replicator.replicate({ ...LIVE, source: 'c' }, { ...origin, recheck: () => TIM, until });
    await settle();
    if (fails) {
      const isRetryable = true;
      service.runs[1]?.fail(new ReplicationError('bad_request', 'busy', { isRetryable, retryAfterMs: 3_600_000 }));
      await settle();
    }
    const states = async (now: number) => {
      const passed = now - service.now;
      service.now = now;
      vi.advanceTimersByTime(passed);
      for (let turn = 0; turn < 5; turn++) await settle();
      return service.replicator.jobs.list().map(({ state }) => state);
    };
    expect(await states(until - 1)).toEqual(['running', fails ? 'crashing' : 'running']);
    expect(await states(until)).toEqual(['running', 'failed']);
    expect(service.replicator.jobs.list()[1]?.lastFailure).toMatch(/^unauthorized: .* has expired/);
    expect(await states(until + 60_000)).toEqual(['failed', 'failed']);
    expect(service.runs).toHaveLength(2);
  });

  test.each([
    ['that has none', 60_000, undefined],
    ['that has another', undefined, 60_000],
  ])(
    'is kept with the end of its own rights, not that of a request %s and attaches to it',
    async (_what, own, other) => {
      const requests = {
        text: '',
        save: (text: string) => {
          requests.text = text;
        },
      };
      service = openReplicator({ requests });
      const untilOf = (ms: number | undefined) => ({ ...origin, ...(ms !== undefined && { until: service.now + ms }) });
      await service.replicator.replicate(LIVE, untilOf(own));
      await service.replicator.replicate(LIVE, untilOf(other));
      expect(JSON.parse(requests.text)).toEqual([{ body: LIVE, origin: untilOf(own) }]);
      await service.replicator.resume();
      expect(service.replicator.jobs.list()).toHaveLength(1);
    },
  );

  test('waits for no end of its rights after the replicator is closed', async () => {
    service = openReplicator();
    const timers = noteTimers();
    await service.replicator.close();
    const late = service.replicator.replicate(LIVE, { ...origin, until: service.now + 60_000 });
    await expect(late).rejects.toMatchObject({ code: 'shutting_down' });
    expect(timers.running).toEqual([]);
  });

  test("that was stored isn't started for a user without rights", async () => {
    const saved: string[] = [];
    const requests = {
      text: JSON.stringify([{ body: LIVE, origin }]),
      save: (text: string) => {
        saved.push(text);
      },
    };
    service = openReplicator({ standings: standingsOf({ tim: GONE }).standings, requests });
    await service.replicator.resume();
    expect([service.replicator.jobs.list(), service.runs, saved]).toEqual([[], [], ['[]']]);
  });
});
