import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { turnForCommit } from '../../../../src/storage/lmdb/environment.ts';
import { toDatabaseError } from '../../../../src/storage/lmdb/lmdb-errors.ts';

/** Whether it has been resolved before this turn of the event loop ends. */
async function isAtOnce(step: Promise<void>): Promise<boolean> {
  let isDone = false;
  void step.then(() => {
    isDone = true;
  });
  for (let hop = 0; hop < 10; hop += 1) await undefined;
  return isDone;
}

test('an opening in a turn that another one has used up gets its own turn', async () => {
  // A busy machine now and then takes more than a millisecond from a turn before it gets here.
  do await setImmediate();
  while (!(await isAtOnce(turnForCommit())));
  const begin = performance.now();
  while (performance.now() - begin < 3);
  const [second, third] = [turnForCommit(), turnForCommit()];
  expect(await isAtOnce(second)).toBe(false);
  expect(await isAtOnce(third)).toBe(false);
  await Promise.all([second, third]);
});

test('a lack of file descriptors is reported as temporary', async () => {
  for (const code of ['EMFILE', 'ENFILE']) {
    const error = Object.assign(new Error(`${code}: too many open files`), { code });
    const told = await toDatabaseError(error, 'a', 'opening it', '/tmp');
    expect(told.code).toBe('too_busy');
    expect(told.reason).toMatch(
      /^The process has as many files and connections open as the system permits; nothing was changed\./,
    );
  }
});
