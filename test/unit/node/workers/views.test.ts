import { readFileSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { patient } from '../../../support/patience.ts';
import { SetteeProcess } from '../settee-process.ts';

/** How long a process that does not have to ask another one may take; a longer wait only makes the test try again. */
const ALONE_MS = 2_000;

let temporary = '';
let server: SetteeProcess;
let url = '';

beforeAll(async () => {
  temporary = await realpath(await mkdtemp(join(tmpdir(), 'settee-worker-views-test-')));
});

afterAll(() => rm(temporary, { recursive: true }));

afterEach(() => server.stop());

async function send(method: string, path: string, json?: unknown, signal?: AbortSignal): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  const body = json === undefined ? null : JSON.stringify(json);
  const response = await fetch(`${url}${path}`, { method, headers, body, signal: signal ?? null });
  return response.json();
}

/** The process that owns the databases is the first that was started. */
function ownerOf({ child: { pid } }: SetteeProcess): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0]);
}

/** Returns the response of a reader while the owner stands still; undefined if the reader needs it. */
async function answerAlone(method: string, path: string, json?: unknown): Promise<unknown> {
  const owner = ownerOf(server);
  process.kill(owner, 'SIGSTOP');
  try {
    return await send(method, path, json, AbortSignal.timeout(ALONE_MS));
  } catch {
    return undefined;
  } finally {
    process.kill(owner, 'SIGCONT');
  }
}

/** Only Linux tells which processes a process has started. */
describe.runIf(process.platform === 'linux')('readers of a server of several processes', () => {
  test('answer views and selector queries while their owner stands still', async () => {
    const folder = await mkdtemp(join(temporary, 'data-'));
    server = new SetteeProcess(['serve', '--no-demo', '--port', '0', '--workers', '2', '--data', folder]);
    url = await server.url();
    await send('PUT', 'db');
    await send('PUT', 'db/_design/d', { views: { n: { map: 'function (doc) { emit(doc.n); }', reduce: '_count' } } });
    await send('POST', 'db/_index', { index: { fields: ['n'] }, ddoc: 'i', name: 'n' });
    await send('POST', 'db/_bulk_docs', { docs: [1, 2, 3].map((n) => ({ _id: `d${n}`, n })) });
    const view = 'db/_design/d/_view/n';
    const find = { selector: { n: { $gt: 1 } }, use_index: 'i', fields: ['n'] };
    await send('GET', view);
    await send('POST', 'db/_find', find);
    // As soon as the owner has stored its index; then with what was written later, too.
    await expect.poll(() => answerAlone('GET', view), patient).toEqual({ rows: [{ key: null, value: 3 }] });
    await send('PUT', 'db/d4', { n: 4 });
    await expect.poll(() => answerAlone('GET', view), patient).toEqual({ rows: [{ key: null, value: 4 }] });
    await expect
      .poll(() => answerAlone('POST', 'db/_find', find), patient)
      .toMatchObject({ docs: [{ n: 2 }, { n: 3 }, { n: 4 }] });
    expect(await send('GET', `${view}?reduce=false&key=4`)).toMatchObject({ rows: [{ id: 'd4' }] });
  });
});
