import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { TimeSlice } from '../../../../src/base/shared/turn.ts';
import { AnswerBatch } from '../../../../src/node/http/listener.ts';
import { stopClock } from '../../../support/stopped-clock.ts';

test('responses that are ready in the same turn are sent at its end, in order', async () => {
  const batch = new AnswerBatch();
  const steps: string[] = [];
  const leave = async (name: string) => {
    await batch.turnEnd('10.0.0.1');
    steps.push(name);
  };
  const first = leave('first');
  // Promises settle within a turn; the first must not have left when the last of them has.
  for (let hop = 0; hop < 10; hop++) await undefined;
  steps.push('all are there');
  const second = leave('second');
  await Promise.all([first, second]);
  expect(steps).toEqual(['all are there', 'first', 'second']);
});

test('a later response waits for the end of a later turn', async () => {
  const batch = new AnswerBatch();
  await batch.turnEnd('10.0.0.1');
  let left = false;
  void batch.turnEnd('10.0.0.1')?.then(() => {
    left = true;
  });
  for (let hop = 0; hop < 10; hop++) await undefined;
  expect(left).toBe(false);
  await turn();
  expect(left).toBe(true);
});

test('a response is sent before long work that waits for its turn', async () => {
  const batch = new AnswerBatch();
  const steps: string[] = [];
  const timeSlice = new TimeSlice(0);
  for (const until = performance.now() + 2; performance.now() < until; );
  const work = timeSlice.rest().then(() => steps.push('a step of the work'));
  await batch.turnEnd('10.0.0.1');
  steps.push('the answer');
  await work;
  expect(steps).toEqual(['the answer', 'a step of the work']);
});

describe('hundreds of responses that are ready in the same turn', () => {
  /** Each response takes a millisecond to send. Returns the addresses to which responses are sent in each turn. */
  async function sentInTurns(addresses: readonly string[]): Promise<string[][]> {
    const clock = await stopClock();
    const batch = new AnswerBatch();
    const turns: string[][] = [];
    let left = addresses.length;
    const send = async (address: string) => {
      await batch.turnEnd(address);
      clock.now += 1;
      left -= 1;
      turns.at(-1)?.push(address);
    };
    for (const address of addresses) void send(address);
    while (left > 0) {
      turns.push([]);
      await turn();
    }
    return turns.filter((sent) => sent.length > 0);
  }

  test('are sent in several turns, addresses alternating', async () => {
    const greedy = Array.from({ length: 150 }, () => 'greedy');
    const turns = await sentInTurns([...greedy, 'other']);
    expect(turns.flat()).toHaveLength(151);
    // The first ones together, then one after the other as long as there is room.
    expect(turns[0]?.slice(0, 64)).toEqual(greedy.slice(0, 64));
    expect(turns.slice(1).every((sent) => sent.length <= 11)).toBe(true);
    expect(turns.length).toBeGreaterThanOrEqual(6);
    expect(turns.flat().indexOf('other')).toBe(65);
  });

  test('are sent in one turn if there are few', async () => {
    expect(await sentInTurns(Array.from({ length: 64 }, () => 'a'))).toHaveLength(1);
  });
});
