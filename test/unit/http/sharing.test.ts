/** Large requests share the thread: an owner that holds it for long is taken for dead, and nobody else is answered. */
import { afterEach, expect, test } from 'vitest';
import type { Core } from '../../../src/core/core.ts';
import { ask, openCore, textOf } from './support.ts';

const DOCUMENTS = 30_000;

let core: Core | undefined;

afterEach(() => core?.close());

function bulk(from: number): string {
  const docs = Array.from({ length: DOCUMENTS }, (_unused, index) => ({
    _id: String((index * 7_919) % DOCUMENTS).padStart(8, '0') + from,
    name: `document ${index}`,
    text: 'lorem ipsum '.repeat(20),
  }));
  return JSON.stringify({ docs });
}

test('timers and other requests get their turns while a large _bulk_docs is written', async () => {
  core = await openCore();
  await ask(core, 'PUT /db');
  await ask(core, 'PUT /db/other', { body: '{"n":1}' });
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  let isDone = false;
  const writing = ask(core, 'POST /db/_bulk_docs', { body: new TextEncoder().encode(bulk(0)) }).finally(() => {
    isDone = true;
  });
  let answered = 0;
  while (!isDone) {
    expect((await ask(core, 'GET /db/other')).status).toBe(200);
    answered++;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  clearInterval(timer);
  const { status, body } = await writing;
  expect(status).toBe(201);
  expect(JSON.parse(await textOf(body))).toHaveLength(DOCUMENTS);
  // Work of half a second and more. Without turns it would be one or two.
  expect(ticks).toBeGreaterThanOrEqual(8);
  expect(answered).toBeGreaterThanOrEqual(8);
});
