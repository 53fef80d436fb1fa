import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../../src/node/server/server.ts';
import { AttachmentFolder } from '../../../../src/node/transfer/attachment-folder.ts';
import { AttachmentUpload } from '../../../../src/node/transfer/attachment-upload.ts';
import { readStubs } from '../../../../src/node/transfer/document-text.ts';
import { exportFile } from '../../../../src/node/transfer/export.ts';
import { RemoteDatabase } from '../../../../src/node/transfer/remote-database.ts';
import { runCommand } from '../run-command.ts';
import { openRelay, type Relay } from './relay.ts';

const megabyte = 1_000_000;
const large = Buffer.alloc(20 * megabyte);
for (let at = 0; at < large.length; at += 4) large.writeUInt32LE((at * 2_654_435_761) % 2 ** 32, at);

let server: RunningServer;
let relay: Relay;
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-streams-'));
  server = await startServer({ port: 0, dataFolder: join(folder, 'data'), logLevel: 'none' });
  relay = await openRelay(server.url);
  for (const name of ['source', 'target']) await fetch(`${server.url}${name}`, { method: 'PUT' });
  const headers = { 'content-type': 'application/octet-stream' };
  const stored = await fetch(`${server.url}source/d/large`, { method: 'PUT', headers, body: large });
  expect(stored.status).toBe(201);
});

afterEach(() => {
  relay.meddle = () => false;
});

afterAll(async () => {
  await relay.close();
  await server.close();
  await rm(folder, { recursive: true });
});

const digestOf = (bytes: Buffer) => createHash('md5').update(bytes).digest('hex');

/** Resolves when the files in the making have so many bytes together. */
async function written(path: string, bytes: number): Promise<void> {
  for (;;) {
    const names = await readdir(path).catch(() => []);
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(path, name))).size));
    if (sizes.some((size) => size >= bytes)) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('an attachment is written to disk while it arrives, with its progress in bytes', async () => {
  const files = join(folder, 'files');
  relay.meddle = ({ url }, outgoing) => {
    if (!url?.startsWith('/source/d/large')) return false;
    outgoing.writeHead(200, { 'content-length': large.length });
    outgoing.write(large.subarray(0, 10 * megabyte));
    // An export that kept it in memory would wait for ever.
    void written(join(files, '~partial'), 9 * megabyte).then(() => outgoing.end(large.subarray(10 * megabyte)));
    return true;
  };
  const stderr = Object.assign(new PassThrough({ highWaterMark: 1 << 30 }), { isTTY: true, cursorTo: () => true, clearLine: () => true }); // biome-ignore format: one line
  const options = {
    url: `${relay.url}source`,
    file: join(folder, 'lines'),
    format: 'lines',
    attachments: files,
  } as const;
  expect(await exportFile(options, { stdout: new PassThrough(), stderr })).toBe(true);
  expect(digestOf(await readFile(join(files, 'd/large')))).toBe(digestOf(large));
  const shown = String(stderr.read());
  expect(shown).toContain('1 of 1 attachments, 20.0 MB of 20.0 MB');
  expect(shown).toContain(`1 attachments, 20.0 MB (${files})\n`);
});

test('an exported attachment is imported unchanged', async () => {
  const files = join(folder, 'again');
  const lines = join(folder, 'lines-again');
  expect((await runCommand(['export', `${server.url}source`, lines, '--attachments', files])).code).toBe(0);
  expect(
    await runCommand(['import', `${server.url}target`, lines, '--attachments', files, '--new-edits', 'false']),
  ).toMatchObject({
    code: 0,
    stdout: `1 written, 0 refused, 1 attachments of 20.0 MB (${server.url}target)\n`,
  });
  const back = await fetch(`${server.url}target/d/large`);
  expect(digestOf(Buffer.from(await back.arrayBuffer()))).toBe(digestOf(large));
});

/** The document `d` with an attachment of so many bytes, which is to be sent to the relay. */
async function uploadOf(name: string, bytes: number) {
  const files = join(folder, name);
  await mkdir(join(files, 'd'), { recursive: true });
  await writeFile(join(files, 'd/a'), Buffer.alloc(bytes));
  const text = JSON.stringify({ _id: 'd', _attachments: { a: { stub: true, length: bytes } } });
  const stubbed = readStubs(text);
  if (stubbed === undefined) throw new Error('it has a stub');
  let most = 0;
  const upload: AttachmentUpload = new AttachmentUpload({
    database: new RemoteDatabase(`${relay.url}target`),
    folder: await AttachmentFolder.open(files),
    newEdits: true,
    onBytes: () => {
      most = Math.max(most, upload.bytes);
    },
  });
  return { upload, send: () => upload.send(text, stubbed), most: () => most };
}

test('an import reads no more of a file than the server accepts', async () => {
  const bytes = 40 * megabyte;
  let goOn: () => void = () => undefined;
  relay.meddle = (incoming, outgoing) => {
    // Nothing is read of it until then.
    goOn = () => {
      incoming.resume();
      incoming.once('end', () => outgoing.writeHead(201).end('{"ok":true}'));
    };
    return true;
  };
  const { send, upload } = await uploadOf('slow', bytes);
  const sent = send();
  let before = -1;
  while (upload.bytes === 0 || before !== upload.bytes) {
    before = upload.bytes;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  // Some MB fit into the buffers of the sockets.
  expect(upload.bytes).toBeLessThan(20 * megabyte);
  goOn();
  expect(await sent).toBeUndefined();
  expect(upload.bytes).toBe(bytes);
});

test('a server that answers before the end of a document gets no more of it', async () => {
  const bytes = 40 * megabyte;
  relay.meddle = (_incoming, outgoing) => {
    outgoing.writeHead(413).end('{"error":"too_large","reason":"no such files"}');
    return true;
  };
  const { send, upload, most } = await uploadOf('early', bytes);
  await expect(send()).rejects.toMatchObject({ status: 413, error: 'too_large', reason: 'no such files' });
  expect(most()).toBeLessThan(20 * megabyte);
  expect(upload.bytes).toBe(0);
});

test('a server that disconnects in the middle of a document ends the import', async () => {
  const files = join(folder, 'gone');
  await mkdir(join(files, 'd'), { recursive: true });
  await writeFile(join(files, 'd/a'), Buffer.alloc(10 * megabyte));
  relay.meddle = (incoming) => {
    void once(incoming, 'data').then(() => incoming.destroy());
    return true;
  };
  const line = JSON.stringify({ _id: 'd', _attachments: { a: { stub: true } } });
  expect(await runCommand(['import', `${relay.url}target`, '-', '--attachments', files], line)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('0 written, 0 refused, 0 attachments of 0 bytes'),
    stderr: expect.stringContaining("can't be reached"),
  });
});
