import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { TimeSlice } from '../../../../src/base/shared/turn.ts';
import { AnswerBatch } from '../../../../src/node/http/listener.ts';

test('responses that are ready in the same turn are sent at its end, in order', async () => {
  const batch = new AnswerBatch();
  const steps: string[] = [];
  const leave = async (name: string) => {
    await batch.turnEnd();
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
  await batch.turnEnd();
  let left = false;
  void batch.turnEnd()?.then(() => {
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
  await batch.turnEnd();
  steps.push('the answer');
  await work;
  expect(steps).toEqual(['the answer', 'a step of the work']);
});
