/** The answer to `GET /{db}/{docid}/{attachment}`: all of it, one part, or several (docs/http.md#reading-an-attachment). */
import { ChunkStream, plainBytes, storedBytes } from '../../attachments/outgoing.ts';
import type { AttachmentReader, StoredBytes } from '../../database/contract.ts';
import { hexToBase64 } from '../../documents/attachments/digests.ts';
import type { StoredAttachment } from '../../documents/contract.ts';
import type { ResponseBody } from '../../shared/message.ts';
import { acceptsCoding } from '../request/accept.ts';
import type { Answer, Context } from '../request/context.ts';
import { matchesTag } from '../response/etags.ts';
import { headerText } from '../response/header-text.ts';
import { MUST_REVALIDATE, notModified } from '../response/responses.ts';
import { sandboxed } from '../response/sandboxing.ts';
import { type ByteRange, parseRanges } from './byte-ranges.ts';

/** Bytes that are read before a slow reader asks for them, beside what every stream holds. */
const READ_AHEAD_BYTES = 786_432;

/** Takes over the reader: it is released when the answer was read, or at once where it has no body. */
export function attachmentAnswer(context: Context, attachment: StoredAttachment, reader: AttachmentReader): Answer {
  const answer = new AttachmentAnswer(context, attachment, reader);
  try {
    return answer.make();
  } catch (failure) {
    reader.release();
    throw failure;
  }
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
    if (matchesTag(this.#context.header('if-none-match'), this.#tag)) {
      this.#reader.release();
      return notModified(this.#tag);
    }
    if (this.#reader.stored.encoding !== undefined) return this.#encoded();
    const ranges = this.#ranges();
    if (ranges === undefined) return this.#whole();
    const [only] = ranges;
    return ranges.length === 1 && only !== undefined ? this.#part(only) : this.#parts(ranges);
  }

  /** Of HEAD the range is passed over (RFC 9110, 14.2). */
  #ranges(): readonly ByteRange[] | undefined {
    const ifRange = this.#context.header('if-range');
    if (this.#context.isHead || (ifRange !== undefined && ifRange.trim() !== this.#tag)) return undefined;
    return parseRanges(this.#context.header('range'), this.#length);
  }

  get #length(): number {
    return this.#reader.stored.storedLength;
  }

  /** What is stored compressed has no ranges: it goes as it is to those who take gzip, and decoded to the others. */
  #encoded(): Answer {
    const takesGzip = acceptsCoding(this.#context.header('accept-encoding'), 'gzip');
    const headers = { ...this.#headers('none'), vary: 'accept-encoding' };
    if (!takesGzip) return this.#answer(200, headers, plainBytes(this.#reader), this.#reader.stored.length);
    const encoded = { ...headers, 'content-encoding': 'gzip', ...this.#md5() };
    return this.#answer(200, encoded, storedBytes(this.#reader), this.#length);
  }

  #whole(): Answer {
    return this.#answer(200, { ...this.#headers('bytes'), ...this.#md5() }, storedBytes(this.#reader), this.#length);
  }

  #part({ first, last }: ByteRange): Answer {
    const headers = { ...this.#headers('bytes'), 'content-range': this.#contentRange({ first, last }) };
    return this.#answer(206, headers, this.#reader.read(first, last + 1), last + 1 - first);
  }

  #parts(ranges: readonly ByteRange[]): Answer {
    const boundary = this.#context.services.uuids.random();
    const type = `multipart/byteranges; boundary="${boundary}"`;
    const headers = { ...this.#headers('bytes'), 'content-type': type };
    return this.#answer(206, headers, this.#multipart(boundary, ranges), undefined);
  }

  /** RFC 9110, 14.6. */
  async *#multipart(boundary: string, ranges: readonly ByteRange[]): AsyncGenerator<Uint8Array> {
    const encoder = new TextEncoder();
    const { contentType } = this.#attachment;
    for (const range of ranges) {
      const head = `Content-Type: ${headerText(contentType)}\r\nContent-Range: ${this.#contentRange(range)}`;
      yield encoder.encode(`\r\n--${boundary}\r\n${head}\r\n\r\n`);
      yield* this.#reader.read(range.first, range.last + 1);
    }
    yield encoder.encode(`\r\n--${boundary}--`);
  }

  #contentRange({ first, last }: ByteRange): string {
    return `bytes ${first}-${last}/${this.#length}`;
  }

  #headers(ranges: 'bytes' | 'none'): Record<string, string> {
    return {
      'content-type': headerText(this.#attachment.contentType),
      etag: this.#tag,
      'accept-ranges': ranges,
      'cache-control': MUST_REVALIDATE,
    };
  }

  /** Only where the bytes that are sent are those whose digest it is. */
  #md5(): { readonly 'content-md5': string } {
    return { 'content-md5': hexToBase64(this.#attachment.digest) };
  }

  #answer(
    status: number,
    headers: Record<string, string>,
    chunks: AsyncIterable<Uint8Array>,
    length: number | undefined,
  ): Answer {
    const sized = length === undefined ? headers : { ...headers, 'content-length': String(length) };
    const answer = { status, headers: sized, body: this.#body(chunks, length) };
    return sandboxed(answer, this.#context.services.config, 'attachments');
  }

  #body(chunks: AsyncIterable<Uint8Array>, length: number | undefined): ResponseBody {
    if (this.#context.isHead) {
      this.#reader.release();
      return null;
    }
    this.#context.countStream(Math.min(length ?? READ_AHEAD_BYTES, READ_AHEAD_BYTES));
    return new ChunkStream(chunks, length, () => this.#reader.release());
  }
}

/** The digest; where another attachment has it too, whose content differs, it must not be taken for that one's. */
function tagOf({ digest, isGzipOfOther }: StoredBytes): string {
  return `"${hexToBase64(digest)}${isGzipOfOther === true ? '-file' : ''}"`;
}
