import { afterEach, expect, test, vi } from 'vitest';
import { systemClock, systemRandom } from '../../../../src/base/shared/clock.ts';
import { type Core, createCore } from '../../../../src/core/core.ts';
import type { DeferredCode, LoadDeferredCode } from '../../../../src/core/deferred/contract.ts';
import { createDeferredCode } from '../../../../src/core/deferred/deferred-code.ts';
import { createMemoryPageStore } from '../../../../src/storage/memory-page-store.ts';
import { patient } from '../../../support/patience.ts';
import { ask, askJson } from '../../http/support.ts';
import { createTestSandbox } from '../../queries/sandbox/quickjs-files.ts';

const code = createDeferredCode(() => createTestSandbox());
const DESIGN = JSON.stringify({ views: { v: { map: 'function (doc) { emit(doc.n, null); }' } } });
const RULES = JSON.stringify({
  validate_doc_update: 'function (doc) { if (doc.n < 0) throw { forbidden: "too small" }; }',
});

let core: Core | undefined;

afterEach(() => core?.close());

async function open(deferred: LoadDeferredCode): Promise<Core> {
  core = await createCore({ storage: createMemoryPageStore(), clock: systemClock, random: systemRandom, deferred });
  await ask(core, 'PUT /db');
  return core;
}

test('document requests load no deferred code', async () => {
  const load = vi.fn(async () => code);
  const opened = await open(load);
  await askJson(opened, 'PUT /db/a', { body: '{"n":1}' });
  await askJson(opened, 'POST /db/_bulk_docs', { body: '{"docs":[{"_id":"b"},{"_id":"c"}]}' });
  expect(await askJson(opened, 'GET /db/a')).toMatchObject([200, { _id: 'a', n: 1 }]);
  expect(await askJson(opened, 'GET /db/_all_docs')).toMatchObject([200, { total_rows: 3 }]);
  // Longer than it takes until new design documents are looked for.
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(load).not.toHaveBeenCalled();
});

test('the first view requests load the deferred code once', async () => {
  const load = vi.fn(async () => code);
  const opened = await open(load);
  await ask(opened, 'PUT /db/a', { body: '{"n":1}' });
  await ask(opened, 'PUT /db/_design/d', { body: DESIGN });
  const answers = await Promise.all(
    ['', '?key=1', '?key=2'].map((q) => askJson(opened, `GET /db/_design/d/_view/v${q}`)),
  );
  expect(answers.map(([status]) => status)).toEqual([200, 200, 200]);
  expect(answers).toMatchObject([
    [200, { total_rows: 1, rows: [{ id: 'a', key: 1 }] }],
    [200, {}],
    [200, { rows: [] }],
  ]);
  await ask(opened, 'GET /db/_design/d/_info');
  expect(load).toHaveBeenCalledTimes(1);
});

test('writing a design document loads the deferred code for its index', async () => {
  const load = vi.fn(async () => code);
  const opened = await open(load);
  await ask(opened, 'PUT /db/_design/d', { body: DESIGN });
  await vi.waitFor(() => expect(load).toHaveBeenCalledTimes(1), patient);
});

test('requests of replicators load no deferred code', async () => {
  const load = vi.fn(async () => code);
  const opened = await open(load);
  await ask(opened, 'PUT /db/a', { body: '{"n":1}' });
  expect(await askJson(opened, 'POST /db/_revs_diff', { body: '{"a":["1-f"],"b":["1-f"]}' })).toMatchObject([
    200,
    { a: { missing: ['1-f'] }, b: { missing: ['1-f'] } },
  ]);
  expect(await askJson(opened, 'GET /db/a?open_revs=all', { headers: { accept: 'application/json' } })).toMatchObject([
    200,
    [{ ok: { _id: 'a' } }],
  ]);
  expect(load).not.toHaveBeenCalled();
});

test('a write is validated if a design document has a validation function', async () => {
  const load = vi.fn(async () => code);
  const opened = await open(load);
  await ask(opened, 'PUT /db/_design/d', { body: RULES });
  expect(await askJson(opened, 'PUT /db/a', { body: '{"n":-1}' })).toEqual([
    403,
    { error: 'forbidden', reason: 'too small' },
  ]);
  expect(await askJson(opened, 'PUT /db/b', { body: '{"n":1}' })).toMatchObject([201, { ok: true }]);
  expect(load).toHaveBeenCalledTimes(1);
});

test("a request is answered 503 with the reason if deferred code can't be loaded, and loading is retried", async () => {
  const load = vi.fn(async () => code);
  const opened = await open(load);
  await ask(opened, 'PUT /db/a', { body: '{"n":1}' });
  load.mockRejectedValue(new Error('no network'));
  await ask(opened, 'PUT /db/_design/d', { body: DESIGN.replace('{', `{${RULES.slice(1, -1)},`) });
  const failure = {
    error: 'functions_unavailable',
    reason:
      'The code that runs views, queries and functions of documents could not be loaded (no network). Send the request again.',
  };
  expect(await askJson(opened, 'GET /db/_design/d/_view/v')).toEqual([503, failure]);
  expect(await askJson(opened, 'PUT /db/b', { body: '{"n":2}' })).toEqual([503, failure]);
  expect(await askJson(opened, 'GET /db/b')).toMatchObject([404, {}]);
  load.mockResolvedValue(code);
  expect(await askJson(opened, 'PUT /db/b', { body: '{"n":2}' })).toMatchObject([201, { ok: true }]);
  expect(await askJson(opened, 'GET /db/_design/d/_view/v')).toMatchObject([200, { total_rows: 2 }]);
});

test("code that is loaded after the end isn't started", async () => {
  let give: (loaded: DeferredCode) => void = () => {};
  const queryServer = vi.fn(code.queryServer);
  const opened = await open(() => new Promise((resolve) => (give = resolve)));
  await ask(opened, 'PUT /db/_design/d', { body: DESIGN });
  const answer = askJson(opened, 'GET /db/_design/d/_view/v');
  await opened.close();
  core = undefined;
  give({ ...code, queryServer });
  expect(await answer).toMatchObject([503, { error: 'shutting_down' }]);
  expect(queryServer).not.toHaveBeenCalled();
});
