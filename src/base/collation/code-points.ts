/**
 * The order of strings by code point, which is also the order of their UTF-8 bytes. JavaScript's own `<` compares UTF-16
 * units and so puts U+10000 and above before U+E000.
 */

/** From this length on, shared prefixes are skipped in chunks, which JavaScript engines compare natively. */
const LONG_LENGTH = 128;
const CHUNK_LENGTH = 64;

/** Random strings differ within this many units; a loop over these units is the fastest way to compare them. */
const EARLY_LENGTH = 4;

/** Units whose order differs from the order of the code points that they represent. */
const HIGH_UNIT = /[\ud800-\uffff]/;

/**
 * Returns a negative number, zero or a positive number if `left` sorts before, with or after `right`. A total order on all strings; lone
 * surrogates, which have no UTF-8 form, sort above U+FFFF.
 */
export function compareCodePoints(left: string, right: string): number {
  const early = Math.min(left.length, right.length, EARLY_LENGTH);
  for (let index = 0; index < early; index += 1) {
    const leftUnit = left.charCodeAt(index);
    const rightUnit = right.charCodeAt(index);
    if (leftUnit !== rightUnit) return codePointWeight(leftUnit) - codePointWeight(rightUnit);
  }
  if (left === right) return 0;
  if (left.length > LONG_LENGTH || right.length > LONG_LENGTH) return compareUnits(left, right);
  // The comparison of the JavaScript engine is several times as fast as a loop, and correct unless both have high units.
  if (HIGH_UNIT.test(left) && HIGH_UNIT.test(right)) return compareUnits(left, right);
  return left < right ? -1 : 1;
}

function compareUnits(left: string, right: string): number {
  const shorter = Math.min(left.length, right.length);
  let index = sharedChunks(left, right, shorter);
  for (; index < shorter; index += 1) {
    const leftUnit = left.charCodeAt(index);
    const rightUnit = right.charCodeAt(index);
    if (leftUnit !== rightUnit) return codePointWeight(leftUnit) - codePointWeight(rightUnit);
  }
  return left.length - right.length;
}

/** Moves the surrogates above U+E000 to U+FFFF, where the code points that they represent belong. */
function codePointWeight(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/** Returns an index, a multiple of the chunk length, up to which both strings are the same. */
function sharedChunks(left: string, right: string, length: number): number {
  let index = 0;
  while (
    index + CHUNK_LENGTH <= length &&
    left.charCodeAt(index) === right.charCodeAt(index) &&
    left.slice(index, index + CHUNK_LENGTH) === right.slice(index, index + CHUNK_LENGTH)
  ) {
    index += CHUNK_LENGTH;
  }
  return index;
}
