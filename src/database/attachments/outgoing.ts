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
