/** Turns a page's fetch into a plain request. */
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { ByteStream, PlainRequest, RequestBody } from '../../base/shared/message.ts';

/** Bodies beyond this travel as a Blob: the browser hands it over without a copy, and may keep it on disk. */
const INLINE_BYTES = 1_048_576;
/**
 * Larger bodies travel as a stream: for such a request the owner does not detect whether it was sent twice (`browser/bridge/link/repeated-writes.ts`),
 * so nothing is gained by having it whole. Chromium has room for some hundreds of megabytes of Blobs, and then fails all of them.
 */
const BLOB_BYTES = 16 * INLINE_BYTES;

/** Headers that browsers add for the network, some before and some after the service worker: no request here has been on a network. */
const NETWORK_HEADERS = ['origin', 'sec-fetch-dest', 'sec-fetch-mode', 'sec-fetch-site', 'sec-fetch-user'];

/**
 * Answers in the same turn if there is no body. Rejects if the body can't be read. The request's signal is left out: no browser fires it in
 * a service worker.
 */
export function toPlainRequest(request: Request): MaybePromise<PlainRequest> {
  const { method, url, credentials } = request;
  const headers = Object.fromEntries(request.headers);
  for (const name of NETWORK_HEADERS) delete headers[name];
  if (isForeignForm(request)) headers['sec-fetch-site'] = 'cross-site';
  else if (isForm(headers)) headers['referer'] = url;
  if (credentials === 'omit') headers['settee-credentials'] = credentials;
  const body = method === 'GET' || method === 'HEAD' ? null : bodyOf(request);
  return whenReady(body, (sent) => ({ method, url: withoutFragment(url), headers, body: sent }));
}

/**
 * Whether a page of another origin may have sent a form: no other request of such a page arrives here, except for followed links. The
 * browser does not show the origin here, so the referrer decides. A page can withhold it; a request without one counts as foreign.
 */
function isForeignForm({ mode, method, referrer, url }: Request): boolean {
  if (mode !== 'navigate' || method === 'GET' || method === 'HEAD') return false;
  return !referrer.startsWith(`${new URL(url).origin}/`);
}

/** Forms must say which page sent them (docs/http/documents.md#form-uploads), which no browser shows here; it was one of this origin. */
function isForm(headers: Readonly<Record<string, string>>): boolean {
  return headers['content-type']?.startsWith('multipart/form-data') === true;
}

function withoutFragment(url: string): string {
  const hash = url.indexOf('#');
  return hash < 0 ? url : url.slice(0, hash);
}

async function bodyOf(request: Request): Promise<Exclude<RequestBody, string>> {
  const { body } = request;
  if (body === null) return null;
  // Firefox has no streams in requests (https://bugzilla.mozilla.org/show_bug.cgi?id=1387483).
  return body === undefined ? fromBlob(await request.blob()) : collect(body.getReader());
}

async function fromBlob(blob: Blob): Promise<Uint8Array | Blob | null> {
  if (blob.size === 0) return null;
  return blob.size <= INLINE_BYTES ? new Uint8Array(await blob.arrayBuffer()) : blob;
}

type Reader = ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;

/** Beyond the inline size, every part of this many bytes becomes a Blob of its own, so that this thread holds no more than that. */
async function collect(reader: Reader): Promise<Uint8Array | Blob | ByteStream> {
  const parts: Blob[] = [];
  for (let size = 0; size <= BLOB_BYTES; ) {
    const { chunks, bytes, isLast } = await readPart(reader);
    if (isLast) return parts.length === 0 ? join(chunks, bytes) : new Blob([...parts, ...chunks]);
    parts.push(new Blob(chunks));
    size += bytes;
  }
  return new RestOfBody(parts, reader);
}

interface Part {
  readonly chunks: Uint8Array<ArrayBuffer>[];
  readonly bytes: number;
  /** Whether nothing follows it. */
  readonly isLast: boolean;
}

/** Just more than fits inline, or everything that is left. */
async function readPart(reader: Reader): Promise<Part> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for (let bytes = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return { chunks, bytes, isLast: true };
    chunks.push(value);
    bytes += value.byteLength;
    if (bytes > INLINE_BYTES) return { chunks, bytes, isLast: false };
  }
}

/** A body whose beginning was already read. */
class RestOfBody implements ByteStream {
  /** The request is for this service worker alone. */
  readonly isMovable = true;
  readonly #beginning: Blob[];
  readonly #reader: Reader;

  constructor(beginning: Blob[], reader: Reader) {
    this.#beginning = beginning;
    this.#reader = reader;
  }

  async pull(): Promise<Uint8Array | undefined> {
    const first = this.#beginning.shift();
    if (first !== undefined) return new Uint8Array(await first.arrayBuffer());
    const { done, value } = await this.#reader.read();
    return done ? undefined : value;
  }

  async cancel(reason?: unknown): Promise<void> {
    this.#beginning.length = 0;
    await this.#reader.cancel(reason);
  }
}

function join(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const [only] = chunks;
  if (only !== undefined && chunks.length === 1) return only;
  const joined = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    joined.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return joined;
}
