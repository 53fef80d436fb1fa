import type { IncomingMessage } from 'node:http';
import { DatabaseError } from '../../base/errors/database-error.ts';
import { isObject } from '../../base/json/objects.ts';
import { shownAddress } from '../../base/system/shown-address.ts';
import { bulkBody, createFinder } from '../../packages/transfer/bulk-writes.ts';
import { UsageError } from '../terminal/usage-error.ts';
import { namesOf, toName } from './document-text.ts';
import { type ShortAnswer, shortAnswer, shortMessage } from './short-answer.ts';
import { BodyError, type StreamedRequest, sendStreamed } from './streamed-request.ts';

/** Bytes of a response that describes a database, or that confirms an operation. */
const SHORT_BYTES = 65_536;
/** Bytes of a row about one document. */
const ROW_BYTES = 16_384;
/** Bytes to read of a response that says why a request was refused. */
const ERROR_BYTES = 16_384;
const NO_DATABASE = 'That is not how a database answers: check the address, and what is between.';

/** The server refused a whole request and did none of it. */
export class RefusalError extends Error {
  readonly status: number;
  readonly error: string;
  readonly reason: string;

  constructor(what: string, status: number, error: string, reason: string) {
    super(`${what}: ${status} ${error}, ${reason}`);
    this.name = 'RefusalError';
    this.status = status;
    this.error = error;
    this.reason = reason;
  }
}

/** Why a document was not written. */
export interface Refusal {
  readonly error: string;
  readonly reason: string;
}

/** The content of an attachment; `encoding` is that of the bytes. */
export interface StoredContent {
  readonly encoding: 'gzip' | 'identity';
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** A body of type `multipart/related`. */
export interface RelatedBody {
  readonly boundary: string;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** A database on the network, for import and export. Name and password of the URL are sent with each request. */
export class RemoteDatabase {
  /** Without credentials. */
  readonly url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string) {
    const parsed = URL.canParse(url) ? new URL(url) : undefined;
    const isDatabase =
      parsed &&
      /^https?:$/.test(parsed.protocol) &&
      parsed.pathname !== '/' &&
      `${parsed.search}${parsed.hash}` === '' &&
      isDecodable(`${parsed.username}${parsed.password}`);
    if (!isDatabase) {
      // A mistake in the URL may have put the password anywhere in it.
      const shown = shownAddress(url);
      const named = shown === undefined ? 'The URL (not shown, since it may contain a password)' : `"${shown}"`;
      throw new UsageError(`${named} is not the address of a database, such as http://127.0.0.1:5984/countries.`);
    }
    this.#headers = { accept: 'application/json', ...credentials(parsed) };
    parsed.username = '';
    parsed.password = '';
    this.url = parsed.href.replace(/\/+$/, '');
  }

  /** Creates the database; returns false if it already existed. */
  async create(): Promise<boolean> {
    const response = await this.#request('', { method: 'PUT' });
    if (response.status !== 412) await this.#assertOk(response, `The database ${this.url} was not created`);
    await response.body?.cancel();
    return response.status !== 412;
  }

  async documentCount(): Promise<number> {
    const response = await this.#request('');
    await this.#assertOk(response, `The database ${this.url} can't be read`);
    const info = await this.#json(response, SHORT_BYTES);
    return isObject(info) ? Number(info['doc_count']) : 0;
  }

