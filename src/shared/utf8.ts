/** Lengths of texts in UTF-8, without encoding them. */

/** What one unit of a JavaScript string takes at most. */
const MAX_UNIT_BYTES = 3;
const FIRST_OF_TWO_BYTES = 0x80;
const FIRST_OF_THREE_BYTES = 0x800;
const FIRST_SURROGATE = 0xd800;
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
