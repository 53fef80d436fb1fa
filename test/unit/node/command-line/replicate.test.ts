import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ReplicationProgress, replicate } from '../../../../src/node/command-line/replicate.ts';
import { type RunningServer, startServer } from '../../../../src/node/server/server.ts';
import { runCommand } from '../run-command.ts';

let server: RunningServer;
let folder = '';

beforeAll(async () => {
  server = await startServer({ port: 0, memory: true, logLevel: 'none' });
});

afterAll(() => server.close());

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-replicate-'));
  await must('PUT', 'source');
});

afterEach(async () => {
  for (const name of Object.values(Object(await must('GET', '_all_dbs')))) await must('DELETE', String(name));
  await rm(folder, { recursive: true });
});

async function must(method: string, path: string, body?: unknown): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${server.url}${path}`, {
    method,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`);
  return answer.json();
}

async function write(count: number): Promise<void> {
  const docs = Array.from({ length: count }, (_, n) => ({ _id: `d${n}`, n }));
  await must('POST', 'source/_bulk_docs', { docs });
}

async function countOf(name: string): Promise<unknown> {
  return Object(await must('GET', name)).doc_count;
}

describe('replicate', () => {
  test('copies between URLs, and continues from its checkpoint', async () => {
    await write(3);
    const call = ['replicate', `${server.url}source`, `${server.url}target`];
    expect(await runCommand(call)).toEqual({ code: 1, stdout: '', stderr: `could not open ${server.url}target\n` });
    const made = await runCommand([...call, '--create-target']);
    const ends = `(${server.url}source/ to ${server.url}target/)`;
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toMatch(/^3 written, 0 refused, \d+ bytes /);
    expect(made.stdout).toContain(ends);
    await must('PUT', 'source/more', {});
    expect((await runCommand(call)).stdout).toMatch(/^1 written, 0 refused, /);
    expect(await countOf('target')).toBe(4);
  });

  test('copies to a database of a folder and back, with the same checkpoint the next time', async () => {
    await write(2);
    const into = ['replicate', `${server.url}source`, 'mine', '--create-target', '--data', folder];
    expect(await runCommand(into)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^2 written, 0 refused, .* to mine\)\n$/),
    });
    expect(await runCommand(into)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^0 written, /) });
    const back = ['replicate', 'mine', `${server.url}back`, '--create-target', '-d', folder];
    expect(await runCommand(back)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^2 written, /) });
    expect(await countOf('back')).toBe(2);
  });

  test('selects by ids, selector, filter and sequence', async () => {
    await write(4);
    const filters = { same: 'function (doc, req) { return String(doc.n) === req.query.n; }' };
    await must('PUT', 'source/_design/f', { filters });
    const writtenWith = async (name: string, options: readonly string[]) => {
      const call = ['replicate', `${server.url}source`, `${server.url}${name}`, '--create-target', ...options];
      return (await runCommand(call)).stdout.split(' ')[0];
    };
    expect(await writtenWith('ids', ['--doc-ids', 'd1,d2', '--doc-ids', 'none'])).toBe('2');
    expect(await writtenWith('selected', ['--selector', '{"n":{"$gt":0}}'])).toBe('3');
    expect(await writtenWith('filtered', ['--filter', 'f/same', '--param', 'n=3'])).toBe('1');
    expect(await writtenWith('late', ['--since', '3'])).toBe('2');
  });

  test('lists refused documents, and copies them with --retry-refused', async () => {
    await write(3);
    await must('PUT', 'target');
    const rules = { validate_doc_update: "function (doc) { if (doc.n === 1) throw { forbidden: 'no ones' }; }" };
    const { rev } = Object(await must('PUT', 'target/_design/rules', rules));
    const call = ['replicate', `${server.url}source`, `${server.url}target`];
    const refused = await runCommand(call);
    expect(refused).toMatchObject({ code: 1, stdout: expect.stringMatching(/^2 written, 1 refused, /) });
    expect(refused.stderr).toMatch(/^d1 1-[\da-f]{32}: forbidden, no ones\n$/);
    await must('DELETE', `target/_design/rules?rev=${rev}`);
    expect(await runCommand([...call, '--retry-refused'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^1 written, 0 refused, /),
    });
  });

  test('runs continuously until a signal, and has written its checkpoint then', async () => {
    await write(1);
    await must('PUT', 'target');
    const signals = new EventEmitter();
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    const members = { source: `${server.url}source`, target: `${server.url}target`, continuous: true };
    const exit = (code: number) => {
      throw new Error(`it exits with ${code}`);
    };
    const host = Object.assign(signals, { stdout, stderr, exit });
    const ended = replicate({ members, retryRefused: false, dataFolder: folder }, host);
    await arrives('d0');
    await must('PUT', 'source/later', {});
    await arrives('later');
    signals.emit('SIGINT');
    expect(await ended).toBe(true);
    // The target may have the second one before it has said so.
    expect(String(stdout.read())).toMatch(/^[12] written, 0 refused, /);
    expect(signals.listenerCount('SIGINT')).toBe(0);
    const once = await runCommand(['replicate', members.source, members.target]);
    expect(once.stdout).toMatch(/^0 written, /);
  });

  test("doesn't follow a peer's redirection to an internal address", async () => {
    await write(1);
    await must('PUT', 'target');
    const stranger = createServer(({ url = '' }, response) => {
      response.writeHead(307, { location: new URL(url.slice(1), server.url).href }).end();
    });
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = Object(stranger.address());
      const members = { source: `http://127.0.0.1:${port}/source`, target: `${server.url}target` };
      const stderr = new PassThrough();
      const host = Object.assign(new EventEmitter(), { stdout: new PassThrough(), stderr, exit: () => undefined });
      const ended = replicate({ members, retryRefused: false, dataFolder: folder }, host);
      // It is tried again, as where a host does not answer.
      const [said] = await once(stderr, 'data');
      host.emit('SIGINT');
      await ended;
      expect(String(said)).toContain(`it redirects to ${new URL(server.url).origin}`);
      expect(await countOf('target')).toBe(0);
    } finally {
      stranger.close();
    }
  });

  test('is refused for a folder that a server uses, with the URL of its databases', async () => {
    const other = await startServer({ port: 0, dataFolder: folder, logLevel: 'none' });
    try {
      const outcome = await runCommand(['replicate', `${server.url}source`, 'mine', '--data', folder]);
      expect(outcome).toMatchObject({ code: 1, stdout: '' });
      expect(outcome.stderr).toMatch(/ which answers at http:\S+\. .* Or name its databases by their URLs\.\n$/);
    } finally {
      await other.close();
    }
  });

  test('explains an invalid call without the password', async () => {
    for (const call of [
      ['replicate', 'http://ana:hidden@127.0.0.1:1/', 'b'],
      ['replicate', 'ftp://ana:hidden@127.0.0.1/a', 'b'],
      ['replicate', 'http://ana:hidden@127.0.0.1/a'],
      ['replicate', 'http://ana:hidden@127.0.0.1/a', 'b', 'c'],
      ['replicate', 'http://ana:hidden@127.0.0.1/a', 'b', '--selector', '{'],
      ['replicate', 'http://ana:hidden@127.0.0.1/a', 'b', '--selector', '{}', '--doc-ids', 'x'],
      ['replicate', 'http://ana:hidden@127.0.0.1/a', 'b', '--param', 'x'],
      ['replicate', 'http://ana:hidden@127.0.0.1/a', 'b', '--continuous', '--retry-refused'],
    ]) {
      const outcome = await runCommand([...call, '--data', folder]);
      expect(outcome).toMatchObject({ code: 2, stdout: '' });
      expect(outcome.stderr).toMatch(/\nTry "settee replicate --help"\.\n$/);
      expect(outcome.stderr).not.toMatch(/hidden|ana/);
    }
  });

  test('shows no password, neither for an unreachable peer nor in the result', async () => {
    await write(1);
    const withPassword = server.url.replace('//', '//ana:hidden@');
    const { code, stdout, stderr } = await runCommand(['replicate', `${withPassword}source`, `${withPassword}target`]);
    expect(code).toBe(1);
    expect(stdout + stderr).not.toMatch(/hidden|ana/);
  });
});

