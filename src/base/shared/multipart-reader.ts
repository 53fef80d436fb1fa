/** Reads multipart bodies part by part, as they arrive (RFC 2046, 5.1). */
import type { PlainHeaders } from './message.ts';
import { TimeSlice } from './turn.ts';

export interface IncomingPart {
  /** Names in lower case. */
  readonly headers: PlainHeaders;
  /** The part's content. The next request for a part skips what was not read. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** Maximum for one part. */
const MAX_HEADER_BYTES = 16_384;
const BOUNDARY = /;\s*boundary\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/i;
/** Some senders don't escape quotes within a name, so such a name would be taken for another one. */
const FILE_NAME = /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"(?=\s*(?:;|$))|([^\s;"]+))/i;
const FIELD_NAME = /;\s*name\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/i;
const LINE_END = Uint8Array.of(0x0d, 0x0a);
const HEADERS_END = Uint8Array.of(0x0d, 0x0a, 0x0d, 0x0a);
const HYPHEN = 0x2d;

/** Returns the boundary that a content type names; undefined if it names none. */
export function boundaryOf(contentType: string): string | undefined {
  const boundary = parameterOf(BOUNDARY, contentType);
  return boundary === '' ? undefined : boundary;
}

/** Returns the `filename` of a `Content-Disposition`, if there is one. */
export function fileNameOf(disposition: string | undefined): string | undefined {
  return disposition === undefined ? undefined : parameterOf(FILE_NAME, disposition);
}

function parameterOf(pattern: RegExp, header: string): string | undefined {
  const [, quoted, token] = pattern.exec(header) ?? [];
  return quoted?.replace(/\\(.)/g, '$1') ?? token;
}

/** Returns the `name` of a form's part, if there is one. */
export function nameOf(disposition: string | undefined): string | undefined {
  return disposition === undefined ? undefined : parameterOf(FIELD_NAME, disposition);
}

/** Makes the error for a body that can't be read, from the reason. */
type MultipartFailure = (reason: string) => Error;

/** Yields the parts in their order. Fails with the error that `failure` makes if the body ends before its last boundary. */
export async function* readParts(
  source: AsyncIterable<Uint8Array>,
  boundary: string,
  failure: MultipartFailure,
): AsyncGenerator<IncomingPart, void, void> {
  const input = new Input(source, failure);
  const delimiter = new TextEncoder().encode(`\r\n--${boundary}`);
  const timeSlice = new TimeSlice();
  // Text before the first boundary has no meaning.
  await skip(input.until(delimiter));
  while (!(await input.isLast())) {
    // A body may have very many parts with nothing in them.
    if (timeSlice.isDue) await timeSlice.rest();
    await skip(input.until(LINE_END));
    const headers = parseHeaders(await input.headers());
    const chunks = input.until(delimiter);
    yield { headers, chunks };
    await skip(chunks);
  }
}

async function skip(chunks: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of chunks);
}

function parseHeaders(bytes: Uint8Array): PlainHeaders {
  const headers: Record<string, string> = {};
  const lines = new TextDecoder().decode(bytes).replace(/\r\n[\t ]+/g, ' ');
  for (const line of lines.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) headers[line.slice(0, colon).trim().toLowerCase()] = line.slice(colon + 1).trim();
  }
  return headers;
}

/** The bytes as they arrive, with those that were not consumed yet. */
class Input {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #failure: MultipartFailure;
  /** Begins with the line end that a boundary at the very beginning lacks. */
  #bytes: Uint8Array = LINE_END;

  constructor(source: AsyncIterable<Uint8Array>, failure: MultipartFailure) {
    this.#failure = failure;
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Yields what precedes the pattern; skips the pattern as well. */
  async *until(pattern: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
    for (;;) {
      const end = indexOf(this.#bytes, pattern, 0);
      if (end >= 0) {
        const before = this.#take(end);
        this.#take(pattern.length);
        if (before.length > 0) yield before;
        return;
      }
      // The pattern may have begun in what is left.
      const sure = this.#take(this.#bytes.length - pattern.length + 1);
      if (sure.length > 0) yield sure;
      await this.#more();
    }
  }

  /** Returns whether the boundary that was skipped is the last one. */
  async isLast(): Promise<boolean> {
    while (this.#bytes.length < 2) await this.#more();
    return this.#bytes[0] === HYPHEN && this.#bytes[1] === HYPHEN;
  }

  /** Returns the lines up to the empty one. */
  async headers(): Promise<Uint8Array> {
    while (this.#bytes.length < LINE_END.length) await this.#more();
    if (indexOf(this.#bytes, LINE_END, 0) === 0) return this.#take(LINE_END.length);
    for (;;) {
      const end = indexOf(this.#bytes, HEADERS_END, 0);
      if (end >= 0) {
        const lines = this.#take(end);
        this.#take(HEADERS_END.length);
        return lines;
      }
      if (this.#bytes.length > MAX_HEADER_BYTES) {
        throw this.#failure('The headers of a part have more than 16 kB');
      }
      await this.#more();
    }
  }

  #take(count: number): Uint8Array {
    const end = Math.max(0, count);
    const taken = this.#bytes.subarray(0, end);
    this.#bytes = this.#bytes.subarray(end);
    return taken;
  }

  async #more(): Promise<void> {
    const step = await this.#source.next();
    if (step.done === true) throw this.#failure('The multipart body ended before its last boundary');
    const bytes = new Uint8Array(this.#bytes.length + step.value.length);
    bytes.set(this.#bytes);
    bytes.set(step.value, this.#bytes.length);
    this.#bytes = bytes;
  }
}

function indexOf(bytes: Uint8Array, pattern: Uint8Array, from: number): number {
  const [first = 0] = pattern;
  for (let at = bytes.indexOf(first, from); at >= 0; at = bytes.indexOf(first, at + 1)) {
    if (at + pattern.length > bytes.length) return -1;
    let length = 1;
    while (length < pattern.length && bytes[at + length] === pattern[length]) length++;
    if (length === pattern.length) return at;
  }
  return -1;
}
