/** Which responses are compressed, and what their headers say then (docs/http/answers.md#compressed-answers). */
import { brotliCompress, brotliCompressSync, gzip, gzipSync } from 'node:zlib';
import { assert } from '../../base/shared/assert.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { PlainHeaders, PlainRequest, PlainResponse, ResponseBody } from '../../base/shared/message.ts';
import { acceptedCodings } from '../../http/request/accept.ts';
import { CompressedStream } from './compressed-stream.ts';
import { type Coding, wholeOptions } from './compressors.ts';
import { isLoopback } from './host-check.ts';
import { toLongText } from './response.ts';

export interface CompressionRules {
  /** The codings that may be used, the preferred one first; empty: nothing is compressed. */
  readonly codings: readonly Coding[];
  /** Whether clients on this machine get compressed responses, too. */
  readonly forLoopback: boolean;
  /** Returns the client's address, which proxies may name in `X-Forwarded-For`. Default: that of the connection. */
  readonly addressOf?: (peer: string, forwarded: string | undefined) => string;
}

/** Shorter bodies fit into a packet as they are. */
const MIN_BYTES = 1_024;
/** UTF-16 units from which on a text is compressed in pieces. */
const LONG_TEXT = 1_048_576;
/** Bytes up to which another thread would cost more than the work. */
const SMALL_BYTES = 16_384;
/** Responses that are compressed at a time, half of them for one client; the others are sent as they are. Each takes up to 320 kB. */
const MAX_COMPRESSORS = 128;
/** Different `Accept-Encoding` headers that are remembered, and their length. Clients that send longer ones get plain responses. */
const MAX_REMEMBERED = 64;
const MAX_HEADER_LENGTH = 500;

const COMPRESSIBLE =
  /^(?:text\/|application\/(?:json|javascript|xml|wasm|x-ndjson|manifest\+json)|[a-z]+\/[\w.-]+\+(?:json|xml))/i;
