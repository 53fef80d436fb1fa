/** A long attachment between two servers: neither of them ever holds it, and it travels once. SETTEE_HOSTILE_BYTES says how long it is (1 GB). */
import { createHash, randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { at } from '../support/conformance/json.ts';
import { TcpRelay } from '../support/replication/tcp-relay.ts';
import { AttackedServer } from './support/attacked-server.ts';
import { highestMemory, megabytes, noProcessFiles } from './support/process-use.ts';

const bytes = Number(process.env['SETTEE_HOSTILE_BYTES'] ?? 1_000_000_000);
const CHUNK_BYTES = 1_048_576;
const MOST_GROWTH = 64 * 1_048_576;

let source: AttackedServer;
let target: AttackedServer;

beforeEach(async () => {
  [source, target] = await Promise.all([AttackedServer.start(), AttackedServer.start()]);
  await source.client.must(201, 'PUT', '/db');
  await target.client.must(201, 'PUT', '/db');
});

afterEach(async () => {
  await Promise.all([source.remove(), target.remove()]);
});

/** What a server loads with its first replication counts for nothing. */
const WARMING_BYTES = 4_000_000;

async function upload(url: string, bytes: number): Promise<string> {
  const hash = createHash('sha256');
  // The same over and over would be compressed on the way; of every chunk another part is random.
  const block = randomBytes(CHUNK_BYTES);
  async function* chunks() {
    for (let sent = 0; sent < bytes; sent += CHUNK_BYTES) {
      block.writeUInt32BE(sent % 2 ** 32, 0);
      const chunk = Buffer.from(block.subarray(0, Math.min(CHUNK_BYTES, bytes - sent)));
      hash.update(chunk);
      yield chunk;
    }
  }
  const init = {
    method: 'PUT',
    headers: { 'content-type': 'application/octet-stream' },
    body: chunks(),
    duplex: 'half',
  };
  const response = await fetch(url, Object(init));
  expect(response.status).toBe(201);
  await response.arrayBuffer();
  return hash.digest('hex');
}

async function digestAt(url: string): Promise<string> {
  const hash = createHash('sha256');
  const response = await fetch(url);
  for await (const chunk of response.body ?? []) hash.update(chunk);
  return hash.digest('hex');
}

describe.skipIf(noProcessFiles !== undefined)(
  `an attachment of ${megabytes(bytes)} (${noProcessFiles ?? 'on Linux'})`,
  () => {
    test.each(['pulled', 'pushed'] as const)('is %s with little memory, and never again', async (how) => {
      const way = (from: string, to: string) =>
        how === 'pulled' ? { source: from, target: 'db' } : { source: 'db', target: to };
      const runner = how === 'pulled' ? target : source;
      const body = way(`${source.url.href}db`, `${target.url.href}db`);
      await upload(`${source.url.href}db/first/long`, WARMING_BYTES);
      await runner.client.must(200, 'POST', '/_replicate', { json: body });
      const digest = await upload(`${source.url.href}db/doc/long`, bytes);
      const outcome = await highestMemory(source.pid, () =>
        highestMemory(target.pid, () => runner.client.must(200, 'POST', '/_replicate', { json: body })),
      );
      const atSource = outcome.highest - outcome.before;
      const atTarget = outcome.result.highest - outcome.result.before;
      console.log(`${how}: the source grew by ${megabytes(atSource)}, the target by ${megabytes(atTarget)}`);
      expect(at(outcome.result.result.json, 'history', 0)).toMatchObject({ docs_written: 1, doc_write_failures: 0 });
      expect(await digestAt(`${target.url.href}db/doc/long`)).toBe(digest);
      expect(Math.max(atSource, atTarget)).toBeLessThanOrEqual(MOST_GROWTH);

      const doc = Object((await source.client.must(200, 'GET', '/db/doc')).json);
      await source.client.must(201, 'PUT', '/db/doc', { json: { ...doc, changed: true } });
      const relay = await TcpRelay.start(how === 'pulled' ? source.url.href : target.url.href);
      const again = way(`${relay.url}/db`, `${relay.url}/db`);
      const { json } = await runner.client.must(200, 'POST', '/_replicate', { json: again });
      expect(at(json, 'history', 0)).toMatchObject({ docs_written: 1, doc_write_failures: 0 });
      expect(relay.bytes).toBeLessThan(100_000);
      await relay.close();
      expect(Object((await target.client.must(200, 'GET', '/db/doc')).json)).toMatchObject({ changed: true });
    });
  },
);
