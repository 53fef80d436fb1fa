import { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { heldMs, nextTurn } from '../../../../src/base/shared/turn.ts';
import { Entrance, FairWork } from '../../../../src/node/http/fair-work.ts';
import { noteTimers } from '../../../support/noted-timers.ts';
import { type StoppedClock, stopClock } from '../../../support/stopped-clock.ts';

describe('work', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  /** Begins works that end when they are told to; `begun` has their names in the order in which they began. */
  function works(fair: FairWork) {
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    return {
      begun,
      begin: (name: string, owner = '') => {
        const work = () =>
          new Promise<string>((resolve) => {
            begun.push(name);
            ends.set(name, () => resolve(name));
          });
        return fair.run(work, owner);
      },
      end: async (name: string) => {
        ends.get(name)?.();
        await vi.advanceTimersByTimeAsync(0);
      },
    };
  }

  test('so many are under way, and the others begin when one ends, also where that fails', async () => {
    const fair = new FairWork(2);
    const { begun, begin, end } = works(fair);
    const failed = fair.run(() => Promise.reject(new Error('no')), '');
    await expect(failed).rejects.toThrow('no');
    const all = ['a', 'b', 'c', 'd'].map((name) => begin(name));
    await vi.advanceTimersByTimeAsync(600);
    expect(begun).toEqual(['a', 'b']);
    await end('b');
    expect(begun).toEqual(['a', 'b', 'c']);
    for (const name of ['a', 'c', 'd']) await end(name);
    expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd']);
  });

  test('owners take turns', async () => {
    const { begun, begin, end } = works(new FairWork(1));
    for (const name of ['a1', 'a2', 'a3']) void begin(name, 'a');
    for (const name of ['b1', 'b2']) void begin(name, 'b');
    void begin('c1', 'c');
    for (const name of ['a1', 'a2', 'b1', 'c1', 'a3', 'b2']) await end(name);
    expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
  });

  test('who takes long keeps others waiting for three quarters of a second', async () => {
    const timers = noteTimers();
    const { begun, begin, end } = works(new FairWork(2));
    for (const name of ['slow', 'slower', 'next', 'last']) void begin(name);
    await vi.advanceTimersByTimeAsync(500);
    expect(begun).toEqual(['slow', 'slower']);
    await vi.advanceTimersByTimeAsync(500);
    expect(begun).toEqual(['slow', 'slower', 'next', 'last']);
    for (const name of ['slow', 'slower', 'next', 'last']) await end(name);
    expect(timers.running).toEqual([]);
  });
});

describe('the entrance', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  function from(address: string): Socket {
    const socket = new Socket();
    vi.spyOn(socket, 'remoteAddress', 'get').mockReturnValue(address);
    return socket;
  }

  /** Requests that take 4 ms each, in the order in which they began, and how long the turn had lasted then. */
  class Requests {
    readonly begun: string[] = [];
    readonly held: number[] = [];
    readonly #entrance = new Entrance();
    readonly #clock: StoppedClock;

    constructor(clock: StoppedClock) {
      this.#clock = clock;
    }

    enter(name: string, socket: Socket): void {
      this.#entrance.enter(socket, () => {
        this.held.push(heldMs());
        this.#clock.now += 4;
        this.begun.push(name);
      });
    }
  }

  test('a request begins at once', async () => {
    const requests = new Requests(await stopClock());
    requests.enter('a', from('10.0.0.1'));
    expect(requests.begun).toEqual(['a']);
  });

  test('requests that arrive in a full turn begin in later turns, addresses alternating', async () => {
    const requests = new Requests(await stopClock());
    const greedy = from('10.0.0.1');
    for (let n = 1; n <= 8; n += 1) requests.enter(`greedy ${n}`, greedy);
    requests.enter('other', from('10.0.0.2'));
    while (requests.begun.length < 9) await nextTurn();
    expect(requests.begun).toEqual([
      ...['greedy 1', 'greedy 2', 'greedy 3'],
      ...['greedy 4', 'other', 'greedy 5', 'greedy 6', 'greedy 7', 'greedy 8'],
    ]);
    expect(Math.max(...requests.held)).toBe(8);
  });

  test('what promises do for a request counts before the next one begins', async () => {
    const clock = await stopClock();
    const entrance = new Entrance();
    const held: number[] = [];
    const begun: number[] = [];
    for (let n = 1; n <= 8; n += 1) {
      entrance.enter(from('10.0.0.1'), () => {
        held.push(heldMs());
        begun.push(n);
        // The first ones fill the turn; the work for the others is done after some promises.
        if (n <= 3) clock.now += 4;
        else
          void (async () => {
            for (let hop = 0; hop < 20; hop += 1) await undefined;
            clock.now += 4;
          })();
      });
    }
    while (begun.length < 8) await nextTurn();
    expect(begun).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    // Three in each turn.
    expect(held).toEqual([0, 4, 8, 0, 4, 8, 0, 4]);
  });

  test("a request whose connection has ended while it waited doesn't begin", async () => {
    const requests = new Requests(await stopClock());
    const gone = from('10.0.0.1');
    for (const name of ['a', 'b', 'c']) requests.enter(name, from('10.0.0.2'));
    requests.enter('gone', gone);
    requests.enter('last', from('10.0.0.1'));
    gone.destroy();
    while (!requests.begun.includes('last')) await nextTurn();
    expect(requests.begun).toEqual(['a', 'b', 'c', 'last']);
  });
});
