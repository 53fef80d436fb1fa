/** A server that notes what an import sends, and answers as a test says; and files to import. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { PlainRequest, PlainResponse } from '../../../../src/base/shared/message.ts';
import { type HttpServer, listen } from '../../../../src/node/http/http-server.ts';
import { createListener } from '../../../../src/node/http/listener.ts';

/** What the server got. */
export const requests: { method: string; url: string; body: string; headers: PlainRequest['headers'] }[] = [];
/** How it answers `_bulk_docs`, and with which status a PUT of the database. */
export const answers: { bulk: (body: string) => unknown; creation: number } = { bulk: () => [], creation: 201 };

let server: HttpServer;
export let url = '';
export let folder = '';

interface Failure {
  status: number;
  error: string;
  reason: string;
}
export const failure = (status: number, error: string, reason: string): Failure => ({ status, error, reason });
const isFailure = (value: unknown): value is Failure =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && 'status' in value;

export function documentsOf(body: string): { _id?: string }[] {
  return JSON.parse(body).docs;
}

export const acceptAll = (body: string) => documentsOf(body).map(({ _id }) => ({ ok: true, id: _id, rev: '1-a' }));

async function handle(request: PlainRequest): Promise<PlainResponse> {
  const { body } = request;
  const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : await readStream(body);
  requests.push({ method: request.method, url: request.url, body: text, headers: request.headers });
  if (request.method === 'PUT') {
    const error = { error: answers.creation === 412 ? 'file_exists' : 'unauthorized', reason: 'no' };
    return {
      status: answers.creation,
      headers: {},
      body: JSON.stringify(answers.creation === 201 ? { ok: true } : error),
    };
  }
  const answer = await answers.bulk(text);
  const status = isFailure(answer) ? answer.status : 201;
  return { status, headers: {}, body: JSON.stringify(answer) };
}

async function readStream(body: PlainRequest['body']): Promise<string> {
  if (body === null || typeof body === 'string' || !('pull' in body)) return '';
  const decoder = new TextDecoder();
  let text = '';
  for (let chunk = await body.pull(); chunk; chunk = await body.pull()) text += decoder.decode(chunk, { stream: true });
  return text;
}

/** Gives a file a server and a folder; before each test it accepts everything. */
export function useImportServer(): void {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'settee-import-'));
    server = await listen(
      createListener(handle, (_request, error) => {
        throw error;
      }),
      '127.0.0.1',
      0,
    );
    url = `${server.url}db`;
  });

  afterAll(async () => {
    await server.close();
    await rm(folder, { recursive: true });
  });

  beforeEach(() => {
    answers.bulk = acceptAll;
    answers.creation = 201;
  });

  afterEach(() => {
    requests.length = 0;
  });
}

export async function file(text: string | Uint8Array, name = 'input.json'): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}
