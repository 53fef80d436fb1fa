/** What is in memory is answered without waiting: each hop from promise to promise costs, and small reads are many. */
import { afterEach, expect, test } from 'vitest';
import type { Core } from '../../../src/core/core.ts';
import { ask, openCore } from './support.ts';

let core: Core | undefined;

afterEach(() => core?.close());

/** Whether the answer is there one hop after the request: the promise that the door itself gives. */
async function isAnsweredAtOnce(what: string): Promise<boolean> {
  if (core === undefined) throw new Error('the service is not open');
  let answered = false;
  void ask(core, what).then(() => {
    answered = true;
  });
  await undefined;
  return answered;
}

test('an existing, a local, a missing document and a missing revision are answered in the same turn', async () => {
  core = await openCore();
  await ask(core, 'PUT /db');
  await ask(core, 'PUT /db/doc', { body: '{"n":1}' });
  await ask(core, 'PUT /db/_local/doc', { body: '{"n":1}' });
  expect(await isAnsweredAtOnce('GET /db/doc')).toBe(true);
  expect(await isAnsweredAtOnce('GET /db/_local/doc')).toBe(true);
  expect(await isAnsweredAtOnce('GET /db/nothing')).toBe(true);
  expect(await isAnsweredAtOnce('GET /db/doc?rev=1-00')).toBe(true);
});
