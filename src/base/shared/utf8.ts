/** Texts in UTF-8: their lengths, without encoding them, and long ones. */
import { type CooperativeTask, LONG_STEP } from './turn.ts';

/** What one unit of a JavaScript string takes at most. */
const MAX_UNIT_BYTES = 3;
const FIRST_OF_TWO_BYTES = 0x80;
const FIRST_OF_THREE_BYTES = 0x800;
const FIRST_SURROGATE = 0xd800;
const LAST_HIGH_SURROGATE = 0xdbff;
const LAST_SURROGATE = 0xdfff;

/** Bytes of a well-formed text. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < FIRST_OF_TWO_BYTES) continue;
    // The two surrogates of a pair take four bytes together.
    const isShort = unit < FIRST_OF_THREE_BYTES || (unit >= FIRST_SURROGATE && unit <= LAST_SURROGATE);
    bytes += isShort ? 1 : 2;
  }
  return bytes;
}

/** Whether a well-formed text has at most so many bytes. Looks at the text only where its length leaves it open. */
export function fitsUtf8(text: string, bytes: number): boolean {
  if (text.length > bytes) return false;
  return text.length * MAX_UNIT_BYTES <= bytes || utf8Length(text) <= bytes;
}

/** Characters that are encoded in one step. */
const STEP_LENGTH = 524_288;

/** Engines put a text that was made of pieces together when somebody looks at it first, in one go: a long one has a turn to itself for that. */
export function* putTogether(text: string): CooperativeTask<void> {
  if (text.length <= STEP_LENGTH) return;
  yield LONG_STEP;
  text.charCodeAt(0);
  yield;
}

/** As `utf8Length`: others may have a turn in the middle of a long text. */
export function* utf8LengthInSteps(text: string): CooperativeTask<number> {
  yield* putTogether(text);
  let bytes = 0;
  for (const piece of wholeCharacterPieces(text, STEP_LENGTH)) {
    bytes += utf8Length(piece);
    yield;
  }
  return bytes;
}

/**
 * As a `TextEncoder` does: others may have a turn in the middle of a long text. The bytes may be a part of a larger buffer. `pieces`: those
 * that the text was made of, of whole characters, where there are some; then it is not put together.
 */
export function* encodeInSteps(text: string, pieces?: readonly string[]): CooperativeTask<Uint8Array> {
  // Enough for ASCII, which most long texts are: pieces that are joined afterwards would be held twice.
  const encoder = new SteppedEncoder(text.length);
  for (const piece of pieces ?? [text]) {
    yield* encoder.add(piece);
    yield;
  }
  return encoder.bytes;
}

/** Bytes for each unit that is still to be encoded where there are more than one; text in other scripts takes two to three. */
const GROWTH = 1.5;
const LEAST_GROWTH = 1_024;

class SteppedEncoder {
  readonly #encoder = new TextEncoder();
  #buffer: Uint8Array<ArrayBuffer>;
  #end = 0;
  /** Characters that are still to come. */
  #left: number;

  constructor(length: number) {
    this.#buffer = new Uint8Array(length);
    this.#left = length;
  }

  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#end);
  }

  *add(text: string): CooperativeTask<void> {
    yield* putTogether(text);
    for (let from = 0; from < text.length; ) {
      const piece = text.slice(from, wholeCharactersEnd(text, from + STEP_LENGTH));
      const { read, written } = this.#encoder.encodeInto(piece, this.#buffer.subarray(this.#end));
      from += read;
      this.#end += written;
      this.#left -= read;
      if (read < piece.length) this.#enlarge();
      yield;
    }
  }

  #enlarge(): void {
    const larger = new Uint8Array(this.#end + Math.ceil(this.#left * GROWTH) + LEAST_GROWTH);
    larger.set(this.bytes);
    this.#buffer = larger;
  }
}

/** A text cut into pieces of at most so many units, which are encoded by themselves. */
export function* wholeCharacterPieces(text: string, mostUnits: number, start = 0): Generator<string, void, void> {
  for (let from = start; from < text.length; ) {
    const piece = text.slice(from, wholeCharactersEnd(text, from + mostUnits));
    yield piece;
    from += piece.length;
  }
}

/** `end`, or one less where it is between the two halves of a surrogate pair. For cutting a text into pieces that are encoded by themselves. */
export function wholeCharactersEnd(text: string, end: number): number {
  if (end >= text.length) return text.length;
  const unit = text.charCodeAt(end - 1);
  return unit >= FIRST_SURROGATE && unit <= LAST_HIGH_SURROGATE ? end - 1 : end;
}
