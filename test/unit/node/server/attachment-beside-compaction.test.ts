import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { at } from '../../../support/conformance/json.ts';
import { NodeHost } from '../../../support/conformance/node-host.ts';
import { patient } from '../../../support/patience.ts';

/** More than sockets and buffers on the way take in before they are read. */
const BYTES = 40_000_000;

let host: NodeHost;

beforeEach(async () => {
  host = await NodeHost.start();
});

afterEach(() => host.close());

test('a compaction while an attachment is read disturbs neither, even if no revision has it any more', async () => {
  const content = new Uint32Array(BYTES / 4).map((_, index) => Math.imul(index, 2654435761));
  const bytes = new Uint8Array(content.buffer);
  await ask('PUT', '/db');
  const { rev } = Object(await ask('PUT', '/db/film/file', bytes));
  const reading = await host.open({ method: 'GET', path: '/db/film/file', headers: {}, body: null });
  const hash = createHash('sha256');
  let length = 0;
  const take = (chunk: Uint8Array) => {
    hash.update(chunk);
    length += chunk.length;
  };
  const first = await reading.next();
  if (first !== undefined) take(first);
  await ask('DELETE', `/db/film/file?rev=${rev}`);
  await ask('POST', '/db/_compact');
  await expect.poll(() => ask('GET', '/db'), patient).toMatchObject({ compact_running: false });
  expect(length).toBeLessThan(BYTES);
  for (let chunk = await reading.next(); chunk !== undefined; chunk = await reading.next()) take(chunk);
  expect([length, hash.digest('hex')]).toEqual([BYTES, createHash('sha256').update(bytes).digest('hex')]);
  await ask('POST', '/db/_compact');
  const diskSize = async () => Number(at(await ask('GET', '/db'), 'disk_size'));
  await expect.poll(diskSize, patient).toBeLessThan(BYTES / 10);
});

async function ask(method: string, path: string, body: Uint8Array | null = null): Promise<unknown> {
  const headers = { 'content-type': body === null ? 'application/json' : 'application/octet-stream' };
  const answer = await host.send({ method, path, headers, body });
  expect(answer.status).toBeLessThan(300);
  return JSON.parse(new TextDecoder().decode(answer.bytes));
}
