import { once } from 'node:events';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { type ClientRequest, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { patient } from '../../support/patience.ts';
import { SetteeProcess } from './settee-process.ts';

let temporary = '';
const started: SetteeProcess[] = [];

beforeAll(async () => {
  temporary = await realpath(await mkdtemp(join(tmpdir(), 'settee-process-')));
});

afterAll(() => rm(temporary, { recursive: true }));

afterEach(async () => {
  for (const settee of started.splice(0)) await settee.stop('SIGKILL');
});

function settee(...argv: string[]): SetteeProcess {
  const process = new SetteeProcess(argv);
  started.push(process);
  return process;
}

const newFolder = () => mkdtemp(join(temporary, 'data-'));
const json = { 'content-type': 'application/json' };

async function put(url: string, body: string): Promise<number> {
  const response = await fetch(url, { method: 'PUT', headers: json, body });
  await response.arrayBuffer();
  return response.status;
}

/** Sends the head of a request and waits until the server has it and asks for the body (RFC 9110, 10.1.1). */
async function beginUpload(url: string, length: number): Promise<ClientRequest> {
  const headers = { ...json, 'content-length': length, expect: '100-continue' };
  const outgoing = request(url, { method: 'PUT', headers });
  outgoing.flushHeaders();
  await once(outgoing, 'continue');
  return outgoing;
}

describe('the process', () => {
  test('prints where it answers and where its data is', async () => {
    const folder = await newFolder();
    const server = settee('--port', '0', '--data', folder);
    const line = await server.startUpLine();
    expect(line).toMatch(/^Settee 0\.1\.0 answers at http:\/\/127\.0\.0\.1:\d+\/ and keeps its data in /);
    expect(line.endsWith(` and keeps its data in ${folder}`)).toBe(true);
    // With the folder, without which the command would write to another one.
    await expect
      .poll(() => server.stdout, patient)
      .toMatch(/ Set one and restart the server: (npx )?settee admin add NAME --data \S+\n$/);
    expect(server.stdout.trimEnd().endsWith(` --data ${folder}`)).toBe(true);
  });

  test.each(['SIGINT', 'SIGTERM'] as const)('%s lets running requests end, then exits with code 0', async (signal) => {
    const folder = await newFolder();
    const server = settee('--port', '0', '--data', folder);
    const url = await server.url();
    expect(await put(`${url}db`, '')).toBe(201);
    const outgoing = await beginUpload(`${url}db/slow`, 2_000_014);
    const answered = once(outgoing, 'response');
    outgoing.write('{"text":"');
    server.child.kill(signal);
    await expect
      .poll(() =>
        fetch(url).then(
          () => 'open',
          () => 'closed',
        ),
      )
      .toBe('closed');
    outgoing.end(`${'x'.repeat(2_000_003)}"}`);
    const [incoming] = await answered;
    incoming.resume();
    await once(incoming, 'end');
    expect(incoming.statusCode).toBe(201);
    expect(await server.exited).toEqual({ code: 0, signal: null });
    const told = server.stderr.trimEnd().split('\n');
    expect(told.map((line) => line.replace(/^\S+ /, ''))).toEqual([
      `[info] the server has started: Settee 0.1.0 at ${url}`,
      '[info] the server is stopping',
      '[info] the server has stopped',
    ]);
  });

  test('is ended at once by a second signal', async () => {
    const server = settee('--port', '0', '--memory');
    const url = await server.url();
    await put(`${url}db`, '');
    const outgoing = await beginUpload(`${url}db/never`, 2_000_000);
    outgoing.on('error', () => undefined);
    server.child.kill('SIGTERM');
    await expect
      .poll(
        () =>
          fetch(url).then(
            () => 'open',
            () => 'closed',
          ),
        patient,
      )
      .toBe('closed');
    await new Promise((resolve) => setTimeout(resolve, 600));
    server.child.kill('SIGTERM');
    expect(await server.exited).toEqual({ code: 1, signal: null });
  });

  test('keeps acknowledged writes when it is killed, and starts again at once', async () => {
    const folder = await newFolder();
    const first = settee('--port', '0', '--data', folder);
    const url = await first.url();
    await put(`${url}db`, '');
    const statuses = await Promise.all(Array.from({ length: 50 }, (_, n) => put(`${url}db/d${n}`, `{"n":${n}}`)));
    expect(new Set(statuses)).toEqual(new Set([201]));
    await first.stop('SIGKILL');
    const second = settee('--port', '0', '--data', folder);
    const info: unknown = await (await fetch(`${await second.url()}db`)).json();
    expect(info).toMatchObject({ doc_count: 50 });
  });

  test('is refused a folder in use, with exit code 1', async () => {
    const folder = await newFolder();
    const first = settee('--port', '0', '--data', folder);
    const url = await first.url();
    const second = settee('--port', '0', '--data', folder);
    expect(await second.exited).toEqual({ code: 1, signal: null });
    expect(second.stdout).toBe('');
    expect(second.stderr).toBe(
      `The data folder ${folder} is in use by process ${first.child.pid}, which answers at ${url}. Stop that process first, or choose another folder with --data.\n`,
    );
  });

  test('is refused a port in use, with the remedy', async () => {
    const first = settee('--port', '0', '--memory');
    const { port } = new URL(await first.url());
    const second = settee('--port', port, '--memory');
    expect(await second.exited).toEqual({ code: 1, signal: null });
    expect(second.stderr).toBe(
      `Settee can't listen on 127.0.0.1:${port}: another program uses this port. Stop it, or choose another port with --port (0 takes any free one).\n`,
    );
  });

  test('passes on arguments and exit code', async () => {
    const version = settee('--version');
    expect(await version.exited).toEqual({ code: 0, signal: null });
    expect(version.stdout).toBe('0.1.0\n');
    const wrong = settee('--prot', '0');
    expect(await wrong.exited).toEqual({ code: 2, signal: null });
    expect(wrong.stderr).toBe('Unknown option \'--prot\'.\nTry "settee serve --help".\n');
  });

  test('ends without an error when the reader of its output closes the pipe', async () => {
    const server = settee('--port', '0', '--memory');
    const url = await server.url();
    await put(`${url}db`, '');
    const docs = Array.from({ length: 1_000 }, (_, n) => ({ _id: `${n}`, s: 'x'.repeat(1_000) }));
    await fetch(`${url}db/_bulk_docs`, { method: 'POST', headers: json, body: JSON.stringify({ docs }) });
    const reader = settee('export', `${url}db`);
    reader.child.stdout?.once('data', () => reader.child.stdout?.destroy());
    expect((await reader.exited).code).toBe(1);
    // A slow machine also has lines of progress.
    expect(reader.stderr).not.toMatch(/error|EPIPE/i);
  });

  test('waits for the missing peers of a continuous replication until a signal', async () => {
    const peer = 'http://ana:hidden@127.0.0.1:1';
    const command = settee('replicate', `${peer}/a`, `${peer}/b`, '--continuous', '--retries', '0');
    await command.says(/; tried again in 5 s\n/);
    await command.stop('SIGINT');
    expect(await command.exited).toEqual({ code: 0, signal: null });
    expect(command.stdout).toBe('0 written, 0 refused, 0 bytes (http://127.0.0.1:1/a/ to http://127.0.0.1:1/b/)\n');
    expect(command.stderr).toMatch(/^replication_failed: .*http:\/\/127\.0\.0\.1:1\/a.*; tried again in 5 s$/m);
    expect(command.stderr).not.toMatch(/hidden|ana/);
  });
});
