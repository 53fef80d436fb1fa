/** The response to `GET /{db}/{docid}/{attachment}`: all of it, one part, or several (docs/http/attachments.md#reading-an-attachment). */

import type { ResponseBody } from '../../base/shared/message.ts';
import { ChunkStream, PlainParts, plainBytes, storedBytes } from '../../database/attachments/outgoing.ts';
import type { StoredAttachment } from '../../database/documents/contract.ts';
import { hexToBase64 } from '../../database/documents/stored-attachments.ts';
import type { AttachmentReader, StoredBytes } from '../../database/store/contract.ts';
import { acceptsCoding } from '../request/accept.ts';
import type { Answer, Context } from '../request/context.ts';
import { RangeNotSatisfiable } from '../response/error-table.ts';
import { headerText, MUST_REVALIDATE, matchesTag, notModified } from '../response/responses.ts';
import { sandboxed } from '../response/sandboxing.ts';

/** Which bytes of an attachment a request asks for (docs/http/attachments.md#ranges-of-attachments; RFC 9110, 14.1.2). */
/** From the first byte to the last, both inclusive. */
interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** A request for more parts than this gets the whole. */
const MAX_RANGES = 9;
const HEADER = /^bytes\s*=\s*(.*)$/i;
const RANGE = /^(\d*)\s*-\s*(\d*)$/;

/**
 * Returns the parts of `length` bytes that the header `Range` names, in its order. Returns undefined if the whole is to be sent: without a
 * header, if it can't be read, or if it has too many parts. Fails with `requested_range_not_satisfiable` if a part ends before it begins,
 * or if none of them has a byte.
 */
function parseRanges(header: string | undefined, length: number): readonly ByteRange[] | undefined {
  const list = HEADER.exec(header?.trim() ?? '')?.[1]?.split(',');
  if (list === undefined || list.length > MAX_RANGES) return undefined;
  const ranges: ByteRange[] = [];
  for (const part of list) {
    const [, from, to] = RANGE.exec(part.trim()) ?? [];
    if (from === undefined || to === undefined || (from === '' && to === '')) return undefined;
    const range =
      from === '' ? suffix(Number(to), length) : between(Number(from), to === '' ? length : Number(to), length);
    if (range !== undefined) ranges.push(range);
  }
  if (ranges.length === 0) throw new RangeNotSatisfiable(length);
  return ranges;
}

/** How many passes from the beginning it takes to send these parts in their order. */
function passesOf(ranges: readonly ByteRange[]): number {
  return ranges.filter(({ first }, index) => first <= (ranges[index - 1]?.last ?? first)).length;
}

function suffix(count: number, length: number): ByteRange | undefined {
  return count === 0 || length === 0 ? undefined : { first: Math.max(length - count, 0), last: length - 1 };
}

function between(first: number, last: number, length: number): ByteRange | undefined {
  if (last < first) throw new RangeNotSatisfiable(length);
  return first >= length ? undefined : { first, last: Math.min(last, length - 1) };
}

/** Bytes read ahead of a slow reader, in addition to what every stream holds. */
const READ_AHEAD_BYTES = 786_432;
/** How often one request may inflate a compressed attachment. If its ranges need more passes, the response is the whole. */
const MAX_PASSES = 3;

/** Takes over the reader: releases it when the response has been read, or at once if it has no body. */
export function attachmentAnswer(context: Context, attachment: StoredAttachment, reader: AttachmentReader): Answer {
  const answer = new AttachmentAnswer(context, attachment, reader);
  try {
    return answer.make();
  } catch (failure) {
    reader.release();
    throw failure;
  }
}

/** Reads some of the plain (not encoded) bytes. */
interface PartReader {
  read(from: number, to: number): AsyncIterable<Uint8Array>;
  /** Called when no one reads on. */
  stop?(): Promise<void>;
}

class AttachmentAnswer {
  readonly #context: Context;
  readonly #attachment: StoredAttachment;
  readonly #reader: AttachmentReader;
  readonly #tag: string;

  constructor(context: Context, attachment: StoredAttachment, reader: AttachmentReader) {
    this.#context = context;
    this.#attachment = attachment;
    this.#reader = reader;
    this.#tag = tagOf(reader.stored);
  }

  make(): Answer {
    const known = [this.#tag, this.#plainTag].find((tag) => matchesTag(this.#context.header('if-none-match'), tag));
    if (known !== undefined) {
      this.#reader.release();
      return notModified(known, this.#isEncoded ? 'accept-encoding' : undefined);
    }
    const ranges = this.#ranges();
    if (ranges === undefined) return this.#isEncoded ? this.#encoded() : this.#whole();
    const parts = this.#isEncoded ? new PlainParts(this.#reader) : this.#reader;
    const [only] = ranges;
    return ranges.length === 1 && only !== undefined ? this.#part(parts, only) : this.#parts(parts, ranges);
  }

  get #isEncoded(): boolean {
    return this.#reader.stored.encoding !== undefined;
  }

  /** Ignores the range of a HEAD request (RFC 9110, 14.2). */
  #ranges(): readonly ByteRange[] | undefined {
    const ifRange = this.#context.header('if-range')?.trim();
    if (this.#context.isHead || (ifRange !== undefined && !this.#tagsOfPlain.includes(ifRange))) return undefined;
    const ranges = parseRanges(this.#context.header('range'), this.#length);
    return ranges !== undefined && this.#isEncoded && passesOf(ranges) > MAX_PASSES ? undefined : ranges;
  }

  /** Length of the plain bytes, which ranges refer to. */
  get #length(): number {
    return this.#reader.stored.length;
  }

  get #takesGzip(): boolean {
    return acceptsCoding(this.#context.header('accept-encoding'), 'gzip');
  }

  /**
   * The tag of the plain bytes for a client that would get the whole as gzip. If both had the same tag, it could append a part to the beginning
   * of the gzip (RFC 9110, 8.8.3.3 and 15.3.7.3).
   */
  get #plainTag(): string {
    return this.#isEncoded ? `${this.#tag.slice(0, -1)}-plain"` : this.#tag;
  }

