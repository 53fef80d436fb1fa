/**
 * Obsidian's plugin Self-hosted LiveSync, as the requests that it sends: its set-up script, its check of the server, and its load. A note is a document
 * that names its chunks; chunks are documents of their own whose ids begin with `h:`. The plugin contains PouchDB, which does the rest.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RunningServer, type ServerOptions, startServer } from '../../../src/node/server/server.ts';
import { arrayAt, at } from '../../support/conformance/json.ts';
import { PouchDB } from '../../support/pouchdb-in-memory.ts';

const ORIGINS = ['app://obsidian.md', 'capacitor://localhost', 'http://localhost'] as const;
const AUTHORIZATION = `Basic ${btoa('vault:secret')}`;

let server: RunningServer;

afterEach(() => server.close());

async function start(options: ServerOptions = {}): Promise<void> {
  const config = { admins: { vault: 'secret' } };
  server = await startServer({ port: 0, memory: true, onLog: () => {}, config, ...options });
}

interface Asked {
  readonly json?: unknown;
  readonly origin?: string;
  readonly authorization?: string;
}

async function ask(method: string, path: string, { json, ...given }: Asked = {}) {
  const headers = { authorization: AUTHORIZATION, 'content-type': 'application/json', ...given };
  const answer = await fetch(`${server.url}${path}`, {
    method,
    headers,
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
  return { status: answer.status, headers: answer.headers, json: (await answer.json()) as unknown };
}

/** Returns what the plugin's "Check database configuration" objects to. */
async function objections(): Promise<string[]> {
  const { json } = await ask('GET', '_node/_local/_config');
  const value = (section: string, key: string) => String(at(json, section, key) ?? '');
  const origins = value('cors', 'origins').split(',');
  const wrong: readonly (readonly [string, boolean])[] = [
    ['admins', value('admins', 'vault') === ''],
    ['chttpd/require_valid_user', value('chttpd', 'require_valid_user') !== 'true'],
    ['chttpd_auth/require_valid_user', value('chttpd_auth', 'require_valid_user') !== 'true'],
    ['httpd/WWW-Authenticate', value('httpd', 'WWW-Authenticate') === ''],
    ['httpd/enable_cors', value('httpd', 'enable_cors') !== 'true'],
    ['chttpd/enable_cors', value('chttpd', 'enable_cors') !== 'true'],
    ['chttpd/max_http_request_size', Number(value('chttpd', 'max_http_request_size')) < 4_294_967_296],
    ['couchdb/max_document_size', Number(value('couchdb', 'max_document_size')) < 50_000_000],
    ['cors/credentials', value('cors', 'credentials') !== 'true'],
    ['cors/origins', !ORIGINS.every((origin) => origins.includes(origin))],
  ];
  const found = wrong.flatMap(([name, isWrong]) => (isWrong ? [name] : []));
  for (const origin of ORIGINS) {
    const { headers } = await ask('GET', '_node/_local/_config', { origin });
    if (headers.get('access-control-allow-origin') !== origin) found.push(`origin ${origin}`);
    if (headers.get('access-control-allow-credentials') !== 'true') found.push(`credentials ${origin}`);
  }
  return found;
}

