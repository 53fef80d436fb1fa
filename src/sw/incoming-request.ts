/** Turns what a page fetches into a plain request. */
import { type MaybePromise, whenReady } from '../shared/maybe-promise.ts';
import type { PlainRequest } from '../shared/message.ts';

/** Bodies beyond this travel as a Blob: the browser hands it over without a copy, and may keep it on disk. */
const INLINE_BYTES = 1_048_576;

/** What browsers add for the network, some before and some behind the service worker: nothing here has been on its way over one. */
const NETWORK_HEADERS = ['origin', 'sec-fetch-dest', 'sec-fetch-mode', 'sec-fetch-site', 'sec-fetch-user'];

/**
 * In the same turn where there is no body. Rejects where the body can't be read. The request's signal is left out: no browser fires it in
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
 * Whether a page of another origin may have sent a form: no other request of such a page gets here, but for links that are followed. The
 * browser says nothing of the origin here, so the referrer has to. A page can keep it back; what has none is taken for foreign.
 */
function isForeignForm({ mode, method, referrer, url }: Request): boolean {
  if (mode !== 'navigate' || method === 'GET' || method === 'HEAD') return false;
  return !referrer.startsWith(`${new URL(url).origin}/`);
}

/** Forms have to say which page sent them (docs/http.md#form-uploads), which no browser tells here; it was one of this origin. */
function isForm(headers: Readonly<Record<string, string>>): boolean {
  return headers['content-type']?.startsWith('multipart/form-data') === true;
}

function withoutFragment(url: string): string {
  const hash = url.indexOf('#');
  return hash < 0 ? url : url.slice(0, hash);
}

async function bodyOf(request: Request): Promise<Uint8Array | Blob | null> {
  const { body } = request;
  if (body === null) return null;
  // Firefox has no streams in requests (https://bugzilla.mozilla.org/show_bug.cgi?id=1387483).
  return body === undefined ? fromBlob(await request.blob()) : collect(body);
}

async function fromBlob(blob: Blob): Promise<Uint8Array | Blob | null> {
  if (blob.size === 0) return null;
  return blob.size <= INLINE_BYTES ? new Uint8Array(await blob.arrayBuffer()) : blob;
}

/** Beyond what fits inline every so many bytes become a Blob of their own, so that this thread holds no more than that. */
async function collect(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<Uint8Array | Blob> {
  const reader = stream.getReader();
  const parts: Blob[] = [];
  let chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return parts.length === 0 ? join(chunks, size) : new Blob([...parts, ...chunks]);
    chunks.push(value);
    size += value.byteLength;
    if (size > INLINE_BYTES) {
      parts.push(new Blob(chunks));
      chunks = [];
      size = 0;
    }
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
