import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'vitest';

const CHUNK_BYTES = 1_048_576;

/** Stores an attachment of so many bytes, of which never more than a chunk is held. Gives its digest (SHA-256). */
export async function upload(url: string, bytes: number): Promise<string> {
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
  await put(url, chunks());
  return hash.digest('hex');
}

/** Stores what comes. */
export async function put(url: string, body: AsyncIterable<Uint8Array>): Promise<void> {
  const headers = { 'content-type': 'application/octet-stream' };
  const response = await fetch(url, Object({ method: 'PUT', headers, body, duplex: 'half' }));
  expect(response.status).toBe(201);
  await response.arrayBuffer();
}

export async function digestAt(url: string): Promise<string> {
  const hash = createHash('sha256');
  const response = await fetch(url);
  expect(response.status).toBe(200);
  for await (const chunk of response.body ?? []) hash.update(chunk);
  return hash.digest('hex');
}
