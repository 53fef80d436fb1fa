/** One database, accessed with `fetch()`: this is all that an app needs. */
import { emitNameWords } from './names.ts';
import type { Logging, RequestLog } from './request-log.ts';
import { emitSquare } from './squares.ts';

/** What a document says about one of its files. */
export interface Attachment {
  readonly content_type: string;
  /** In bytes. */
  readonly length?: number;
  readonly digest?: string;
}

export interface StoredDocument {
  readonly _id: string;
  readonly _rev: string;
  readonly _attachments?: Readonly<Record<string, Attachment>>;
  readonly [member: string]: unknown;
}

/** A document's own members, without `_id` and `_rev`. */
export type Content = Readonly<Record<string, unknown>>;

export interface Row {
  readonly id: string;
  readonly doc: StoredDocument;
}

export interface Listing {
  readonly total: number;
  /** How many documents come before the first row. */
  readonly offset: number;
  readonly rows: readonly Row[];
}

/** A document, or some of its members. */
export type Found = { readonly _id: string } & Content;

/** Where in the list a page begins. */
export interface PageStart {
  /** At this id, or, if `backwards`, before it. Undefined: at the first one. */
  readonly from: string | undefined;
  readonly backwards: boolean;
}

export interface DatabaseInfo {
  /** Grows with every change. */
  readonly updateSeq: number;
  readonly bytes: number;
  /** With design documents. */
  readonly documents: number;
}

/** A row of `_changes?include_docs=true`. */
export interface ChangeRow {
  readonly seq: number;
  readonly id: string;
  readonly changes: readonly { readonly rev: string }[];
  readonly deleted?: boolean;
  readonly doc: StoredDocument | null;
}

export interface BulkOutcome {
  readonly written: number;
  readonly refused: number;
}

/** A response that reports a failure; `reason` is the database's own sentence. */
export class RequestError extends Error {
  readonly status: number;

  constructor(status: number, reason: string) {
    super(reason);
    this.name = 'RequestError';
    this.status = status;
  }
}

/** What the database works on: how much of an index it has brought up to date. */
export interface Indexing {
  /** Of the changes that the index has to read. */
  readonly done: number;
  readonly total: number;
}

/** The page's own design documents, with a view each: an index of its own, which is brought up to date when it is asked for. */
const VIEW = '/_design/demo/_view/documents';
const MAP_VIEW = '/_design/map/_view/squares';
const NAMES_VIEW = '/_design/names/_view/words';

const everyDesign = [
  /**
   * Each document under its id, in the order of `_all_docs`, counted, without the design documents themselves. This is the page's list;
   * reduced, it is the number of documents.
   */
  {
    _id: '_design/demo',
    options: { collation: 'raw' },
    views: { documents: { map: 'function (doc) { emit(doc._id); }', reduce: '_count' } },
  },
  /** Each document under the square degree of the map in which it is; grouped, how many each square has. */
  {
    _id: '_design/map',
    options: { collation: 'raw' },
    views: { squares: { map: emitSquare, reduce: '_count' } },
  },
];

/** Each country under every word of its names. */
const namesDesign = {
  _id: '_design/names',
  options: { collation: 'raw' },
  views: { words: { map: emitNameWords } },
};

function designsOf(database: string): readonly { readonly _id: string }[] {
  return database === 'countries' ? [...everyDesign, namesDesign] : everyDesign;
}

/** A reduction's only row; there is none while there is nothing to count. */
export interface CountEvent {
  readonly rows: readonly { readonly value: number }[];
}

/** Feeds that have nothing to report for this long send an empty line; without it they would end each minute. */
const HEARTBEAT_MS = 30_000;

const JSON_HEADERS = { Accept: 'application/json', 'Content-Type': 'application/json' };

export class Database {
  readonly name: string;
  readonly #path: string;
  readonly #log: RequestLog;
  /** Writes of single documents that are not answered yet. */
  readonly #writing = new Set<Promise<unknown>>();
  /** Revisions that this page made. */
  readonly #written = new Set<string>();

