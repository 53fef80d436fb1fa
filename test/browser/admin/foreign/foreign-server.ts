/**
 * A server of the family that is not Settee: without its extensions, and without CORS. Its kinds: `plain` has documents, lists, changes,
 * attachments and views, and nothing else; `couchdb` has also what version 3 of CouchDB answers its admins about itself, in its forms;
 * `couchdb-for-nobody` answers those who are not logged in.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { BuiltPages } from '../../../../src/node/server/page-files.ts';
import { CouchForms } from './couch-forms.ts';
import { type Answer, type Members, MemoryDatabase } from './memory-database.ts';

export type Kind = 'plain' | 'couchdb' | 'couchdb-for-nobody';

export interface ForeignServer {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** Methods and paths of what was answered. */
  readonly seen: readonly string[];
  close(): Promise<void>;
}

const GREETING = { couchdb: 'Welcome', version: '1.0', vendor: { name: 'Plain' } };
const NO_DATABASE: Answer = { status: 404, json: { error: 'not_found', reason: 'Database does not exist.' } };
const ABSENT: Answer = { status: 404, json: { error: 'not_found', reason: 'missing' } };

export async function startForeignServer(kind: Kind): Promise<ForeignServer> {
  const foreign = new Foreign(kind);
  const server = createServer((request, response) => {
    foreign.answer(request, response).catch((error: unknown) => {
      response.writeHead(500, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: 'internal', reason: `${error}` }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the loopback gives no port');
  return {
    baseUrl: `http://127.0.0.1:${address.port}`,
    seen: foreign.seen,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

class Foreign {
  readonly seen: string[] = [];
  readonly #databases = new Map<string, MemoryDatabase>();
  readonly #pages = new BuiltPages();
  readonly #couch: CouchForms | undefined;

  constructor(kind: Kind) {
    this.#couch = kind === 'plain' ? undefined : new CouchForms(this.#databases, kind === 'couchdb');
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET' } = request;
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://server.test');
    this.seen.push(`${method} ${request.url}`);
    // The slash in the id of a design document may be escaped.
    const path = pathname.replace(/\/(_design|_local)%2f/gi, '/$1/');
    const segments = path.split('/').slice(1).map(decodeURIComponent);
    const body = await bodyOf(request);
    const query = Object.fromEntries([...searchParams].map(([name, value]) => [name, parsed(value)]));
    const given = { method, query, body, json: parsed(body.toString()), type: request.headers['content-type'] ?? '' };
    send(response, await this.#answer(segments, given).catch(toAnswer));
  }

  async #answer(segments: readonly string[], given: Given): Promise<Answer> {
    const [first = '', ...rest] = segments;
    if (first === '') return { status: 200, json: this.#couch?.greeting ?? GREETING };
    if (first === '_all_dbs' && this.#couch?.isAdmin !== false)
      return { status: 200, json: [...this.#databases.keys()].sort() };
    if (first === '_utils') return this.#page(rest.join('/') || 'index.html');
    if (first.startsWith('_') && !this.#databases.has(first)) {
      return (await this.#couch?.answer(segments, given)) ?? ABSENT;
    }
    const special = rest[0]?.startsWith('_') === true ? await this.#couch?.answerOf(segments, given) : undefined;
    return special ?? this.#ofDatabase(first, rest, given);
  }

  async #ofDatabase(name: string, segments: readonly string[], given: Given): Promise<Answer> {
    const database = this.#databases.get(name);
    if (segments.length === 0 && given.method === 'PUT') {
      if (database !== undefined)
        return { status: 412, json: { error: 'file_exists', reason: 'The database already exists.' } };
      this.#databases.set(name, new MemoryDatabase());
      return { status: 201, json: { ok: true } };
    }
    if (database === undefined) return NO_DATABASE;
    if (segments.length > 0) return database.answer({ ...given, segments });
    if (given.method === 'DELETE') {
      this.#databases.delete(name);
      await database.destroy();
      return { status: 200, json: { ok: true } };
    }
    const { documents, seq } = await database.info();
    const plain = { db_name: name, doc_count: documents, update_seq: seq };
    return { status: 200, json: this.#couch?.infoOf(name, documents, seq) ?? plain };
  }

  async #page(name: string): Promise<Answer> {
    const file = await this.#pages.get(name);
    return file === undefined ? ABSENT : { status: 200, body: file.body, type: file.type };
  }
}

/** What a request brings. */
export interface Given {
  readonly method: string;
  readonly query: Members;
  readonly json: unknown;
  readonly body: Uint8Array;
  readonly type: string;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** PouchDB fails with the statuses of the family. */
function toAnswer(failure: unknown): Answer {
  const { status, name, reason, message } = Object(failure);
  if (typeof status !== 'number') throw failure;
  return { status, json: { error: name, reason: reason ?? message } };
}

function send(response: ServerResponse, { status, json, body, type = 'application/json' }: Answer): void {
  response.writeHead(status, { 'content-type': type });
  response.end(body ?? JSON.stringify(json));
}
