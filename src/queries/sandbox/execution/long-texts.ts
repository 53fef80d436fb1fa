/**
 * Long texts on their way to a worker: they are sent as bytes, which are encoded in steps and transferred without being copied, and few are
 * in transit at a time. For each a worker takes several times its length.
 */
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import { LONG_STEP } from '../../../base/shared/turn.ts';

/** UTF-8 in pieces, none of which ends within a character. */
export type TextBytes = readonly Uint8Array<ArrayBuffer>[];

/** What a call passes to its isolate. */
export type CallText = string | TextBytes;

/** Calls with more characters are sent as bytes. */
export const LONG_CALL = 1024 * 1024;
/** At most this many characters of long calls are in transit, or a single call that has more. */
const MAX_IN_PROGRESS = 16 * 1024 * 1024;
const PIECE = 1024 * 1024;

export function lengthOfText(text: CallText): number {
  return typeof text === 'string' ? text.length : text.reduce((sum, { length }) => sum + length, 0);
}

export function* allToBytes(texts: readonly CallText[]): CooperativeTask<readonly CallText[]> {
  const all: CallText[] = [];
  for (const text of texts) all.push(yield* toBytes(text));
  return all;
}

/** Encodes a text. A short one stays as it is. */
function* toBytes(text: CallText): CooperativeTask<CallText> {
  if (typeof text !== 'string' || text.length <= PIECE) return text;
  const encoder = new TextEncoder();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  // A text that was concatenated from others becomes one when it is cut.
  yield LONG_STEP;
  for (let from = 0; from < text.length; ) {
    const next = from + PIECE;
    const to = isHighSurrogate(text.charCodeAt(next - 1)) ? next + 1 : next;
    pieces.push(encoder.encode(text.slice(from, to)));
    from = to;
    yield;
  }
  return pieces;
}

/** Assembles a text from pieces, none of which ends within a character. A long one becomes bytes as it arrives. */
export class CallTextBuilder {
  readonly #encoder = new TextEncoder();
  readonly #bytes: Uint8Array<ArrayBuffer>[] = [];
  #text = '';

  add(piece: string): void {
    this.#text += piece;
    if (this.#text.length >= PIECE) this.#encode();
  }

  end(): CallText {
    if (this.#bytes.length === 0) return this.#text;
    this.#encode();
    return this.#bytes;
  }

  #encode(): void {
    if (this.#text !== '') this.#bytes.push(this.#encoder.encode(this.#text));
    this.#text = '';
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}

/** Returns the buffers that can be transferred. */
export function buffersOf(texts: readonly CallText[]): ArrayBuffer[] {
  return texts.flatMap((text) => (typeof text === 'string' ? [] : text.map(({ buffer }) => buffer)));
}

/** Makes calls wait while too much is in transit, in the order in which they came. */
export class LongCalls {
  #underWay = 0;
  readonly #waiting: { readonly length: number; readonly begin: () => void }[] = [];

  async run<T>(length: number, call: () => Promise<T>): Promise<T> {
    if (this.#waiting.length > 0 || !this.#fits(length)) {
      await new Promise<void>((begin) => this.#waiting.push({ length, begin }));
    } else {
      this.#underWay += length;
    }
    try {
      return await call();
    } finally {
      this.#underWay -= length;
      this.#serve();
    }
  }

  #fits(length: number): boolean {
    return this.#underWay === 0 || this.#underWay + length <= MAX_IN_PROGRESS;
  }

  #serve(): void {
    for (let [next] = this.#waiting; next !== undefined && this.#fits(next.length); [next] = this.#waiting) {
      this.#waiting.shift();
      this.#underWay += next.length;
      next.begin();
    }
  }
}
