/** What a server has to do on every runtime: it stores, answers a view, follows changes, replicates over the network, and keeps attachments. */
import { expect } from 'vitest';

interface Sent {
  readonly method?: string;
  readonly body?: unknown;
}

/** `base`: the address of a server without databases, with a slash at its end. */
export async function trySmoke(base: string): Promise<void> {
  const send = async (path: string, { method = 'PUT', body }: Sent = {}) => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${base}${path}`, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
    });
    return { status: response.status, json: await response.json() };
  };
  expect(await send('notes')).toMatchObject({ status: 201 });
  expect(await send('notes/a', { body: { at: '2026-07-01T00:30:00' } })).toMatchObject({ status: 201 });
  const map = 'function (doc) { emit(new Date(doc.at).getHours(), null); }';
  const filters = { late: 'function (doc) { return doc.late === true; }' };
  expect(await send('notes/_design/d', { body: { views: { hours: { map } }, filters } })).toMatchObject({
    status: 201,
  });
  const { json: rows } = await send('notes/_design/d/_view/hours', { method: 'GET' });
  expect(rows).toEqual({ total_rows: 1, offset: 0, rows: [{ id: 'a', key: 0, value: null }] });
  await tryFeed(base, () => send('notes/b', { body: { late: true } }));
  const image = new Uint8Array(100_000).fill(7);
  const attached = await fetch(`${base}notes/c/image.bin`, { method: 'PUT', body: image });
  expect(attached.status).toBe(201);
  await attached.arrayBuffer();
  const replication = { source: `${base}notes`, target: 'copy', create_target: true };
  const { json: result } = await send('_replicate', { method: 'POST', body: replication });
  expect(result).toMatchObject({ ok: true, docs_written: 4, doc_write_failures: 0 });
  const copied = await (await fetch(`${base}copy/c/image.bin`)).arrayBuffer();
  expect(Buffer.from(copied).equals(Buffer.from(image))).toBe(true);
  expect(await send('copy/_compact', { method: 'POST' })).toMatchObject({ status: 202 });
}

/** A change reaches a continuous feed with a filter while it is open. */
async function tryFeed(base: string, change: () => Promise<unknown>): Promise<void> {
  const ended = new AbortController();
  const address = `${base}notes/_changes?feed=continuous&since=now&filter=d/late&heartbeat=1000`;
  const feed = await fetch(address, { signal: ended.signal });
  expect(feed.status).toBe(200);
  if (feed.body === null) throw new Error('the feed has no body');
  await change();
  const decoder = new TextDecoder();
  let seen = '';
  for await (const chunk of feed.body) {
    seen += decoder.decode(chunk, { stream: true });
    if (seen.includes('"id":"b"')) break;
  }
  expect(seen).toContain('"id":"b"');
  ended.abort();
}
