/** Texts in UTF-8: their lengths, without encoding them, and long ones. */
import type { MaybePromise } from './maybe-promise.ts';
import { type CooperativeTask, LONG_STEP, runCooperatively } from './turn.ts';

/** The most bytes that one unit of a JavaScript string takes. */
const MAX_UNIT_BYTES = 3;
const FIRST_OF_TWO_BYTES = 0x80;
const FIRST_OF_THREE_BYTES = 0x800;
const FIRST_SURROGATE = 0xd800;
const LAST_HIGH_SURROGATE = 0xdbff;
const LAST_SURROGATE = 0xdfff;

/** Returns the number of bytes of a well-formed text. */
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

/** Returns whether a well-formed text has at most this many bytes. Looks at the text only if its length does not decide it. */
export function fitsUtf8(text: string, bytes: number): boolean {
  if (text.length > bytes) return false;
  return text.length * MAX_UNIT_BYTES <= bytes || utf8Length(text) <= bytes;
}

/** Number of characters encoded in one step. */
const STEP_LENGTH = 524_288;

/** Flattens a text that was made of pieces: engines do this in one step at the first look at it, so a long text gets its own turn. */
export function* putTogether(text: string): CooperativeTask<void> {
  if (text.length <= STEP_LENGTH) return;
  yield LONG_STEP;
  text.charCodeAt(0);
  yield;
}

/** Like `utf8Length`: other work may run in the middle of a long text. */
export function* utf8LengthInSteps(text: string): CooperativeTask<number> {
  yield* putTogether(text);
  let bytes = 0;
  for (const piece of wholeCharacterPieces(text, STEP_LENGTH)) {
    bytes += utf8Length(piece);
    yield;
  }
  return bytes;
}

/** Like `utf8LengthInSteps`; the length of a short text is returned immediately. */
export function utf8LengthInTurns(text: string): MaybePromise<number> {
  return text.length <= STEP_LENGTH ? utf8Length(text) : runCooperatively(utf8LengthInSteps(text));
}

/**
 * Encodes like a `TextEncoder`: other work may run in the middle of a long text. The bytes may be part of a larger buffer. `pieces`: the pieces
 * that the text was made of, with whole characters, if available; then the text is not flattened.
 */
export function* encodeInSteps(text: string, pieces?: readonly string[]): CooperativeTask<Uint8Array> {
  // Enough for ASCII, which most long texts are: joining pieces afterwards would hold them twice.
  const encoder = new SteppedEncoder(text.length);
  for (const piece of pieces ?? [text]) {
    yield* encoder.add(piece);
    yield;
  }
  return encoder.bytes;
}

/** Bytes for each unit still to be encoded once a unit takes more than one; text in other scripts takes two to three. */
const GROWTH = 1.5;
const MIN_GROWTH = 1_024;

class SteppedEncoder {
  readonly #encoder = new TextEncoder();
  #buffer: Uint8Array<ArrayBuffer>;
  #end = 0;
  /** Number of characters still to come. */
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
    const larger = new Uint8Array(this.#end + Math.ceil(this.#left * GROWTH) + MIN_GROWTH);
    larger.set(this.bytes);
    this.#buffer = larger;
  }
}

/** Yields a text in pieces of at most `mostUnits` units, which are encoded separately. */
export function* wholeCharacterPieces(text: string, mostUnits: number, start = 0): Generator<string, void, void> {
  for (let from = start; from < text.length; ) {
    const piece = text.slice(from, wholeCharactersEnd(text, from + mostUnits));
    yield piece;
    from += piece.length;
  }
}

/** Returns `end`, or one less if it is between the two halves of a surrogate pair. For cutting a text into pieces that are encoded separately. */
export function wholeCharactersEnd(text: string, end: number): number {
  if (end >= text.length) return text.length;
  const unit = text.charCodeAt(end - 1);
  return unit >= FIRST_SURROGATE && unit <= LAST_HIGH_SURROGATE ? end - 1 : end;
}