async function arrives(id: string): Promise<void> {
  const feed = await fetch(
    `${server.url}target/_changes?feed=continuous&filter=_doc_ids&doc_ids=["${id}"]&heartbeat=1000`,
  );
  for await (const chunk of feed.body ?? []) if (String.fromCharCode(...chunk).includes(id)) return;
}

const figures = { docsRead: 0, docWriteFailures: 0, missingChecked: 0, missingFound: 0, bytesRead: 0 };
const ended = { sourceSeq: 0, checkpointedSourceSeq: 0 };

function terminal() {
  return Object.assign(new PassThrough(), { isTTY: true, cursorTo: () => true, clearLine: () => true });
}

test('the progress bar goes from pending to done over several attempts', () => {
  const stream = terminal();
  const progress = new ReplicationProgress(stream);
  const first = progress.startReplication();
  first.update({ ...figures, ...ended, docsWritten: 0, bytesWritten: 0, pending: undefined }, []);
  expect(stream.read()).toBeNull();
  first.update({ ...figures, ...ended, docsWritten: 10, bytesWritten: 2_000, pending: 30 }, []);
  first.end();
  const second = progress.startReplication();
  const refused = [{ id: 'd', rev: '1-a', error: 'forbidden', reason: 'no' }];
  second.update({ ...figures, ...ended, docsWritten: 14, bytesWritten: 3_000, pending: 15 }, refused);
  expect([progress.written, progress.bytesWritten]).toEqual([24, 5_000]);
  second.update({ ...figures, ...ended, docsWritten: 29, bytesWritten: 6_000, pending: 0 }, refused);
  progress.end();
  expect(String(stream.read())).toContain('100 %  39 written, 8.0 kB, 1 refused, 0 pending');
});
