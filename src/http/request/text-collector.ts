import { DatabaseError } from '../../base/errors/database-error.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { CooperativeTask } from '../../base/shared/turn.ts';
import { putTogether } from '../../base/shared/utf8.ts';
import { type BodyBound, tooLarge } from './body-bounds.ts';
import type { Collector } from './byte-collector.ts';

/** Builds the text from UTF-8 chunks as they arrive, so that their bytes need not be kept as well. */
export class TextCollector implements Collector {
  readonly #bound: BodyBound;
  readonly #grow: (bytes: number) => MaybePromise<void>;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  #text = '';
  #length = 0;

  /** `grow` counts bytes, and resolves when more may be added. */
  constructor(bound: BodyBound, grow: (bytes: number) => MaybePromise<void>) {
    this.#bound = bound;
    this.#grow = grow;
  }

  /** Fails with `too_large`, as `grow` does, and with `bad_request` if the bytes are not UTF-8. */
  async add(chunk: Uint8Array): Promise<void> {
    this.#length += chunk.length;
    if (this.#length > this.#bound.bytes) throw tooLarge(this.#bound);
    this.#text += this.#decode(chunk);
    await this.#grow(chunk.length);
  }

  /** Returns the whole text, once. Fails with `bad_request` if it ends in the middle of a character. */
  *take(): CooperativeTask<string> {
    const text = this.#text + this.#decode();
    this.#text = '';
    yield* putTogether(text);
    return text;
  }

  #decode(chunk?: Uint8Array): string {
    try {
      return this.#decoder.decode(chunk, { stream: chunk !== undefined });
    } catch (cause) {
      throw new DatabaseError('bad_request', 'invalid_json', { cause });
    }
  }
}
