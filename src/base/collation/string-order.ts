/**
 * The order of strings in views: ICU's root collation, which `en` does not tailor, at variant strength. Strings that ICU
 * calls equal are equal keys (docs/http/views.md#order-of-keys). `collationVersion` identifies the order of an engine.
 */

const FIRST_PRINTABLE = 0x20;
const LAST_PRINTABLE = 0x7e;
/** Latin-1 Supplement, starting at its letters, and Latin Extended-A. */
const FIRST_ACCENTED = 0xc0;
const WEIGHED_CODES = 0x180;

export type CompareStrings = (left: string, right: string) => number;

/** Takes about a millisecond: create one order and keep it. */
export function createStringOrder(weights: CharacterWeights = weighCharacters()): CompareStrings {
  const { compare } = createCollator('variant');
  return (left, right) => compareWeighed(left, right, weights, compare);
}

function createCollator(sensitivity: 'variant' | 'accent' | 'base'): Intl.Collator {
  return new Intl.Collator('en', {
    usage: 'sort',
    sensitivity,
    ignorePunctuation: false,
    numeric: false,
    caseFirst: 'false',
  });
}

/**
 * Weights of single letters on three levels of the collation, by code unit. `primary` is 0 if a character is not one of
 * those that are known to sort on their own.
 */
export interface CharacterWeights {
  /** Decides first: a letter shares this weight with its capital and with its accented forms. */
  readonly primary: Uint8Array;
  /** Decides between strings whose letters are the same: accents. */
  readonly secondary: Uint8Array;
  /** Decides between strings whose accents are the same as well: capitals. */
  readonly tertiary: Uint8Array;
}

/** Asks the collator about the printable ASCII characters and the accented letters made of them; nothing is hard-coded. */
export function weighCharacters(): CharacterWeights {
  const { compare } = createCollator('variant');
  const weights = {
    primary: new Uint8Array(WEIGHED_CODES),
    secondary: new Uint8Array(WEIGHED_CODES),
    tertiary: new Uint8Array(WEIGHED_CODES),
  };
  const compareBase = createCollator('base').compare;
  const compareAccents = createCollator('accent').compare;
  let former: string | undefined;
  let [primary, secondary, tertiary] = [0, 0, 0];
  for (const character of weighableCharacters(compareBase).sort(compare)) {
    if (former === undefined || compareBase(former, character) !== 0)
      [primary, secondary, tertiary] = [primary + 1, 0, 0];
    else if (compareAccents(former, character) !== 0) [secondary, tertiary] = [secondary + 1, 0];
    else tertiary++;
    const code = character.charCodeAt(0);
    weights.primary[code] = primary;
    weights.secondary[code] = secondary;
    weights.tertiary[code] = tertiary;
    former = character;
  }
  return weights;
}

/** Printable ASCII, and those Latin letters that the collator treats as a form of one ASCII letter. */
function weighableCharacters(compareBase: CompareStrings): string[] {
  const characters: string[] = [];
  for (let code = FIRST_PRINTABLE; code <= LAST_PRINTABLE; code++) characters.push(String.fromCharCode(code));
  const letters = [...'abcdefghijklmnopqrstuvwxyz'];
  for (let code = FIRST_ACCENTED; code < WEIGHED_CODES; code++) {
    const character = String.fromCharCode(code);
    if (letters.some((letter) => compareBase(letter, character) === 0)) characters.push(character);
  }
  return characters;
}

/**
 * Compares common strings by weights, several times as fast as the collator. The same order, since root collation has
 * no contraction and no expansion among these characters: strings are distinguished by the first difference of letters, then
 * by length, then by the first difference of accents, then by that of capitals. If another character is at or after the
 * deciding place (it may combine with what precedes it), the collator decides.
 */
