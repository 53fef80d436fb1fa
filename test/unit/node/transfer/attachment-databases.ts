/** Databases with attachments, and their exports and imports with the files of these. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { type RunningServer, startServer } from '../../../../src/node/server/server.ts';
import { runCommand } from '../run-command.ts';
import { openRelay, type Relay } from './relay.ts';

let server: RunningServer;
export let relay: Relay;
export let temporary = '';
export let folder = '';
export let lines = '';
export let source = '';
export let target = '';
export let count = 0;

/** Gives a file a server behind a relay, and each of its tests two databases and a folder. */
export function useDatabases(): void {
  beforeAll(async () => {
    temporary = await mkdtemp(join(tmpdir(), 'settee-attachments-'));
    server = await startServer({ port: 0, memory: true, logLevel: 'none' });
    relay = await openRelay(server.url);
  });

  afterAll(async () => {
    await relay.close();
    await server.close();
    await rm(temporary, { recursive: true });
  });

  beforeEach(async () => {
    count++;
    folder = join(temporary, `files-${count}`);
    lines = join(temporary, `lines-${count}.jsonl`);
    source = `${relay.url}source-${count}`;
    target = `${relay.url}target-${count}`;
    for (const url of [source, target]) await send('PUT', url);
  });

  afterEach(() => {
    relay.meddle = () => false;
    relay.requests.length = 0;
  });
}

export async function send(method: string, url: string, body?: unknown): Promise<unknown> {
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  expect(response.status).toBeLessThan(300);
  return response.json();
}

interface Entry {
  readonly content_type?: string;
  readonly data: string;
}

export const entry = (content: string | Buffer, type?: string): Entry => ({
  data: Buffer.from(content).toString('base64'),
  ...(type === undefined ? {} : { content_type: type }),
});

export const document = (id: string, attachments: readonly (readonly [string, Entry])[]) => ({
  _id: id,
  _attachments: Object.fromEntries(attachments),
});

export async function save(...documents: readonly object[]): Promise<void> {
  const rows = await send('POST', `${source}/_bulk_docs`, { docs: documents });
  for (const row of rows as unknown[]) expect(row).toMatchObject({ ok: true });
}

export const allOf = async (url: string) =>
  ((await send('GET', `${url}/_all_docs?include_docs=true`)) as { rows: object }).rows;
export const exportAll = () => runCommand(['export', source, lines, '--attachments', folder]);
export const importAll = (...options: readonly string[]) =>
  runCommand(['import', target, lines, '--attachments', folder, ...options]);

export async function filesBelow(path: string): Promise<string[]> {
  const found = await readdir(path, { recursive: true, withFileTypes: true });
  return found
    .filter((one) => !one.isDirectory())
    .map((one) => join(one.parentPath, one.name).slice(path.length + 1))
    .sort();
}

export const text = 'All happy families are alike. '.repeat(1000);