describe('the set-up', () => {
  test('by the preset leaves nothing for the check of the plugin to object to', async () => {
    await start({ preset: 'obsidian-livesync' });
    expect(await objections()).toEqual([]);
  });

  test('by the script of the plugin sets all that its check wants', async () => {
    await start();
    expect(await objections()).not.toEqual([]);
    const setup = {
      action: 'enable_single_node',
      username: 'vault',
      password: 'secret',
      bind_address: '0.0.0.0',
      port: 5984,
      singlenode: true,
    };
    expect((await ask('POST', '_cluster_setup', { json: setup })).json).toEqual({ ok: true });
    const settings = [
      ['chttpd/require_valid_user', 'true', 'false'],
      ['chttpd_auth/require_valid_user', 'true', 'true'],
      ['httpd/WWW-Authenticate', 'Basic realm="couchdb"', ''],
      ['httpd/enable_cors', 'true', 'false'],
      ['chttpd/enable_cors', 'true', 'true'],
      ['chttpd/max_http_request_size', '4294967296', '4294967296'],
      ['couchdb/max_document_size', '50000000', '67108864'],
      ['cors/credentials', 'true', 'false'],
      ['cors/origins', ORIGINS.join(','), ''],
    ] as const;
    for (const [name, value, before] of settings) {
      const { status, json } = await ask('PUT', `_node/nonode@nohost/_config/${name}`, { json: value });
      expect([name, status, json]).toEqual([name, 200, before]);
    }
    expect(await objections()).toEqual([]);
  });

  test('by the preset takes the script, too', async () => {
    await start({ preset: 'obsidian-livesync' });
    const { status, json } = await ask('PUT', '_node/nonode@nohost/_config/cors/origins', { json: ORIGINS.join(',') });
    expect([status, json]).toEqual([200, ORIGINS.join(',')]);
  });

  test('lets windows of Obsidian ask before they send a name and a password', async () => {
    await start({ preset: 'obsidian-livesync' });
    for (const origin of ORIGINS) {
      const answer = await fetch(`${server.url}vault/_bulk_docs`, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,content-type',
        },
      });
      expect(answer.status).toBeLessThan(300);
      expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
      expect(answer.headers.get('access-control-allow-headers')?.toLowerCase()).toContain('authorization');
      expect(answer.headers.get('access-control-allow-methods')).toContain('POST');
    }
    const other = await fetch(`${server.url}vault/_bulk_docs`, {
      method: 'OPTIONS',
      headers: { origin: 'https://other.example' },
    });
    expect(other.headers.get('access-control-allow-origin')).toBeNull();
  });

  test('by the preset refuses anonymous clients', async () => {
    await start({ preset: 'obsidian-livesync' });
    for (const path of ['', '_all_dbs', 'vault']) {
      const answer = await fetch(`${server.url}${path}`, { headers: { accept: 'application/json' } });
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe('Basic realm="Settee"');
    }
  });
});

/** The ids of chunks are hashes of their content; those of encrypted ones begin with `h:+`. */
function chunk(number: number): { readonly _id: string; readonly type: 'leaf'; readonly data: string } {
  const hash = (number * 2_654_435_761).toString(36);
  return {
    _id: `h:${number % 3 === 0 ? '+' : ''}${hash}`,
    type: 'leaf',
    data: `${number} `.repeat(1 + (number % 400)),
  };
}

const CHUNKS = 2_000;
const chunks = Array.from({ length: CHUNKS }, (_, number) => chunk(number));
const ids = chunks.map(({ _id }) => _id);

function note(path: string, children: readonly string[]) {
  return { _id: path.toLowerCase(), path, type: 'plain', children, ctime: 1, mtime: 2, size: 3, eden: {} };
}

