/**
 * A foreign server: a PouchDB database that serves the part of the interface that replicators use, like an old server: without
 * `_bulk_get`, multipart bodies, continuous feeds, and `pending` in feeds.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type PouchDB from 'pouchdb-core';
import { at } from '../conformance/json.ts';

const HEARTBEAT_MS = 200;

/** What the server needs of a database. */
export type ServedDatabase = Pick<
  PouchDB,
  'info' | 'get' | 'put' | 'revsDiff' | 'bulkDocs' | 'getAttachment' | 'changes'
>;

interface Asked {
  readonly method: string;
  /** Below the database, decoded segment by segment. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
  readonly body: unknown;
}

export class PouchServer {
  readonly #server: Server;
  readonly #database: ServedDatabase;
  /** `METHOD /path`, with no query. */
  readonly requests: string[] = [];

  private constructor(database: ServedDatabase) {
    this.#database = database;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((failure: unknown) => {
        if (response.headersSent) {
          response.destroy();
          return;
        }
        const status = Number(at(failure, 'status'));
        const { name: error = 'error', reason = String(failure) } = Object(failure);
        send(response, status >= 400 ? status : 500, { error, reason });
      });
    });
  }

  static async start(database: ServedDatabase): Promise<PouchServer> {
    const server = new PouchServer(database);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  /** The URL of the one database. */
  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('it does not listen');
    return `http://127.0.0.1:${address.port}/db`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams: query } = new URL(request.url ?? '', 'http://here');
    const { method = 'GET' } = request;
    this.requests.push(`${method} ${pathname}`);
    const segments = pathname.split('/').slice(2).map(decodeURIComponent);
    const isJson = request.headers['content-type']?.startsWith('application/json') ?? false;
    const sent = await text(request);
    if (method !== 'GET' && !isJson) return send(response, 415, { error: 'bad_content_type', reason: 'JSON only' });
    const asked = { method, segments, query, body: sent === '' ? undefined : JSON.parse(sent) };
    const [first = ''] = segments;
    if (segments.length === 0 || first === '') return this.#info(response);
    if (first === '_changes') return this.#changes(response, asked);
    if (first === '_local') return this.#local(response, asked);
    if (first.startsWith('_') && first !== '_design') return this.#operation(response, first, asked);
    return this.#document(response, asked);
  }

  async #info(response: ServerResponse): Promise<void> {
    const info = await this.#database.info();
    send(response, 200, { db_name: 'db', update_seq: at(info, 'update_seq'), instance_start_time: '0' });
  }

  async #changes(response: ServerResponse, { query }: Asked): Promise<void> {
    const since = Number(query.get('since') ?? 0);
    const limit = query.get('limit');
    const options = { style: 'all_docs', ...(limit === null ? {} : { limit: Number(limit) }) };
    response.writeHead(200, { 'content-type': 'application/json' });
    const heartbeat = setInterval(() => response.write('\n'), HEARTBEAT_MS);
    try {
      if (query.get('feed') === 'longpoll') await this.#waitBehind(since, response);
      const found = await this.#database.changes({ ...options, since });
      response.end(JSON.stringify({ results: at(found, 'results'), last_seq: at(found, 'last_seq') }));
    } finally {
      clearInterval(heartbeat);
    }
  }

  async #waitBehind(since: number, response: ServerResponse): Promise<void> {
    const feed = this.#database.changes({ since, live: true, limit: 1 });
    await new Promise<void>((resolve) => {
      feed.on('change', () => resolve());
      response.once('close', resolve);
    });
    feed.cancel();
  }

  async #local(response: ServerResponse, { method, segments, body }: Asked): Promise<void> {
    const _id = segments.join('/');
    if (method === 'GET') return send(response, 200, await this.#database.get(_id));
    const { rev } = await this.#database.put({ ...Object(body), _id });
    return send(response, 201, { ok: true, id: _id, rev });
  }

  async #operation(response: ServerResponse, name: string, { body }: Asked): Promise<void> {
    if (name === '_ensure_full_commit') return send(response, 201, { ok: true, instance_start_time: '0' });
    if (name === '_revs_diff') return send(response, 200, await this.#database.revsDiff(Object(body)));
    if (name !== '_bulk_docs') return send(response, 404, { error: 'not_found', reason: 'missing' });
    const { docs, new_edits = true } = Object(body);
    return send(response, 201, await this.#database.bulkDocs(docs, { new_edits }));
  }

  async #document(response: ServerResponse, { method, segments, query }: Asked): Promise<void> {
    if (method !== 'GET') return send(response, 405, { error: 'method_not_allowed', reason: 'no single writes' });
    const isDesign = segments[0] === '_design';
    const id = segments.slice(0, isDesign ? 2 : 1).join('/');
    const name = segments.slice(isDesign ? 2 : 1).join('/');
    const rev = query.get('rev') ?? undefined;
    if (name !== '') {
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      response.end(await this.#database.getAttachment(id, name, rev === undefined ? {} : { rev }));
      return;
    }
    const flags = ['revs', 'attachments', 'latest'].map((flag) => [flag, query.get(flag) === 'true']);
    const options = { ...Object.fromEntries(flags), ...(rev === undefined ? {} : { rev }) };
    const openRevs = query.get('open_revs');
    const more = openRevs === null ? {} : { open_revs: openRevs === 'all' ? 'all' : JSON.parse(openRevs) };
    send(response, 200, await this.#database.get(id, { ...options, ...more }));
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
