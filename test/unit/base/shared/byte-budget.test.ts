import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ByteBudget } from '../../../../src/base/shared/byte-budget.ts';
import { noteTimers } from '../../../support/noted-timers.ts';
import { patient } from '../../../support/patience.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** On a busy machine, those that are served together get a turn each. */
const soon = async () => {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** A clock that goes with the timers. */
function budgetOf(limit: number): ByteBudget {
  return new ByteBudget(limit, 30_000, () => vi.getMockedSystemTime()?.getTime() ?? 0);
}

describe('a slow lease gives way', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: 0 }));

  function growing(budget: ByteBudget, owner: string, bytes: number, ended: string[], name = owner) {
    const lease = budget.open(owner);
    lease.giveWay = () => ended.push(name);
    expect(lease.take(bytes)).toBe(true);
    return lease;
  }

  test('only when another one waits', async () => {
    const budget = budgetOf(100);
    const ended: string[] = [];
    growing(budget, 'a', 90, ended).theirTurn();
    vi.advanceTimersByTime(60_000);
    expect(ended).toEqual([]);
    const fast = Promise.resolve(budget.open('b').take(50));
    vi.advanceTimersByTime(1_000);
    expect(ended).toEqual(['a']);
    expect(await fast).toBe(true);
    expect(budget.used).toBe(50);
  });

  test("unless it moves enough data, or isn't waited for", async () => {
    const budget = budgetOf(100);
    const ended: string[] = [];
    const moving = growing(budget, 'a', 40, ended);
    growing(budget, 'b', 40, ended, 'at work');
    moving.theirTurn();
    const waiting = Promise.resolve(budget.open('c').take(50));
    for (let second = 0; second < 20; second += 1) {
      vi.advanceTimersByTime(500);
      moving.ownTurn(10_000);
      moving.theirTurn();
      vi.advanceTimersByTime(500);
      moving.ownTurn(10_000);
      moving.theirTurn();
    }
    expect(ended).toEqual([]);
    // A byte now and then is not enough.
    for (let second = 0; second < 4; second += 1) {
      vi.advanceTimersByTime(1_000);
      moving.ownTurn(1);
      moving.theirTurn();
    }
    expect(ended).toEqual(['a']);
    expect(await waiting).toBe(true);
  });

  test('after the longest time that others can wait, at any rate, not counting its own waiting time', async () => {
    const budget = budgetOf(100);
    const ended: string[] = [];
    const long = growing(budget, 'a', 90, ended);
    const move = () => {
      for (let step = 0; step < 10; step += 1) {
        vi.advanceTimersByTime(100);
        long.ownTurn(100_000);
        long.theirTurn();
      }
    };
    long.theirTurn();
    for (let second = 0; second < 25; second += 1) move();
    const waiting = Promise.resolve(budget.open('b').take(50));
    for (let second = 0; second < 4; second += 1) move();
    expect(ended).toEqual([]);
    for (let second = 0; second < 3; second += 1) move();
    expect(ended).toEqual(['a']);
    expect(await waiting).toBe(true);
  });

  test('if its owner holds the most, and only as many leases as needed give way', async () => {
    const budget = budgetOf(100);
    const ended: string[] = [];
    const leases = [
      growing(budget, 'one', 20, ended, 'one 20'),
      growing(budget, 'many', 25, ended, 'many 25'),
      growing(budget, 'many', 30, ended, 'many 30'),
      growing(budget, 'many', 15, ended, 'many 15'),
    ];
    for (const lease of leases) lease.theirTurn();
    const waiting = Promise.resolve(budget.open('new').take(20));
    vi.advanceTimersByTime(1_000);
    expect(await waiting).toBe(true);
    expect(ended).toEqual(['many 30']);
    expect(leases[2]?.hasGivenWay).toBe(true);
    expect(leases[2]?.take(1)).toBe(false);
  });

  test('unless its response is read at a good rate, however long that is', async () => {
    const budget = budgetOf(100);
    const ended: string[] = [];
    const answer = budget.open('a');
    answer.giveWay = () => ended.push('a');
    answer.add(100);
    answer.settle();
    expect(budget.open('alone').take(10)).toBe(true);
    const waiting = Promise.resolve(budget.open('b').take(50));
    for (let second = 0; second < 29; second += 1) {
      answer.theirTurn(20_000);
      vi.advanceTimersByTime(1_000);
      answer.ownTurn();
    }
    expect(ended).toEqual([]);
    answer.theirTurn();
    vi.advanceTimersByTime(1_000);
    expect(await waiting).toBe(false);
  });
});

test('the lease that holds least is served first, then the one that wants least', async () => {
  const budget = new ByteBudget(100, 60_000);
  const full = budget.open('many');
  expect(full.take(90)).toBe(true);
  const granted: string[] = [];
  const ask = (owner: string, name: string, wants: number) => {
    const lease = budget.open(owner);
    lease.expect(wants);
    void Promise.resolve(lease.take(60)).then((isGranted) => isGranted && granted.push(name) && lease.release());
  };
  ask('many', 'large', 1_000);
  ask('many', 'small', 60);
  ask('other', 'other', 1_000);
  full.settle();
  const more = budget.open('many');
  more.add(50);
  full.release();
  await vi.waitFor(() => expect(granted).toHaveLength(3), patient);
  expect(granted).toEqual(['other', 'small', 'large']);
});

test('beyond 768 waiting leases of 64 KB, the one that would be served last is refused at once', async () => {
  const budget = new ByteBudget(100, 1_000);
  expect(budget.open('a').take(100)).toBe(true);
  const waiting = Array.from({ length: 768 }, () => Promise.resolve(budget.open('many').take(10)));
  let refused = 0;
  for (const one of waiting) void one.then((isGranted) => void (isGranted || refused++));
  const small = budget.open('many');
  small.expect(10);
  void Promise.resolve(small.take(10));
  await soon();
  expect(refused).toBe(1);
  expect(await waiting[767]).toBe(false);
});