const NO_TRANSFORM = /(?:^|[\s,])no-transform\b/i;
/** What clients of the family take for the revision (docs/http/documents.md). */
const REVISION_TAG = /^"\d+-/;
const WEAK_TAG = /W\/(?="(?!\d+-))/g;

type Request = Pick<PlainRequest, 'method' | 'headers' | 'peer'>;

export class Compression {
  readonly #rules: () => CompressionRules;
  readonly #accepted = new Map<string, readonly Coding[]>();
  #compressors = 0;
  /** How many of them each client has, by its address. */
  readonly #ofClients = new Map<string, number>();

  /** `rules` is called at each response. */
  constructor(rules: () => CompressionRules) {
    this.#rules = rules;
  }

  /** `knownTags`: the `If-None-Match` that the client sent. */
  apply(response: PlainResponse, request: Request, knownTags: string | undefined): MaybePromise<PlainResponse> {
    const { codings, forLoopback, addressOf } = this.#rules();
    const { peer, headers } = request;
    // What this process asks itself for has no address.
    if (codings.length === 0 || peer === undefined || (!forLoopback && isLoopback(peer))) return response;
    if (response.status === 304) return notModified(response, knownTags);
    if (!isCompressible(response)) return response;
    const varied = { ...response, headers: withVary(response.headers) };
    if (!mayBeCompressed(response.headers, headers)) return varied;
    const accepted = this.#acceptedOf(headers['accept-encoding'], codings);
    if (accepted.length === 0) return varied;
    const [coding = 'gzip'] = accepted;
    // `X-HTTP-Method-Override: HEAD` leaves a body out, too.
    if (request.method === 'HEAD' || response.body === null) return discarded(coded(varied, coding));
    const client = addressOf?.(peer, headers['x-forwarded-for']) ?? peer;
    return this.#mayTake(client) ? this.#compress(varied, coding, client) : varied;
  }

  /** A client takes at most as many as it leaves to others, so that none can keep all of them, as by feeds that it leaves open. */
  #mayTake(client: string): boolean {
    return (this.#ofClients.get(client) ?? 0) < MAX_COMPRESSORS - this.#compressors;
  }

  /** Returns the function that releases it, to be called once. */
  #take(client: string): () => void {
    this.#compressors++;
    this.#ofClients.set(client, (this.#ofClients.get(client) ?? 0) + 1);
    return () => {
      this.#compressors--;
      const rest = (this.#ofClients.get(client) ?? 0) - 1;
      if (rest > 0) this.#ofClients.set(client, rest);
      else this.#ofClients.delete(client);
    };
  }

  #acceptedOf(header: string | undefined, codings: readonly Coding[]): readonly Coding[] {
    if (header === undefined || header === 'identity' || header.length > MAX_HEADER_LENGTH) return [];
    const key = `${codings} ${header}`;
    const known = this.#accepted.get(key);
    if (known !== undefined) return known;
    const accepted = acceptedCodings(header, codings);
    if (this.#accepted.size >= MAX_REMEMBERED) this.#accepted.clear();
    this.#accepted.set(key, accepted);
    return accepted;
  }

  #compress(plain: PlainResponse, coding: Coding, client: string): MaybePromise<PlainResponse> {
    const { body } = plain;
    const isLongText = typeof body === 'string' && body.length > LONG_TEXT;
    if (body instanceof Uint8Array || (typeof body === 'string' && !isLongText)) {
      return this.#compressWhole(plain, body, coding, client);
    }
    if (!isLongText) return this.#compressStream(plain, body, coding, client);
    return whenReady(toLongText(plain, LONG_TEXT), (long) => this.#compressStream(plain, long, coding, client));
  }

  #compressStream(plain: PlainResponse, body: ResponseBody | undefined, coding: Coding, client: string): PlainResponse {
    assert(body instanceof Object && 'pull' in body, 'only a stream is compressed step by step');
    return { ...coded(plain, coding), body: new CompressedStream(body, coding, this.#take(client)) };
  }

  #compressWhole(
    plain: PlainResponse,
    body: string | Uint8Array,
    coding: Coding,
    client: string,
  ): MaybePromise<PlainResponse> {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const answer = (short: Uint8Array) =>
      short.length < bytes.length ? { ...coded(plain, coding), body: short } : plain;
    if (bytes.length <= SMALL_BYTES) return answer(compressAtOnce(bytes, coding));
    const release = this.#take(client);
    return compressElsewhere(bytes, coding)
      .then(answer, () => plain)
      .finally(release);
  }
}

/**
 * Returns a request's headers with those weak tags in `If-None-Match` as strong ones that responses here have made weak; the core compares
 * literally. Tags of documents never become weak.
 */
export function withKnownTags(headers: PlainHeaders): PlainHeaders {
  const tags = headers['if-none-match'];
  return tags?.includes('W/') === true ? { ...headers, 'if-none-match': tags.replace(WEAK_TAG, '') } : headers;
}

/** The client's tag decides, as it does not say which of the two forms it has. */
function notModified(response: PlainResponse, knownTags: string | undefined): PlainResponse {
  const { etag = '' } = response.headers;
  const isWeak = etag !== '' && knownTags?.includes(`W/${etag}`) === true;
  return { ...response, headers: { ...withVary(response.headers), ...(isWeak ? { etag: weak(etag) } : {}) } };
}

function isCompressible({ status, headers, body }: PlainResponse): boolean {
  if (status < 200 || status === 204 || status === 206) return false;
  if ('content-encoding' in headers || !COMPRESSIBLE.test(headers['content-type'] ?? '')) return false;
  const length = body === null ? Number(headers['content-length'] ?? 0) : body.length;
  return (length ?? MIN_BYTES) >= MIN_BYTES;
}

/** `headers`: of the response. */
function mayBeCompressed(headers: PlainHeaders, request: PlainHeaders): boolean {
  if ('range' in request || forbidsTransform(headers) || forbidsTransform(request)) return false;
  // The length of a response that a page can't read must tell it nothing (docs/operations.md#compression).
  const site = request['sec-fetch-site'];
  return (site !== 'cross-site' && site !== 'same-site') || 'access-control-allow-origin' in headers;
}

function forbidsTransform({ 'cache-control': control }: PlainHeaders): boolean {
  return control !== undefined && NO_TRANSFORM.test(control);
}

function withVary(headers: PlainHeaders): PlainHeaders {
  const { vary } = headers;
  if (vary === undefined || vary === '') return { ...headers, vary: 'Accept-Encoding' };
  const names = vary.toLowerCase().split(/\s*,\s*/);
  return names.includes('accept-encoding') || names.includes('*')
    ? headers
    : { ...headers, vary: `${vary}, Accept-Encoding` };
}

/** With the headers of the compressed response: without what holds for the plain bytes only. */
function coded(plain: PlainResponse, coding: Coding): PlainResponse {
  const { 'content-length': _length, 'content-md5': _md5, 'accept-ranges': _ranges, ...others } = plain.headers;
  const { etag } = others;
  const headers = { ...others, 'content-encoding': coding, ...(etag === undefined ? {} : { etag: weak(etag) }) };
  return { ...plain, headers };
}

/** The same tag may not stand for different bytes (RFC 9110, 8.8.3), except where it names a revision. */
function weak(tag: string): string {
  return tag.startsWith('W/') || REVISION_TAG.test(tag) ? tag : `W/${tag}`;
}

/** The response to HEAD: its length is not known, since nothing is compressed for it. */
function discarded(response: PlainResponse): MaybePromise<PlainResponse> {
  const { body } = response;
  if (body === null || typeof body === 'string' || body instanceof Uint8Array) return { ...response, body: null };
  return { ...response, body: { pull: () => body.pull(), cancel: (reason) => body.cancel(reason) } };
}

function compressAtOnce(bytes: Uint8Array, coding: Coding): Uint8Array {
  const { ofBrotli, ofGzip } = wholeOptions(bytes.length);
  return coding === 'br' ? brotliCompressSync(bytes, ofBrotli) : gzipSync(bytes, ofGzip);
}

/** In another thread. */
function compressElsewhere(bytes: Uint8Array, coding: Coding): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const { ofBrotli, ofGzip } = wholeOptions(bytes.length);
    const settle = (error: Error | null, short: Buffer) => (error === null ? resolve(short) : reject(error));
    if (coding === 'br') brotliCompress(bytes, ofBrotli, settle);
    else gzip(bytes, ofGzip, settle);
  });
}
