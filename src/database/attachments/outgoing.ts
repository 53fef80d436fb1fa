/** Sends out the bytes of attachments. */
import { joinBytes } from '../../base/shared/bytes.ts';
import type { ByteStream } from '../../base/shared/message.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import type { AttachmentReader } from '../store/contract.ts';
import { decompress } from './gzip-stream.ts';

/** The bytes without their encoding. */
export function plainBytes(reader: AttachmentReader): AsyncIterable<Uint8Array> {
  const stored = storedBytes(reader);
  return reader.stored.encoding === undefined ? stored : decompress(stored);
}

export function storedBytes(reader: AttachmentReader): AsyncIterable<Uint8Array> {
  return reader.read(0, reader.stored.storedLength);
}

/** A chunk of this many bytes or more is passed on as it is. */
const CHUNK_BYTES = 16_384;

/**
 * A stream of chunks that joins small ones. `release` is called once: at the end, after a failure, or when the reader stops.
 */
export class ChunkStream implements ByteStream {
  readonly length?: number;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #release: () => void;
  /** A reader that always takes the available chunks would hold the thread to the end: promises alone let no other task run. */
  readonly #timeSlice = new TimeSlice();
  #isOver = false;

  constructor(chunks: AsyncIterable<Uint8Array>, length: number | undefined, release: () => void) {
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.#release = release;
    if (length !== undefined) this.length = length;
  }

  async pull(): Promise<Uint8Array | undefined> {
    const parts: Uint8Array[] = [];
    let bytes = 0;
    try {
      while (bytes < CHUNK_BYTES && !this.#isOver) {
        if (this.#timeSlice.isDue) await this.#timeSlice.rest();
        const step = await this.#chunks.next();
        if (step.done === true) this.#end();
        else {
          parts.push(step.value);
          bytes += step.value.length;
        }
      }
    } catch (failure) {
      this.#end();
      throw failure;
    }
    return parts.length < 2 ? parts[0] : joinBytes(parts);
  }

  async cancel(): Promise<void> {
    if (this.#isOver) return;
    this.#end();
    await this.#chunks.return?.();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#release();
  }
}

const NOTHING = new Uint8Array();

/**
 * Reads ranges of an attachment that is stored compressed, as plain bytes. Gzip can only be read from its beginning, so everything before a range is inflated and skipped; nothing after its last byte is read.
 * Ranges in ascending order share one pass. At most one chunk is held.
 */
export class PlainParts {
  readonly #reader: AttachmentReader;
  #chunks: AsyncIterator<Uint8Array> | undefined;
  /** Inflated bytes that were not returned yet. */
  #rest: Uint8Array = NOTHING;
  /** The position of `#rest`. */
  #at = 0;
  #isStopped = false;

  constructor(reader: AttachmentReader) {
    this.#reader = reader;
  }

  /** The plain bytes from `from` up to `to` (exclusive). Only one range at a time. */
  async *read(from: number, to: number): AsyncGenerator<Uint8Array> {
    if (from < this.#at) await this.#close();
    this.#chunks ??= plainBytes(this.#reader)[Symbol.asyncIterator]();
    const timeSlice = new TimeSlice();
    while (this.#at < to && !this.#isStopped) {
      this.#take(from - this.#at);
      const part = this.#at < from ? NOTHING : this.#take(to - this.#at);
      if (part.length > 0) yield part;
      if (this.#at === to) return;
      if (timeSlice.isDue) await timeSlice.rest();
      const step = await this.#chunks.next();
      if (step.done === true) return;
      this.#rest = step.value;
    }
  }

  /** Ends the reading, even while bytes are being skipped: that ends with the present chunk. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#close();
  }

  #take(count: number): Uint8Array {
    const taken = this.#rest.subarray(0, Math.max(0, count));
    this.#rest = this.#rest.subarray(taken.length);
    this.#at += taken.length;
    return taken;
  }

  async #close(): Promise<void> {
    const chunks = this.#chunks;
    this.#chunks = undefined;
    this.#rest = NOTHING;
    this.#at = 0;
    await chunks?.return?.();
  }
}
