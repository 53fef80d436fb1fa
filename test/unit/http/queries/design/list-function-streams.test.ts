/** List functions make their answers as they are read. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemRandom } from '../../../../../src/base/shared/clock.ts';
import { type Core, createCore } from '../../../../../src/core/core.ts';
import { deferredAtHand } from '../../../../../src/core/deferred/deferred-code.ts';
import { isStream } from '../../../../../src/http/request/bodies.ts';
import { createMemoryPageStore } from '../../../../../src/storage/memory-page-store.ts';
import { createTestSandbox } from '../../../queries/sandbox/quickjs-files.ts';
import { ask, askJson, clock, textOf } from '../../support.ts';

const ROWS = 3_000;

const lists = {
  large: 'function () { var row; while (row = getRow()) send("x".repeat(30000)); return "end"; }',
  told: 'function () { var row; while (row = getRow()) { log("row"); send("x".repeat(1000)); } }',
  empty: 'function () { start({ code: 204 }); while (getRow()); }',
  late: 'function () { for (var n = 0; getRow(); n++) { if (n === 2500) throw "late"; send("x".repeat(1000)); } }',
};

let core: Core;
let logged: string[];

beforeEach(async () => {
  logged = [];
  const log = { error: () => undefined, info: (text: string) => logged.push(text), debug: () => undefined };
  const storage = createMemoryPageStore();
  const deferred = deferredAtHand(createTestSandbox());
  core = await createCore({ storage, clock, random: systemRandom, log, deferred });
  await ask(core, 'PUT /db');
  const docs = Array.from({ length: ROWS }, (_, n) => ({ _id: `${10_000 + n}`, n }));
  await ask(core, 'POST /db/_bulk_docs', { body: JSON.stringify({ docs }) });
  const views = { all: { map: 'function (doc) { emit(doc.n, null); }' } };
  await ask(core, 'PUT /db/_design/d', { body: JSON.stringify({ lists, views }) });
});

afterEach(() => core.close());

test('functions see bodies of up to 16 MiB', async () => {
  const updates = { length: 'function (doc, req) { return [null, String(req.body.length)]; }' };
  await ask(core, 'PUT /db/_design/u', { body: JSON.stringify({ updates }) });
  const send = (length: number) => ask(core, 'POST /db/_design/u/_update/length', { body: 'x'.repeat(length) });
  expect(await textOf((await send(1_000_000)).body)).toBe('1000000');
  const refused = await send(16_777_217);
  expect(refused.status).toBe(413);
  expect(await textOf(refused.body)).toContain(
    'a body of this kind may have 16777216 bytes; nothing was changed. Send large data as an attachment, or as documents.',
  );
});

test('the output of a list function can be larger than what is buffered of it', async () => {
  const { status, body } = await ask(core, 'GET /db/_design/d/_list/large/all');
  expect(status).toBe(200);
  if (!isStream(body)) throw new Error('a stream was expected');
  let [bytes, largest] = [0, 0];
  for (let chunk = await body.pull(); chunk !== undefined; chunk = await body.pull()) {
    bytes += chunk.length;
    largest = Math.max(largest, chunk.length);
  }
  expect(bytes).toBe(ROWS * 30_000 + 3);
  // What one batch of rows makes.
  expect(largest).toBeLessThan(bytes / 4);
});

test.each(['all', '_all_docs'])('over %s a list function runs no further than its output is read', async (view) => {
  const { body } = await ask(core, `GET /db/_design/d/_list/told/${view}`);
  if (!isStream(body)) throw new Error('a stream was expected');
  await body.pull();
  const untilThen = logged.length;
  await body.cancel();
  await ask(core, 'GET /db');
  expect(logged.length).toBe(untilThen);
  await textOf((await ask(core, `GET /db/_design/d/_list/told/${view}?limit=${ROWS}`)).body);
  // Each batch of rows says its first hundred rows.
  expect(untilThen).toBeLessThan((logged.length - untilThen) / 2);
});

test('a response without a body holds nothing', async () => {
  const { status, body } = await ask(core, 'GET /db/_design/d/_list/empty/all');
  expect([status, body]).toEqual([204, null]);
});

test('a list function that fails late aborts the response', async () => {
  const { status, body } = await ask(core, 'GET /db/_design/d/_list/late/all');
  expect(status).toBe(200);
  await expect(textOf(body)).rejects.toMatchObject({ code: 'render_error' });
  expect((await askJson(core, 'GET /db'))[0]).toBe(200);
});
