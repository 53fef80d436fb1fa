/** Attachments that are larger than what the server may hold. SETTEE_HOSTILE_BYTES says how large (2 GB). */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AttackedServer } from './support/attacked-server.ts';
import { digestAt, put, upload } from './support/long-attachment.ts';
import { highestMemory, megabytes, noProcessFiles } from './support/process-use.ts';

const BYTES = Number(process.env['SETTEE_HOSTILE_BYTES'] ?? 2 ** 31);
const MAX_GROWTH = 64 * 2 ** 20;
/** Sent and read before anything is measured: what the server loads with the first one counts for nothing. */
const WARMING_BYTES = 4_000_000;
const SLOW_READERS = 50;
const READ_SLOWLY_BYTES = 50_000_000;

let server: AttackedServer;

beforeEach(async () => {
  server = await AttackedServer.start();
  await server.client.must(201, 'PUT', '/db');
  await upload(`${server.url.href}db/first/one`, WARMING_BYTES);
  await digestAt(`${server.url.href}db/first/one`);
});

afterEach(() => server.remove());

describe.skipIf(noProcessFiles !== undefined)(`memory (${noProcessFiles ?? 'on Linux'})`, () => {
  test(`${megabytes(BYTES)} are uploaded and downloaded unchanged`, async () => {
    const url = `${server.url.href}db/doc/large`;
    const written = await highestMemory(server.pid, () => upload(url, BYTES));
    const read = await highestMemory(server.pid, () => digestAt(url));
    const [grownIn, grownOut] = [written.highest - written.before, read.highest - read.before];
    console.log(
      `the server grew by ${megabytes(grownIn)} for what came in, by ${megabytes(grownOut)} for what went out`,
    );
    expect(read.result).toBe(written.result);
    expect(grownIn).toBeLessThanOrEqual(MAX_GROWTH);
    expect(grownOut).toBeLessThanOrEqual(MAX_GROWTH);
  });

  test('downloads that nobody reads hold no memory beyond the buffers', async () => {
    await upload(`${server.url.href}db/doc/large`, READ_SLOWLY_BYTES);
    const sockets: Socket[] = [];
    const held = await highestMemory(server.pid, async () => {
      for (let reader = 0; reader < SLOW_READERS; reader += 1) sockets.push(await askWithoutReading('/db/doc/large'));
      // Another one reads the whole meanwhile.
      const { length } = await server.client.drain('GET', '/db/doc/large');
      expect(length).toBe(READ_SLOWLY_BYTES);
    });
    const grown = held.highest - held.before;
    console.log(
      `the server grew by ${megabytes(grown)} for ${SLOW_READERS} readers of ${megabytes(READ_SLOWLY_BYTES)} each`,
    );
    for (const socket of sockets) socket.destroy();
    expect(grown).toBeLessThanOrEqual(SLOW_READERS * 2 ** 21);
  });
});

test('a writer that stops in the middle of an attachment delays no other request', async () => {
  const { client } = server;
  let goOn: () => void = () => undefined;
  const waiting = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let begun: () => void = () => undefined;
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  let isOver = false;
  const slow = put(`${server.url.href}db/slow/file`, halves(begun, waiting)).then(() => {
    isOver = true;
  });
  await hasBegun;
  await upload(`${server.url.href}db/other/file`, 8_000_000);
  await client.must(201, 'PUT', '/db/plain', { json: { n: 1 } });
  await client.must(200, 'GET', '/db/_all_docs?include_docs=true');
  const type = { 'content-type': 'application/json' };
  await client.must(202, 'POST', '/db/_compact', { headers: type });
  await expect
    .poll(async () => (await client.must(200, 'GET', '/db')).json, { timeout: 30_000, interval: 20 })
    .toMatchObject({ compact_running: false, doc_count: 3 });
  expect(isOver).toBe(false);
  goOn();
  await slow;
  const { bytes } = await client.must(200, 'GET', '/db/slow/file');
  expect(Buffer.compare(bytes, new Uint8Array(2 * HALF).fill(7))).toBe(0);
  await server.stop();
  const { code, stdout } = await server.verify();
  expect(code, stdout).toBe(0);
});

const HALF = 3_000_000;

/** Tells when the first half was taken, and goes on with the other when it may. */
async function* halves(onFirst: () => void, second: Promise<void>): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(HALF).fill(7);
  onFirst();
  await second;
  yield new Uint8Array(HALF).fill(7);
}

async function askWithoutReading(path: string): Promise<Socket> {
  const socket = connect(Number(server.url.port), server.url.hostname);
  await once(socket, 'connect');
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${server.url.host}\r\n\r\n`);
  return socket;
}