  /** The tags by which this client knows the plain bytes. If it accepts gzip, the simple tag means the gzip. */
  get #tagsOfPlain(): readonly string[] {
    return this.#isEncoded && this.#takesGzip ? [this.#plainTag] : [this.#tag, this.#plainTag];
  }

  /** The whole of a compressed attachment: as stored for clients that accept gzip, and decoded for the others. */
  #encoded(): Answer {
    const headers = this.#headers(this.#tag);
    if (!this.#takesGzip) return this.#answer(200, headers, plainBytes(this.#reader), this.#length);
    const encoded = { ...headers, 'content-encoding': 'gzip', ...this.#md5() };
    return this.#answer(200, encoded, storedBytes(this.#reader), this.#reader.stored.storedLength);
  }

  #whole(): Answer {
    const headers = { ...this.#headers(this.#tag), ...this.#md5() };
    return this.#answer(200, headers, storedBytes(this.#reader), this.#length);
  }

  #part(parts: PartReader, { first, last }: ByteRange): Answer {
    const headers = { ...this.#partHeaders(), 'content-range': this.#contentRange({ first, last }) };
    const stop = () => parts.stop?.();
    return this.#answer(206, headers, parts.read(first, last + 1), last + 1 - first, stop);
  }

  #parts(parts: PartReader, ranges: readonly ByteRange[]): Answer {
    const boundary = this.#context.services.uuids.random();
    const type = `multipart/byteranges; boundary="${boundary}"`;
    const headers = { ...this.#partHeaders(), 'content-type': type };
    const stop = () => parts.stop?.();
    return this.#answer(206, headers, this.#multipart(parts, boundary, ranges), undefined, stop);
  }

  /** RFC 9110, 14.6. */
  async *#multipart(parts: PartReader, boundary: string, ranges: readonly ByteRange[]): AsyncGenerator<Uint8Array> {
    const encoder = new TextEncoder();
    const { contentType } = this.#attachment;
    for (const range of ranges) {
      const head = `Content-Type: ${headerText(contentType)}\r\nContent-Range: ${this.#contentRange(range)}`;
      yield encoder.encode(`\r\n--${boundary}\r\n${head}\r\n\r\n`);
      yield* parts.read(range.first, range.last + 1);
    }
    yield encoder.encode(`\r\n--${boundary}--`);
  }

  #contentRange({ first, last }: ByteRange): string {
    return `bytes ${first}-${last}/${this.#length}`;
  }

  #partHeaders(): Record<string, string> {
    return this.#headers(this.#isEncoded && this.#takesGzip ? this.#plainTag : this.#tag);
  }

  #headers(tag: string): Record<string, string> {
    return {
      'content-type': headerText(this.#attachment.contentType),
      etag: tag,
      'accept-ranges': 'bytes',
      'cache-control': MUST_REVALIDATE,
      ...(this.#isEncoded ? { vary: 'accept-encoding' } : {}),
    };
  }

  /** Used only if the bytes that are sent are those that the digest is of. */
  #md5(): { readonly 'content-md5': string } {
    return { 'content-md5': hexToBase64(this.#attachment.digest) };
  }

  #answer(
    status: number,
    headers: Record<string, string>,
    chunks: AsyncIterable<Uint8Array>,
    length: number | undefined,
    stop?: () => Promise<void> | undefined,
  ): Answer {
    const sized = length === undefined ? headers : { ...headers, 'content-length': String(length) };
    const answer = { status, headers: sized, body: this.#body(chunks, length, stop) };
    return sandboxed(answer, this.#context.services.config, 'attachments');
  }

  #body(
    chunks: AsyncIterable<Uint8Array>,
    length: number | undefined,
    stop: (() => Promise<void> | undefined) | undefined,
  ): ResponseBody {
    if (this.#context.isHead) {
      this.#reader.release();
      return null;
    }
    this.#context.countStream(Math.min(length ?? READ_AHEAD_BYTES, READ_AHEAD_BYTES));
    return new ChunkStream(chunks, length, () => {
      stop?.()?.catch(() => undefined);
      this.#reader.release();
    });
  }
}

/** The digest, marked if another attachment has the same digest but different content: the two must not be confused. */
function tagOf({ digest, isGzipOfOther }: StoredBytes): string {
  return `"${hexToBase64(digest)}${isGzipOfOther === true ? '-file' : ''}"`;
}
