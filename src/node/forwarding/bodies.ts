/** Bodies as they are sent to another process: whole, if they are small, or as streams. */
import type { ByteStream, RequestBody } from '../../base/shared/message.ts';
import { MAX_WHOLE_BYTES } from './frames.ts';

/** Null for no body; undefined for one that has to be streamed. */
export function toWhole(body: RequestBody): Uint8Array | null | undefined {
  if (body === null) return null;
  if (body instanceof Uint8Array) return body.length <= MAX_WHOLE_BYTES ? body : undefined;
  if (typeof body !== 'string' || body.length > MAX_WHOLE_BYTES / 4) return undefined;
  return Buffer.from(body);
}

export function toStream(body: RequestBody): ByteStream | undefined {
  if (body === null) return undefined;
  if (typeof body === 'string') return new PieceStream(Buffer.from(body));
  if (body instanceof Uint8Array) return new PieceStream(body);
  return body instanceof Blob ? new BlobStream(body) : body;
}

class PieceStream implements ByteStream {
  readonly length: number;
  #bytes: Uint8Array | undefined;

  constructor(bytes: Uint8Array) {
    this.length = bytes.length;
    this.#bytes = bytes;
  }

  async pull(): Promise<Uint8Array | undefined> {
    const bytes = this.#bytes;
    this.#bytes = undefined;
    return bytes;
  }

  async cancel(): Promise<void> {
    this.#bytes = undefined;
  }
}

class BlobStream implements ByteStream {
  readonly length: number;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;

  constructor(blob: Blob) {
    this.length = blob.size;
    this.#reader = blob.stream().getReader();
  }

  async pull(): Promise<Uint8Array | undefined> {
    return (await this.#reader.read()).value;
  }

  cancel(reason?: unknown): Promise<void> {
    return this.#reader.cancel(reason);
  }
}
