/** Gives the bytes of attachments out. */
import type { AttachmentReader } from '../database/contract.ts';
import type { ByteStream } from '../shared/message.ts';
import { decompress } from './gzip-stream.ts';

/** The bytes without their encoding. */
export function plainBytes(reader: AttachmentReader): AsyncIterable<Uint8Array> {
  const stored = storedBytes(reader);
  return reader.stored.encoding === undefined ? stored : decompress(stored);
}

export function storedBytes(reader: AttachmentReader): AsyncIterable<Uint8Array> {
  return reader.read(0, reader.stored.storedLength);
}

/** Chunks as a stream. `release` is called once: at the end, after a failure, or when nobody reads on. */
export class ChunkStream implements ByteStream {
  readonly length?: number;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #release: () => void;
  #isOver = false;

  constructor(chunks: AsyncIterable<Uint8Array>, length: number | undefined, release: () => void) {
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.#release = release;
    if (length !== undefined) this.length = length;
  }

  async pull(): Promise<Uint8Array | undefined> {
    if (this.#isOver) return undefined;
    try {
      const step = await this.#chunks.next();
      if (step.done !== true) return step.value;
      this.#end();
      return undefined;
    } catch (failure) {
      this.#end();
      throw failure;
    }
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
