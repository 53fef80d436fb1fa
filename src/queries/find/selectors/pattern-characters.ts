/** Sets of characters, as tests of code points. Digits, word characters and white space are those of ASCII, as in PCRE. */

export type CharacterTest = (code: number) => boolean;

const LINE_FEED = 0x0a;

export const anyCharacter: CharacterTest = () => true;

export const notLineFeed: CharacterTest = (code) => code !== LINE_FEED;

const isDigit = between('0', '9');
const isLower = between('a', 'z');
const isUpper = between('A', 'Z');
const isLetter: CharacterTest = (code) => isLower(code) || isUpper(code);
const isSpace = oneOf('\t\n\v\f\r ');
const isHexadecimal: CharacterTest = (code) => isDigit(code) || between('a', 'f')(code) || between('A', 'F')(code);
const isVisible = between('!', '~');

/** The characters of `\w`, whose edges `\b` finds. */
export const isWord: CharacterTest = (code) => isLetter(code) || isDigit(code) || code === 0x5f;

/** Sets by the letter after the backslash. */
export const ESCAPED_SETS: ReadonlyMap<string, CharacterTest> = new Map([
  ['d', isDigit],
  ['D', not(isDigit)],
  ['w', isWord],
  ['W', not(isWord)],
  ['s', isSpace],
  ['S', not(isSpace)],
  ['h', oneOf('\t \u00a0')],
  ['N', notLineFeed],
]);

/** Sets by the name in `[:name:]`. */
export const NAMED_SETS: ReadonlyMap<string, CharacterTest> = new Map([
  ['alpha', isLetter],
  ['digit', isDigit],
  ['alnum', (code) => isLetter(code) || isDigit(code)],
  ['upper', isUpper],
  ['lower', isLower],
  ['space', isSpace],
  ['blank', oneOf('\t ')],
  ['punct', (code) => isVisible(code) && !isLetter(code) && !isDigit(code)],
  ['xdigit', isHexadecimal],
  ['word', isWord],
]);

export function not(test: CharacterTest): CharacterTest {
  return (code) => !test(code);
}

export function range(first: number, last: number): CharacterTest {
  return first === last ? (code) => code === first : (code) => code >= first && code <= last;
}

export function union(tests: readonly CharacterTest[]): CharacterTest {
  const [first, second] = tests;
  if (first !== undefined && second === undefined) return first;
  return (code) => tests.some((test) => test(code));
}

/** Returns a test that also passes characters whose upper or lower case passes. */
export function ignoringCase(test: CharacterTest): CharacterTest {
  return (code) => {
    if (test(code)) return true;
    const character = String.fromCodePoint(code);
    const [lower, upper] = [character.toLowerCase(), character.toUpperCase()];
    return test(lower.codePointAt(0) ?? code) || test(upper.codePointAt(0) ?? code);
  };
}

/** Returns the characters with a Unicode property, such as `L` or `Script=Greek`; undefined if there is no such property. */
export function property(name: string): CharacterTest | undefined {
  if (!/^[\w=]+$/.test(name)) return undefined;
  try {
    // It tests one character at a time, which can't take long.
    const expression = new RegExp(`^\\p{${name}}$`, 'u');
    return (code) => expression.test(String.fromCodePoint(code));
  } catch {
    return undefined;
  }
}

function between(first: string, last: string): CharacterTest {
  return range(first.charCodeAt(0), last.charCodeAt(0));
}

function oneOf(characters: string): CharacterTest {
  return (code) => characters.includes(String.fromCodePoint(code));
}
