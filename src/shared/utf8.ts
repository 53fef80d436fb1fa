/** Texts in UTF-8: their lengths, without encoding them, and long ones. */
import type { Steps } from './turn.ts';

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

/** As a `TextEncoder` does: others may have a turn in the middle of a long text. */
export function* encodeInSteps(text: string): Steps<Uint8Array> {
  const encoder = new TextEncoder();
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (let from = 0; from < text.length; ) {
    const to = wholeCharactersEnd(text, from + STEP_LENGTH);
    const piece = encoder.encode(text.slice(from, to));
    pieces.push(piece);
    length += piece.length;
    from = to;
    yield;
  }
  const bytes = new Uint8Array(length);
  let end = 0;
  // What is copied is not held twice.
  for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) {
    bytes.set(piece, end);
    end += piece.length;
    yield;
  }
  return bytes;
}

/** `end`, or one less where it is between the two halves of a surrogate pair. For cutting a text into pieces that are encoded by themselves. */
export function wholeCharactersEnd(text: string, end: number): number {
  if (end >= text.length) return text.length;
  const unit = text.charCodeAt(end - 1);
  return unit >= FIRST_SURROGATE && unit <= LAST_HIGH_SURROGATE ? end - 1 : end;
}