function compareWeighed(left: string, right: string, weights: CharacterWeights, collate: CompareStrings): number {
  const { primary } = weights;
  const shorter = Math.min(left.length, right.length);
  let tie = -1;
  for (let index = 0; index < shorter; index++) {
    const leftCode = left.charCodeAt(index);
    const rightCode = right.charCodeAt(index);
    const leftWeight = primary[leftCode] ?? 0;
    if (leftWeight === 0) return collate(left, right);
    if (leftCode === rightCode) continue;
    const rightWeight = primary[rightCode] ?? 0;
    if (rightWeight === 0) return collate(left, right);
    if (leftWeight !== rightWeight) {
      return isClosed(left, index, primary) && isClosed(right, index, primary)
        ? leftWeight - rightWeight
        : collate(left, right);
    }
    if (tie < 0) tie = index;
  }
  if (left.length === right.length) return tie < 0 ? 0 : breakTie(left, right, tie, weights);
  const longer = left.length > right.length ? left : right;
  if ((primary[longer.charCodeAt(shorter)] ?? 0) === 0) return collate(left, right);
  return left.length - right.length;
}

/** Returns whether nothing can combine with the character at `index`. */
function isClosed(text: string, index: number, primary: Uint8Array): boolean {
  return index + 1 >= text.length || (primary[text.charCodeAt(index + 1)] ?? 0) !== 0;
}

/** Compares strings of the same letters that are identical up to `from`. */
function breakTie(left: string, right: string, from: number, { secondary, tertiary }: CharacterWeights): number {
  let capitals = 0;
  for (let index = from; index < left.length; index++) {
    const leftCode = left.charCodeAt(index);
    const rightCode = right.charCodeAt(index);
    if (leftCode === rightCode) continue;
    const accents = (secondary[leftCode] ?? 0) - (secondary[rightCode] ?? 0);
    if (accents !== 0) return accents;
    if (capitals === 0) capitals = (tertiary[leftCode] ?? 0) - (tertiary[rightCode] ?? 0);
  }
  return capitals;
}

/**
 * Strings whose order changed, or might change, from one release of Unicode's collation to the next: punctuation and symbols,
 * case and accents, digits of several scripts, ignorable characters, scripts that were added or moved, emoji, and letters of
 * recent Unicode releases.
 */
const PROBES: readonly string[] = [
  ...' _-,;:!?.\'"()[]{}@*/\\&#%`^+<=>|~$09aAbBzZ',
  ...'§¶©®°±×÷€£¥₩₿₾¢¤',
  ...'áàâäãåæÁçðéèíñóöøœßþúüÿž',
  ...'ıİſƀǅɐʰ',
  ...'αΑάωΩбБёЁяԱაⴀⲀ',
  ...'אبپकকกກཀကዐក᠀',
  ...'あアｱぁ一丁龥㐀가힣',
  ...'٠१①¼ⅷ〇',
  ...'😀🚀❤→≠∞♪',
  'a\u0301',
  'a\u0000b',
  'ab',
  'a b',
  'a-b',
  'co-op',
  'coop',
  'résumé',
  'resume',
  'Résumé',
  'ß',
  'ss',
  '\u00ad',
  '\u200b',
  '\u{20000}',
  '\u{10ffff}',
  // One letter each of Unicode 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 and 17.
  '\u{10500}',
  '\u{a7b5}',
  '\u{1e900}',
  '\u{11a00}',
  '\u{10f00}',
  '\u{10fe0}',
  '\u{10e80}',
  '\u{10570}',
  '\u{11f04}',
  '\u{10d4a}',
  '\u{16ea0}',
];

/**
 * Identifies a collation by the order in which this JavaScript engine puts the probes and by the engine's name.
 * An index that was made under another version may be in another order, and is rebuilt.
 */
export function collationVersion(engine: string): string {
  const { compare } = createCollator('variant');
  const places = PROBES.map((_, place) => place);
  places.sort((left, right) => compare(PROBES[left] ?? '', PROBES[right] ?? '') || left - right);
  let hash = 0;
  let former: number | undefined;
  for (const place of places) {
    const isEqual = former !== undefined && compare(PROBES[former] ?? '', PROBES[place] ?? '') === 0;
    hash = (Math.imul(hash, 31) + place * 2 + (isEqual ? 1 : 0)) | 0;
    former = place;
  }
  return `${(hash >>> 0).toString(36)} ${engine}`.trim();
}
