/** Databases with something of everything, and all that a server says about them: to compare a copy with its original. */
import type { RunningServer } from '../../src/node/server/server.ts';

interface Sent {
  readonly method?: string;
  readonly body?: unknown;
  readonly raw?: Uint8Array;
  readonly type?: string;
}

async function send({ url }: Pick<RunningServer, 'url'>, path: string, sent: Sent = {}): Promise<unknown> {
  const { method = 'GET', body, raw, type = 'application/json' } = sent;
  const content = raw === undefined ? body !== undefined && JSON.stringify(body) : Buffer.from(raw);
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { 'content-type': type, accept: 'application/json' },
    ...(content !== false && { body: content }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

const view = { map: 'function (doc) { if (doc.n !== undefined) emit(doc.n % 7, doc.n); }', reduce: '_sum' };

/** Makes `notes`, with `documents` numbered documents and all kinds of others, and `empty`. `attachmentBytes`: of a large attachment. */
export async function fillServer(
  server: Pick<RunningServer, 'url'>,
  {
    documents = 300,
    attachmentBytes = 100_000,
  }: { readonly documents?: number; readonly attachmentBytes?: number } = {},
): Promise<void> {
  await send(server, 'empty', { method: 'PUT' });
  await send(server, 'notes', { method: 'PUT' });
  const docs = Array.from({ length: documents }, (_, n) => ({ _id: `note-${n}`, n, text: `${n} · `.repeat(50) }));
  await send(server, 'notes/_bulk_docs', { method: 'POST', body: { docs } });
  const conflicts = ['1-a', '1-b', '1-c'].map((_rev) => ({ _id: 'disputed', _rev, from: _rev }));
  await send(server, 'notes/_bulk_docs', { method: 'POST', body: { docs: conflicts, new_edits: false } });
  const gone = { _id: 'gone', _rev: '1-d', _deleted: true };
  await send(server, 'notes/_bulk_docs', { method: 'POST', body: { docs: [gone], new_edits: false } });
  await send(server, 'notes/_local/here', { method: 'PUT', body: { stays: true } });
  await send(server, 'notes/_security', {
    method: 'PUT',
    body: { admins: { names: [], roles: ['boss'] }, members: { names: [], roles: [] } },
  });
  await send(server, 'notes/_design/sums', { method: 'PUT', body: { views: { by: view } } });
  const bytes = Uint8Array.from({ length: attachmentBytes }, (_, at) => (at * 7919) % 251);
  await send(server, 'notes/picture/large.bin', { method: 'PUT', raw: bytes, type: 'application/octet-stream' });
  await send(server, 'notes/_design/sums/_view/by?group=true');
}

/** All that the server says about the databases of `fillServer`. */
export async function contentOf(server: Pick<RunningServer, 'url'>): Promise<Record<string, unknown>> {
  const info = (await send(server, 'notes')) as Record<string, unknown>;
  const attachment = await fetch(`${server.url}notes/picture/large.bin`);
  const bytes = new Uint8Array(await attachment.arrayBuffer());
  return {
    databases: await send(server, '_all_dbs'),
    counts: [info['doc_count'], info['doc_del_count'], info['update_seq'], info['uuid'], info['instance_start_time']],
    changes: await send(server, 'notes/_changes?style=all_docs&include_docs=true&conflicts=true&attachments=true'),
    conflicts: await send(server, 'notes/disputed?open_revs=all&revs=true'),
    deleted: await send(server, 'notes/gone?open_revs=all&revs=true'),
    locals: await send(server, 'notes/_local_docs?include_docs=true'),
    security: await send(server, 'notes/_security'),
    attachment: [
      bytes.length,
      bytes.slice(0, 5),
      bytes.reduce((sum, byte, at) => (sum * 31 + byte + at) % 1_000_003, 7),
    ],
    view: await send(server, 'notes/_design/sums/_view/by?group=true'),
    emptySequence: ((await send(server, 'empty')) as Record<string, unknown>)['update_seq'],
  };
}