  constructor(name: string, log: RequestLog) {
    this.name = name;
    this.#path = `/db/${encodeURIComponent(name)}`;
    this.#log = log;
  }

  /** Reports each change after `since`, with the document, each on a line of its own. */
  changes(since: number, signal: AbortSignal): Promise<Response> {
    const query = `feed=continuous&since=${since}&include_docs=true&heartbeat=${HEARTBEAT_MS}`;
    return this.#ask(`/_changes?${query}`, { signal }, 'quiet');
  }

  /**
   * Reports how many documents there are from the id `from` up to but not including `to`, and again whenever the number changes. For an
   * `EventSource`; needs `prepare`.
   */
  countAddress(from = '', to?: string): string {
    const query = new URLSearchParams({ feed: 'eventsource', include_rows: 'true', heartbeat: String(HEARTBEAT_MS) });
    if (from !== '') query.set('startkey', JSON.stringify(from));
    if (to !== undefined) {
      query.set('endkey', JSON.stringify(to));
      query.set('inclusive_end', 'false');
    }
    return `${this.#path}${VIEW}?${query}`;
  }

  /** Looks into the list of databases, because browsers write every 404 to the console. */
  async exists(): Promise<boolean> {
    return (await databaseNames(this.#log)).includes(this.name);
  }

  async info(): Promise<DatabaseInfo> {
    const { update_seq, disk_size, doc_count } = await succeed(await this.#ask('', {}, 'quiet'));
    return { updateSeq: update_seq, bytes: disk_size, documents: doc_count };
  }

  /** Writes the design documents that do not exist. */
  async prepare(): Promise<void> {
    const designs = designsOf(this.name);
    const query = new URLSearchParams({ keys: JSON.stringify(designs.map(({ _id }) => _id)) });
    const { rows } = await succeed(await this.#ask(`/_all_docs?${query}`, {}, 'quiet'));
    const docs = designs.filter((_design, index) => !rows[index]?.value || rows[index].value.deleted);
    if (docs.length === 0) return;
    // Another tab may be quicker. In the response to a bulk write that is not a failed request in anyone's console.
    await succeed(await this.#ask('/_bulk_docs', { method: 'POST', body: JSON.stringify({ docs }) }, 'quiet'));
  }

  /** Does nothing if it already exists. */
  async create(): Promise<void> {
    await succeed(await this.#ask('?if-missing=true', { method: 'PUT' }));
  }

  async destroy(): Promise<void> {
    await succeed(await this.#ask('', { method: 'DELETE' }));
  }

  /** Documents whose ids begin with `prefix`, in the order of their ids. `offset` is only present when listing forwards. */
  async list(prefix: string, { from, backwards }: PageStart, limit: number, logging?: Logging): Promise<Listing> {
    const query = new URLSearchParams({ reduce: 'false', include_docs: 'true', limit: String(limit) });
    const start = from ?? prefix;
    if (start !== '') query.set('startkey', JSON.stringify(start));
    if (prefix !== '') query.set('endkey', JSON.stringify(backwards ? prefix : afterAll(prefix)));
    if (backwards) {
      query.set('descending', 'true');
      query.set('skip', '1');
    }
    const { total_rows, offset, rows } = await succeed(await this.#ask(`${VIEW}?${query}`, {}, logging));
    return { total: total_rows, offset, rows: backwards ? rows.reverse() : rows };
  }

  /** How many documents there are, now. */
  async count(): Promise<number> {
    const query = new URLSearchParams({ reduce: 'false', limit: '0' });
    return (await succeed(await this.#ask(`${VIEW}?${query}`, {}, 'quiet'))).total_rows;
  }

  /** How many design documents there are, which no count of documents on these pages has. */
  async countDesigns(): Promise<number> {
    const query = new URLSearchParams({ startkey: '"_design/"', endkey: '"_design0"', inclusive_end: 'false' });
    return (await succeed(await this.#ask(`/_all_docs?${query}`, {}, 'quiet'))).rows.length;
  }

  /** How far the index of the map is; undefined: nothing works on it. */
  async mapIndexing(): Promise<Indexing | undefined> {
    const answer = await this.#log.fetch('/db/_active_tasks', { headers: JSON_HEADERS }, 'quiet');
    const tasks: readonly Readonly<Record<string, unknown>>[] = await succeed(answer);
    const own = tasks.find(
      ({ type, database, design_document: design }) =>
        type === 'indexer' && database === this.name && design === '_design/map',
    );
    return own && { done: Number(own['changes_done']), total: Number(own['total_changes']) };
  }

  /** The ids of the documents that have each of these words, or the rest of it, in their names; in the order of ids. */
  async named(words: readonly string[], logging?: Logging): Promise<readonly string[]> {
    const found = await Promise.all(words.map((word) => this.#withWord(word, logging)));
    const [first = new Set<string>(), ...others] = found;
    return [...first].filter((id) => others.every((ids) => ids.has(id))).sort();
  }

  async #withWord(word: string, logging?: Logging): Promise<ReadonlySet<string>> {
    const range = { startkey: JSON.stringify(word), endkey: JSON.stringify(afterAll(word)) };
    const { rows } = await succeed(await this.#ask(`${NAMES_VIEW}?${new URLSearchParams(range)}`, {}, logging));
    return new Set(rows.map(({ id }: { readonly id: string }) => id));
  }

  /** The documents with these ids, without those that are gone. */
  async getAll(ids: readonly string[]): Promise<readonly Row[]> {
    if (ids.length === 0) return [];
    const body = JSON.stringify({ keys: ids });
    const answer = await this.#ask('/_all_docs?include_docs=true', { method: 'POST', body }, 'quiet');
    const { rows }: { rows: readonly { readonly id?: string; readonly doc?: StoredDocument | null }[] } =
      await succeed(answer);
    return rows.flatMap(({ id, doc }) => (id === undefined || !doc ? [] : [{ id, doc }]));
  }

  /** The square degrees that have documents, numbered as `squareOf` does. */
  async squares(): Promise<readonly number[]> {
    const { rows } = await succeed(await this.#ask(`${MAP_VIEW}?group=true`, {}, 'quiet'));
    return rows.map(({ key }: { readonly key: number }) => key);
  }

  /** The documents that a selector chooses, with these of their members. */
  async find(selector: Content, fields: readonly string[], limit: number): Promise<readonly Found[]> {
    const body = JSON.stringify({ selector, fields, limit });
    return (await succeed(await this.#ask('/_find', { method: 'POST', body }))).docs;
  }

  /** How many ids come before this one: a response without rows, whatever the size of the database. */
  async countBefore(id: string): Promise<number> {
    const query = new URLSearchParams({ reduce: 'false', limit: '0', startkey: JSON.stringify(id) });
    return (await succeed(await this.#ask(`${VIEW}?${query}`, {}, 'quiet'))).offset;
  }

  /** How many ids come before those that begin with `prefix`, and how many up to the last of them. */
  range(prefix: string): Promise<[number, number]> {
    return Promise.all([this.countBefore(prefix), this.countBefore(afterAll(prefix))]);
  }

  /** Returns undefined if it is missing or deleted. */
  async get(id: string, logging: Logging = 'logged'): Promise<StoredDocument | undefined> {
    const answer = await this.#ask(`/${encodeURIComponent(id)}`, {}, logging);
    return answer.status === 404 ? undefined : succeed(answer);
  }

  /** A revision with its files in it, as text. */
  async getWhole(id: string, rev: string): Promise<StoredDocument> {
    const query = new URLSearchParams({ rev, attachments: 'true' });
    return succeed(await this.#ask(`/${encodeURIComponent(id)}?${query}`, {}, 'quiet'));
  }

  /** Returns the new revision, or undefined if `rev` is not the current one: someone else was quicker. */
  async put(id: string, rev: string | undefined, content: Content): Promise<string | undefined> {
    const body = JSON.stringify(rev === undefined ? content : { _rev: rev, ...content });
    return this.#write(`/${encodeURIComponent(id)}`, { method: 'PUT', body });
  }

  /** Returns false if the revision is not the current one. */
  async remove(id: string, rev: string): Promise<boolean> {
    const query = new URLSearchParams({ rev });
    return (await this.#write(`/${encodeURIComponent(id)}?${query}`, { method: 'DELETE' })) !== undefined;
  }

  /** Where a file of the document can be read. The revision changes the address when the file has changed. */
  attachmentAddress(id: string, name: string, rev: string): string {
    return `${this.#attachmentPath(id, name)}?${new URLSearchParams({ rev })}`;
  }

  /** Stores a file with the document. Returns the new revision, or undefined if `rev` is not the current one. */
  async attach(id: string, rev: string, file: File): Promise<string | undefined> {
    const headers = { Accept: 'application/json', 'Content-Type': file.type };
    return this.#changeAttachment(id, rev, file.name, { method: 'PUT', body: file, headers });
  }

  /** Removes a file. Returns the same as `attach`. */
  detach(id: string, rev: string, name: string): Promise<string | undefined> {
    return this.#changeAttachment(id, rev, name, { method: 'DELETE' });
  }

  async #changeAttachment(id: string, rev: string, name: string, init: RequestInit): Promise<string | undefined> {
    return this.#write(this.attachmentAddress(id, name, rev).slice(this.#path.length), init);
  }

  #attachmentPath(id: string, name: string): string {
    return `${this.#path}/${encodeURIComponent(id)}/${encodeURIComponent(name)}`;
  }

  /** Writes documents that are already JSON texts. Documents whose ids already exist are refused. */
  async writeAll(documents: readonly string[], signal: AbortSignal): Promise<BulkOutcome> {
    const body = `{"docs":[${documents.join(',')}]}`;
    const outcomes: { ok?: boolean }[] = await succeed(
      await this.#ask('/_bulk_docs', { method: 'POST', body, signal }),
    );
    const written = outcomes.filter(({ ok }) => ok).length;
    return { written, refused: outcomes.length - written };
  }

  /** Whether this page made the revision: tells changes by others in `_changes` from this page's own. */
  hasWritten(rev: string): boolean {
    return this.#written.has(rev);
  }

  /** Resolves when all writes in progress are answered. */
  async ownWrites(): Promise<void> {
    await Promise.allSettled(this.#writing);
  }

  /** Returns the new revision, or undefined for a conflict. */
  async #write(path: string, init: RequestInit): Promise<string | undefined> {
    const writing = this.#ask(path, init).then((answer) => (answer.status === 409 ? undefined : succeed(answer)));
    this.#writing.add(writing);
    try {
      const rev: string | undefined = (await writing)?.rev;
      if (rev !== undefined) this.#written.add(rev);
      return rev;
    } finally {
      this.#writing.delete(writing);
    }
  }

  #ask(path: string, init: RequestInit = {}, logging?: Logging): Promise<Response> {
    return this.#log.fetch(`${this.#path}${path}`, { headers: JSON_HEADERS, ...init }, logging);
  }
}

/** All databases of this browser, in alphabetical order. */
export async function databaseNames(log: RequestLog): Promise<readonly string[]> {
  return succeed(await log.fetch('/db/_all_dbs', { headers: JSON_HEADERS }, 'quiet'));
}

/** A text that sorts after every id with this prefix. */
export function afterAll(prefix: string): string {
  return `${prefix}\u{10ffff}`;
}

async function succeed(answer: Response) {
  const json = await answer.json();
  if (answer.ok) return json;
  throw new RequestError(answer.status, `${json.reason ?? json.error ?? answer.statusText}`);
}