  /** Sends one `_bulk_docs` request; returns the refusals, by index. Rejects with `RefusalError` if all of it was refused. */
  async write(
    documents: readonly { readonly text: string }[],
    newEdits: boolean,
  ): Promise<ReadonlyMap<number, Refusal>> {
    const response = await this.#request('/_bulk_docs', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: bulkBody(documents, newEdits),
    });
    await this.#assertOk(response, `A batch of ${documents.length} documents was refused`);
    const rows = await this.#json(response, SHORT_BYTES + documents.length * ROW_BYTES);
    if (!Array.isArray(rows)) throw this.#unexpected('something other than an array');
    const refused = new Map<number, Refusal>();
    let find: ReturnType<typeof createFinder> | undefined;
    if (newEdits && rows.length !== documents.length) {
      throw this.#unexpected(`${rows.length} rows for ${documents.length} documents`);
    }
    for (const [index, row] of rows.entries()) {
      if (!isObject(row) || row['error'] === undefined) continue;
      // Without new revisions only refusals are answered.
      if (!newEdits) find ??= createFinder(documents.map(({ text }) => namesOf(text)));
      const place = find === undefined ? index : find({ id: toName(row['id']), rev: toName(row['rev']) });
      if (place === undefined) throw this.#unexpected('about a document that was not sent');
      refused.set(place, { error: `${row['error']}`, reason: toReason(row['reason']) });
    }
    return refused;
  }

  #unexpected(what: string): DatabaseError {
    return new DatabaseError('storage_failed', `${this.url}/_bulk_docs answered ${what}. ${NO_DATABASE}`);
  }

  /** All live documents, as the body of `_all_docs?include_docs=true`. */
  async readAll(): Promise<AsyncIterable<Uint8Array>> {
    const response = await this.#request('/_all_docs?include_docs=true');
    await this.#assertOk(response, `The documents of ${this.url} can't be read`);
    return this.#whole(response.body ?? emptyBody());
  }

  /** The content of an attachment of one revision, as it is stored, possibly compressed with gzip. */
  async readAttachment(id: string, rev: string | undefined, name: string): Promise<StoredContent> {
    const query = rev === undefined ? '' : `?rev=${encodeURIComponent(rev)}`;
    const headers = { accept: '*/*', 'accept-encoding': 'gzip' };
    const path = `${documentPath(id)}/${encodeURIComponent(name)}${query}`;
    const answer = await this.#stream({ method: 'GET', path, headers });
    if (answer.statusCode !== 200) throw await this.#refusalOf(answer, 'The attachment was refused');
    const encoding = answer.headers['content-encoding'] ?? 'identity';
    if (encoding === 'gzip' || encoding === 'identity') return { encoding, chunks: this.#whole(answer) };
    answer.destroy();
    throw new RefusalError('The attachment', 200, 'bad_content_type', `it came in the encoding ${encoding}`);
  }

  /**
   * Sends a document followed by its attachments (docs/http/attachments.md#multipart-uploads). Rejects with `RefusalError`, and with the error
   * of the body: then nothing was written.
   */
  async upload(id: string, newEdits: boolean, body: RelatedBody): Promise<void> {
    const path = `${documentPath(id)}${newEdits ? '' : '?new_edits=false'}`;
    const headers = { 'content-type': `multipart/related; boundary="${body.boundary}"` };
    const answer = await this.#stream({ method: 'PUT', path, headers, body: body.chunks });
    const status = answer.statusCode ?? 0;
    if (status < 200 || status > 299) throw await this.#refusalOf(answer, 'The document was refused');
    // Allows the connection to be used again.
    await this.#read(shortMessage(answer, { longest: SHORT_BYTES, isBeginningOfUse: true }));
  }

  async #stream(request: StreamedRequest): Promise<IncomingMessage> {
    const headers = { ...this.#headers, ...request.headers };
    try {
      return await sendStreamed(this.url, { ...request, headers });
    } catch (error) {
      throw error instanceof BodyError ? error.cause : this.#unreachable(error);
    }
  }

  async #refusalOf(answer: IncomingMessage, what: string): Promise<RefusalError> {
    const { text } = await this.#read(shortMessage(answer, { longest: ERROR_BYTES, isBeginningOfUse: true }));
    const { error, reason } = parseErrorBody(text);
    return new RefusalError(what, answer.statusCode ?? 0, error, reason);
  }

  async #request(path: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<Response> {
    try {
      return await fetch(`${this.url}${path}`, { ...init, headers: { ...this.#headers, ...init.headers } });
    } catch (error) {
      throw this.#unreachable(error);
    }
  }

  #unreachable(cause: unknown): DatabaseError {
    const reason = `${this.url} can't be reached: ${rootMessage(cause)}. Is the server running?`;
    return new DatabaseError('storage_failed', reason, { cause });
  }

  /** `longest`: the maximum number of bytes of the response. */
  async #json(response: Response, longest: number): Promise<unknown> {
    const { text, isWhole } = await this.#read(shortAnswer(response, { longest }));
    if (!isWhole) {
      throw new DatabaseError('storage_failed', `${this.url} answered with more than ${longest} bytes. ${NO_DATABASE}`);
    }
    try {
      return JSON.parse(text);
    } catch (error) {
      throw this.#broken(error);
    }
  }

  async #read(answer: Promise<ShortAnswer>): Promise<ShortAnswer> {
    try {
      return await answer;
    } catch (error) {
      throw this.#broken(error);
    }
  }

  async *#whole(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      yield* body;
    } catch (error) {
      throw this.#broken(error);
    }
  }

  #broken(cause: unknown): DatabaseError {
    return new DatabaseError(
      'storage_failed',
      `The response of ${this.url} broke off: ${rootMessage(cause)}. Run the command again.`,
      {
        cause,
      },
    );
  }

  async #assertOk(response: Response, what: string): Promise<void> {
    if (response.ok) return;
    const { text } = await this.#read(shortAnswer(response, { longest: ERROR_BYTES, isBeginningOfUse: true }));
    const { error, reason } = parseErrorBody(text);
    throw new RefusalError(what, response.status, error, reason);
  }
}

/** The slash of design documents stays, because below their ids others are not accepted (docs/http/requests.md#request-path). */
function documentPath(id: string): string {
  const [, space = '', name = id] = /^(_design\/|_local\/)(.*)$/s.exec(id) ?? [];
  return `/${space}${encodeURIComponent(name)}`;
}

/** Validation functions may return any JSON value. */
function toReason(reason: unknown): string {
  return typeof reason === 'string' ? reason : (JSON.stringify(reason) ?? '');
}

function parseErrorBody(text: string): { readonly error: string; readonly reason: string } {
  try {
    const body: unknown = JSON.parse(text);
    if (isObject(body)) return { error: `${body['error'] ?? 'error'}`, reason: toReason(body['reason']) };
  } catch {
    // The response is not from a database, but possibly from a proxy; its beginning is shown.
  }
  return { error: 'error', reason: text.slice(0, 200) };
}

/** `fetch` refuses addresses with credentials, so they travel as a header (RFC 7617). */
function credentials({ username, password }: URL): Readonly<Record<string, string>> {
  if (username === '') return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(pair, 'utf8').toString('base64')}` };
}

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined;
  } catch {
    return false;
  }
}

/** The message of the innermost cause, because `fetch` itself says only "fetch failed". */
function rootMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message || error.name : rootMessage(error.cause);
}

async function* emptyBody(): AsyncGenerator<Uint8Array> {}
