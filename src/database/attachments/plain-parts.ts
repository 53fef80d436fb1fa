/** Reads ranges of attachments that are stored compressed, as plain bytes. */

import { TimeSlice } from '../../base/shared/turn.ts';
import type { AttachmentReader } from '../store/contract.ts';
import { plainBytes } from './outgoing.ts';

const NOTHING = new Uint8Array();

/**
 * Gzip can only be read from its beginning, so everything before a range is inflated and skipped; nothing after its last byte is read.
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