describe('the load', () => {
  let remote: PouchDB;

  beforeEach(async () => {
    await start({ preset: 'obsidian-livesync' });
    remote = new PouchDB(`${server.url}vault`, { auth: { username: 'vault', password: 'secret' } });
    await remote.info();
  });

  test('documents of its own are read and written', async () => {
    await remote.put({ _id: 'obsydian_livesync_version', type: 'versioninfo', version: 12 });
    const milestone = {
      _id: '_local/obsydian_livesync_milestone',
      type: 'milestoneinfo',
      locked: false,
      accepted_nodes: ['a'],
    };
    await expect(remote.get(milestone._id)).rejects.toMatchObject({ status: 404 });
    await remote.put(milestone);
    const kept = Object(await remote.get(milestone._id));
    await remote.put({ ...kept, accepted_nodes: ['a', 'b'] });
    expect(await remote.get(milestone._id)).toMatchObject({ accepted_nodes: ['a', 'b'] });
  });

  test('chunks are sent with their revisions, looked for and fetched by keys', async () => {
    const _rev = `1-${'a'.repeat(32)}`;
    for (let first = 0; first < CHUNKS; first += 200) {
      const docs = chunks.slice(first, first + 200).map((one) => ({ ...one, _rev }));
      expect(await remote.bulkDocs(docs, { new_edits: false })).toEqual([]);
    }
    // Which of them lack, and then all of them.
    const keys = [...ids.slice(0, 240), ...Array.from({ length: 10 }, (_, n) => `h:absent${n}`)];
    const rows = arrayAt(await remote.allDocs({ keys }), 'rows');
    expect(rows.map((row) => at(row, 'error') ?? at(row, 'id'))).toEqual([
      ...ids.slice(0, 240),
      ...Array(10).fill('not_found'),
    ]);
    const fetched = arrayAt(await remote.allDocs({ keys: ids, include_docs: true }), 'rows');
    expect(fetched.map((row) => at(row, 'doc', 'data'))).toEqual(chunks.map(({ data }) => data));
    const range = arrayAt(await remote.allDocs({ startkey: 'h:', endkey: 'h:\ufff0' }), 'rows');
    expect(range).toHaveLength(CHUNKS);
    const { json } = await ask('POST', 'vault/_bulk_get?revs=true&latest=true', {
      json: { docs: ids.map((id) => ({ id })) },
    });
    expect(arrayAt(json, 'results').map((one) => at(one, 'docs', 0, 'ok', '_id'))).toEqual(ids);
  });

  test('changes of some chunks are looked up by their ids', async () => {
    await remote.bulkDocs(chunks);
    const wanted = ids.filter((_, index) => index % 4 === 0);
    const path = 'vault/_changes?filter=_doc_ids&style=all_docs&include_docs=true';
    const { json } = await ask('POST', path, { json: { doc_ids: [...wanted, 'h:absent'] } });
    expect(new Set(arrayAt(json, 'results').map((row) => at(row, 'id')))).toEqual(new Set(wanted));
    const later = await ask('POST', `${path}&since=${String(at(json, 'last_seq'))}`, { json: { doc_ids: wanted } });
    expect(arrayAt(later.json, 'results')).toEqual([]);
  });

  test('two devices follow each other, and both see a note that both have edited', async () => {
    const devices = ['desktop', 'phone'].map((name) => new PouchDB(`${name}-${server.url}`, { adapter: 'memory' }));
    const [desktop, phone] = devices;
    if (desktop === undefined || phone === undefined) throw new Error('there are two');
    try {
      await desktop.bulkDocs(chunks.slice(0, 300));
      await desktop.put(note('Journal/Über 2026.md', ids.slice(0, 300)));
      await desktop.replicate.to(remote, { batch_size: 50 });
      const live = phone.sync(remote, {
        live: true,
        retry: true,
        batch_size: 25,
        batches_limit: 25,
        heartbeat: 30_000,
      });
      await new Promise<void>((resolve) => {
        live.on('change', async () => {
          if (at(await phone.info(), 'doc_count') === 301) resolve();
        });
      });
      const id = 'journal/über 2026.md';
      expect(await phone.get(id)).toMatchObject({ children: ids.slice(0, 300) });
      live.cancel();
      for (const [index, device] of devices.entries()) {
        await device.put({ ...Object(await device.get(id)), children: [ids[index]] });
        await device.replicate.to(remote);
      }
      for (const device of devices) await device.replicate.from(remote);
      const [one, other] = await Promise.all(devices.map((device) => device.get(id, { conflicts: true })));
      expect(one).toEqual(other);
      expect(arrayAt(one, '_conflicts')).toHaveLength(1);
    } finally {
      for (const device of devices) await device.destroy();
    }
  });
});
