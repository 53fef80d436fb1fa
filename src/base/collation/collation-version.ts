import { createCollator } from './string-order.ts';

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