describe('a response', () => {
  test('waits until others are read, even if no lease grows', async () => {
    const budget = budgetOf(800);
    const answers = Array.from({ length: 8 }, () => budget.open('many'));
    expect(answers.map((lease) => lease.takeForAnswer(500, 0))).toEqual(new Array(8).fill(true));
    // An eighth of all at most.
    expect(budget.used).toBe(800);
    const ninth = budget.open('many').takeForAnswer(100, 0);
    expect(ninth).toBeInstanceOf(Promise);
    answers[0]?.release();
    expect(await ninth).toBe(true);
    expect(budget.used).toBe(800);
  });

  test('makes slow readers give way', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: 0 });
    const budget = budgetOf(800);
    const ended: number[] = [];
    for (let n = 0; n < 8; n += 1) {
      const lease = budget.open('many');
      lease.giveWay = () => ended.push(n);
      expect(lease.takeForAnswer(100, 0)).toBe(true);
      lease.theirTurn(65_536);
    }
    const other = budget.open('other').takeForAnswer(100, 0);
    vi.advanceTimersByTime(1_000);
    expect(await other).toBe(true);
    expect(ended).toEqual([0, 1]);
  });

  test('that is already in memory is refused if too many such responses wait', async () => {
    const budget = budgetOf(80_000_000);
    for (let n = 0; n < 8; n += 1) expect(budget.open('many').takeForAnswer(10_000_000, 0)).toBe(true);
    const waiting = Array.from({ length: 6 }, () => budget.open('many').takeForAnswer(10_000_000, 9_000_000));
    const told: (boolean | undefined)[] = new Array(6).fill(undefined);
    for (const [n, one] of waiting.entries()) void Promise.resolve(one).then((isGranted) => (told[n] = isGranted));
    await soon();
    expect(told.filter((one) => one === false)).toHaveLength(1);
    expect(told.filter((one) => one === undefined)).toHaveLength(5);
  });
});

test('leases of this process are never refused for the number that waits', async () => {
  const budget = new ByteBudget(100, 60_000);
  const first = budget.open();
  expect(first.take(100)).toBe(true);
  const leases = Array.from({ length: 3_000 }, () => budget.open());
  const waiting = leases.map(async (lease) => {
    const isGranted = await lease.take(50);
    lease.release();
    return isGranted;
  });
  first.release();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
});

describe('a budget of bytes', () => {
  test('grants at once what fits, and the rest in order of arrival', async () => {
    const budget = new ByteBudget(100, 1_000);
    const [a, b, c, d] = [budget.open(), budget.open(), budget.open(), budget.open()];
    expect(a.take(60)).toBe(true);
    expect(b.take(40)).toBe(true);
    const granted: string[] = [];
    void Promise.resolve(c.take(50)).then(() => granted.push('c'));
    void Promise.resolve(d.take(10)).then(() => granted.push('d'));
    b.release();
    await soon();
    // The small one that would fit does not overtake the large one before it.
    expect(granted).toEqual([]);
    a.release();
    await soon();
    expect(granted).toEqual(['c', 'd']);
    expect(budget.used).toBe(60);
  });

  test('serves waiting leases when it becomes larger, and takes nothing back when it becomes smaller', async () => {
    const budget = new ByteBudget(100, 1_000);
    const [a, b, c] = [budget.open(), budget.open(), budget.open()];
    expect(a.take(80)).toBe(true);
    const waiting = Promise.resolve(b.take(80));
    budget.resize(200);
    expect(await waiting).toBe(true);
    budget.resize(10);
    expect(budget.used).toBe(160);
    const next = Promise.resolve(c.take(10));
    a.release();
    b.release();
    expect(await next).toBe(true);
  });

  test('lets one lease exceed it if it is alone', async () => {
    const budget = new ByteBudget(100, 1_000);
    const [large, small] = [budget.open(), budget.open()];
    expect(large.take(1_000)).toBe(true);
    const waiting = Promise.resolve(small.take(1));
    large.release();
    large.release();
    expect(await waiting).toBe(true);
    expect(budget.used).toBe(1);
  });

  test("lets the oldest growing lease continue, so that leases don't deadlock", async () => {
    const budget = new ByteBudget(100, 1_000);
    const [a, b] = [budget.open(), budget.open()];
    expect(a.take(50)).toBe(true);
    expect(b.take(50)).toBe(true);
    const later = Promise.resolve(b.take(50));
    expect(a.take(50)).toBe(true);
    a.release();
    expect(await later).toBe(true);
  });

  test('counts streams without making them wait, and never lets them block requests permanently', async () => {
    const budget = new ByteBudget(100, 1_000);
    const [stream, request] = [budget.open(), budget.open()];
    stream.add(500);
    stream.settle();
    expect(request.take(50)).toBe(true);
    expect(budget.used).toBe(550);
  });

  test('refuses after the longest waiting time, and serves the next ones', async () => {
    const timers = noteTimers();
    const budget = new ByteBudget(100, 1_000);
    const [a, b, c] = [budget.open(), budget.open(), budget.open()];
    expect(a.take(60)).toBe(true);
    const refused = Promise.resolve(b.take(90));
    vi.advanceTimersByTime(500);
    const served = Promise.resolve(c.take(30));
    vi.advanceTimersByTime(500);
    expect(await refused).toBe(false);
    expect(await served).toBe(true);
    expect(timers.running).toEqual([]);
  });
});
