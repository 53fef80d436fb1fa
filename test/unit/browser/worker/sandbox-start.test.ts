import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { SandboxStart } from '../../../../src/browser/worker/sandbox-start.ts';
import { guardModule } from '../../../../src/queries/sandbox/isolates/loop-guard.ts';
import { createQuickJsSandbox, type SandboxPort } from '../../../../src/queries/sandbox/programs/quickjs-sandbox.ts';
import { patient } from '../../../support/patience.ts';
import { InProcessWorkers } from '../../queries/sandbox/in-process-workers.ts';
import { openProgram, quickJsPath } from '../../queries/sandbox/quickjs-files.ts';

/** The first worker of the sandbox, begun before the code that uses it is there. */
const config = { get: () => undefined };
let workers: InProcessWorkers;
let start: SandboxStart;
/** What the server answers for QuickJS. */
let answer: () => Response;
let asked: string[];

beforeEach(async () => {
  const wasm = guardModule(new Uint8Array(await readFile(quickJsPath)));
  answer = () => new Response(wasm, { headers: { 'content-type': 'application/wasm' } });
  asked = [];
  vi.stubGlobal('self', { location: new URL('https://app.example/files/settee-worker.js') });
  vi.stubGlobal('navigator', { hardwareConcurrency: 2 });
  vi.stubGlobal('fetch', async (url: URL) => {
    asked.push(url.pathname);
    return answer();
  });
  workers = new InProcessWorkers(2);
  start = new SandboxStart(() => workers.create());
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const received = (index: number) => must(workers.started[index]).received;

async function emitted(create = (): SandboxPort => start.take() ?? workers.create()): Promise<string | undefined> {
  const loadWasm = async () => (await start.compiled()) ?? new Uint8Array(await readFile(quickJsPath));
  const sandbox = createQuickJsSandbox({ loadWasm, workers: { count: 2, create } });
  const { program } = await openProgram(sandbox);
  const mapper = await program.mapper(['function (doc) { emit(doc.n, null); }']);
  const rows = await mapper.map(Array.from({ length: 30 }, () => '{"_id":"a","n":7}'));
  sandbox.close();
  return rows[0]?.keys[0];
}

test('a sandbox worker is started once, with QuickJS, and is the first that the sandbox uses', async () => {
  start.begin(config);
  start.begin(config);
  await vi.waitFor(() => expect(received(0)).toEqual(['start']), patient);
  expect(asked).toEqual(['/files/settee-quickjs.wasm']);
  expect(await emitted()).toBe('7');
  expect(workers.started).toHaveLength(1);
  expect(received(0).slice(0, 3)).toEqual(['start', 'open', 'call']);
  // After that sandbox was closed the next one has QuickJS still, and starts a worker of its own.
  expect(await emitted()).toBe('7');
  expect([workers.started.length, asked.length]).toEqual([2, 1]);
});

test.for([
  ['is missing', () => new Response('', { status: 404 })],
  ['is a page', () => new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } })],
  ['can not be reached', () => Promise.reject(new TypeError('no network')) as never],
] as const)(
  'if QuickJS %s, the sandbox loads it later by other code and starts its worker then',
  async ([, instead]) => {
    answer = instead;
    start.begin(config);
    expect(await start.compiled()).toBeUndefined();
    expect(received(0)).toEqual([]);
    expect(await emitted()).toBe('7');
    expect(received(0)[0]).toBe('start');
  },
);

test('a sandbox worker that crashed unnoticed is replaced', async () => {
  start.begin(config);
  await start.compiled();
  must(workers.started[0]).crash();
  expect(await emitted()).toBe('7');
  expect(workers.started).toHaveLength(2);
});

test("a sandbox worker that isn't used is ended, and started again", async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  start.begin(config);
  vi.advanceTimersByTime(60_000);
  expect(must(workers.started[0]).isEnded).toBe(true);
  start.begin(config);
  expect(workers.started).toHaveLength(2);
});

test('no sandbox worker is started if none is configured, or none can be started', () => {
  start.begin({ get: (_section, key) => (key === 'workers' ? '0' : undefined) });
  expect(workers.started).toEqual([]);
  workers.failure = new Error('blocked');
  start.begin(config);
  expect([asked, start.compiled()]).toEqual([[], undefined]);
});
