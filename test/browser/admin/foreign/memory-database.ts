/** One database of a foreign server: PouchDB in memory, and what HTTP asks of it. */
import { PouchDB } from '../../../support/pouchdb-in-memory.ts';

export type Members = Readonly<Record<string, unknown>>;

/** What a request is answered with. */
export interface Answer {
  readonly status: number;
  /** JSON, unless it is a body with a type. */
  readonly json?: unknown;
  readonly body?: Uint8Array;
  readonly type?: string;
}

export interface DatabaseRequest {
  readonly method: string;
  /** Below the database, decoded. */
  readonly segments: readonly string[];
  /** Values as JSON where they are JSON. */
  readonly query: Members;
  readonly json: unknown;
  readonly body: Uint8Array;
  readonly type: string;
}

const ABSENT: Answer = { status: 404, json: { error: 'not_found', reason: 'missing' } };

let lastNumber = 0;

export class MemoryDatabase {
  readonly #database: PouchDB;

  constructor() {
    lastNumber += 1;
    this.#database = new PouchDB(`foreign-${lastNumber}`, { adapter: 'memory' });
  }

  async info(): Promise<{ readonly documents: number; readonly seq: number }> {
    const { doc_count, update_seq } = Object(await this.#database.info());
    return { documents: doc_count, seq: update_seq };
  }

  async destroy(): Promise<void> {
    await this.#database.destroy();
  }

  /** Answers as old servers do, without `_find`, `_index`, `_temp_view`, `_info` and `_security`. */
  async answer(request: DatabaseRequest): Promise<Answer> {
    const [first = '', second, third, fourth] = request.segments;
    if (first === '_design' && second !== undefined && third === '_view')
      return this.#view(second, `${fourth}`, request);
    if (first === '_design' || first === '_local') {
      return third === undefined
        ? this.#document(`${first}/${second}`, request)
        : this.#under(`${first}/${second}`, request);
    }
    if (!first.startsWith('_')) {
      return second === undefined ? this.#document(first, request) : this.#attachment(first, second, request);
    }
    return this.#endpoint(first, request);
  }

  async #endpoint(name: string, { method, query, json }: DatabaseRequest): Promise<Answer> {
    const database = this.#database;
    if (name === '_all_docs') return { status: 200, json: await database.allDocs({ ...query, ...Object(json) }) };
    if (name === '_bulk_docs') {
      const { docs, new_edits } = Object(json);
      const rows = await database.bulkDocs(docs, new_edits === false ? { new_edits } : {});
      return { status: 201, json: rows.map(withoutStack) };
    }
    if (name === '_bulk_get') return { status: 200, json: await database.bulkGet({ ...query, ...Object(json) }) };
    if (name === '_revs_diff') return { status: 200, json: await database.revsDiff(Object(json)) };
    // A list only: the feeds are another's.
    if (name === '_changes') return { status: 200, json: await database.changes({ ...query, ...Object(json) }) };
    if (name === '_compact' && method === 'POST') return { status: 202, json: { ok: true } };
    return ABSENT;
  }

  async #document(id: string, { method, query, json }: DatabaseRequest): Promise<Answer> {
    if (method === 'GET') return { status: 200, json: await this.#database.get(id, query) };
    if (method === 'PUT')
      return { status: 201, json: { ok: true, ...Object(await this.#database.put({ ...Object(json), _id: id })) } };
    if (method !== 'DELETE')
      return { status: 405, json: { error: 'method_not_allowed', reason: 'Only GET,PUT,DELETE allowed' } };
    return { status: 200, json: { ok: true, ...Object(await this.#database.remove(id, `${query['rev']}`)) } };
  }

  async #attachment(id: string, name: string, { method, query, body, type }: DatabaseRequest): Promise<Answer> {
    const rev = query['rev'] === undefined ? undefined : `${query['rev']}`;
    if (method === 'PUT') {
      const stored = await this.#database.putAttachment(id, name, rev, Buffer.from(body), type);
      return { status: 201, json: { ok: true, ...stored } };
    }
    if (method === 'DELETE') return { status: 200, json: await this.#database.removeAttachment(id, name, `${rev}`) };
    const { _attachments } = Object(await this.#database.get(id));
    const content = await this.#database.getAttachment(id, name);
    if (!(content instanceof Uint8Array)) return ABSENT;
    return { status: 200, body: content, type: _attachments[name].content_type };
  }

  async #under(id: string, { segments, method }: DatabaseRequest): Promise<Answer> {
    if (segments[2] === '_info' || method !== 'GET') return ABSENT;
    return this.#attachment(id, `${segments[2]}`, {
      method,
      segments,
      query: {},
      json: undefined,
      body: new Uint8Array(),
      type: '',
    });
  }

  /** Reads all documents each time: that is enough for a test. */
  async #view(design: string, name: string, { query }: DatabaseRequest): Promise<Answer> {
    const { views } = Object(await this.#database.get(`_design/${design}`));
    const view = Object(views)[name];
    if (view === undefined) return { status: 404, json: { error: 'not_found', reason: 'missing_named_view' } };
    const rows = await this.#mapped(view.map);
    if (view.reduce !== '_sum' || query['reduce'] === false) {
      const from = Number(query['skip'] ?? 0);
      const page = rows.slice(from, from + Number(query['limit'] ?? rows.length));
      return { status: 200, json: { total_rows: rows.length, offset: from, rows: page } };
    }
    const value = rows.reduce((sum, row) => sum + Number(row.value), 0);
    return { status: 200, json: { rows: rows.length === 0 ? [] : [{ key: null, value }] } };
  }

  async #mapped(
    source: string,
  ): Promise<readonly { readonly key: unknown; readonly value: unknown; readonly id: string }[]> {
    const { rows } = Object(await this.#database.allDocs({ include_docs: true }));
    const found: { key: unknown; value: unknown; id: string }[] = [];
    for (const { id, doc } of rows) {
      if (`${id}`.startsWith('_design/')) continue;
      const emit = (key: unknown, value: unknown) => found.push({ key, value, id });
      new Function('emit', 'doc', `return (${source})(doc);`)(emit, doc);
    }
    const text = ({ key }: { key: unknown }) =>
      typeof key === 'number' ? `${key}`.padStart(20, '0') : JSON.stringify(key);
    return found.sort((one, other) => (text(one) < text(other) ? -1 : 1));
  }
}

/** PouchDB's errors have their stack among their members. */
function withoutStack(row: unknown): unknown {
  const { error, name, message, reason, id, status, ...rest } = Object(row);
  if (error !== true) return row;
  return { id: id ?? rest.docId, error: name, reason: reason ?? message };
}
