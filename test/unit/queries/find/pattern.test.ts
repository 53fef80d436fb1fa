import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { atOnce } from '../../../../src/base/shared/turn.ts';
import { Effort } from '../../../../src/queries/find/effort.ts';
import { parsePattern as parseIn } from '../../../../src/queries/find/selectors/pattern.ts';
import { PatternRoom } from '../../../../src/queries/find/selectors/selector-room.ts';

/** Whether the pattern is in a text, by both ways to find out. */
function parsePattern(source: string) {
  const pattern = parseIn(source, new PatternRoom());
  return {
    isIn: (text: string): boolean => {
      const inSteps = atOnce(pattern.inSteps(text, new Effort(undefined)));
      expect(new Effort(undefined).attempt(pattern, text) ?? inSteps).toBe(inSteps);
      return inSteps;
    },
  };
}

const atom = fc.constantFrom(
  'a',
  'b',
  '.',
  '[ab]',
  '[^a]',
  '\\w',
  '\\b',
  '^',
  '$',
  '(?:ab|b)',
  '(a|)',
  '\\n',
  '[\\d_]',
);
const counted = fc.tuple(atom, fc.constantFrom('', '*', '+', '?', '{2}', '{1,}', '{0,2}', '*?')).map(([one, count]) => {
  // What stands for a place can't be repeated in JavaScript.
  return /^(?:\\b|\^|\$)$/.test(one) ? one : one + count;
});
const { expression } = fc.letrec<{ expression: string }>((tie) => ({
  expression: fc.oneof(
    { depthSize: 'small' },
    { weight: 4, arbitrary: fc.array(counted, { minLength: 1, maxLength: 4 }).map((all) => all.join('')) },
    {
      weight: 1,
      arbitrary: fc.tuple(tie('expression'), tie('expression')).map(([one, other]) => `(?:${one}|${other})*`),
    },
    { weight: 1, arbitrary: fc.tuple(tie('expression'), counted).map(([one, other]) => `(${one})${other}`) },
  ),
}));
const text = fc
  .array(fc.constantFrom('a', 'b', 'A', '1', '_', ' ', 'ä', '😀'), { maxLength: 8 })
  .map((all) => all.join(''));

describe('a pattern', () => {
  test('matches what a RegExp matches', () => {
    fc.assert(
      fc.property(expression, fc.array(text, { minLength: 5, maxLength: 5 }), (source, texts) => {
        const pattern = parsePattern(source);
        const own = new RegExp(source, 'u');
        for (const one of texts) expect(pattern.isIn(one), `${source} in ${one}`).toBe(own.test(one));
      }),
      { numRuns: 1_000 },
    );
  });

  test('with $ ends before a line feed at the end, as in PCRE', () => {
    expect(parsePattern('a$').isIn('a\n')).toBe(true);
    expect(parsePattern('a$').isIn('a\n\n')).toBe(false);
    expect(parsePattern('a\\z').isIn('a\n')).toBe(false);
    expect(parsePattern('a\\Z').isIn('a\n')).toBe(true);
    expect(parsePattern('\\Ab').isIn('ab')).toBe(false);
  });

  test('limits flags to their group', () => {
    expect(parsePattern('^a(?i)b$').isIn('aB')).toBe(true);
    expect(parsePattern('^a(?i)b$').isIn('AB')).toBe(false);
    expect(parsePattern('^(?:(?i)a)b$').isIn('Ab')).toBe(true);
    expect(parsePattern('^(?:(?i)a)b$').isIn('AB')).toBe(false);
    expect(parsePattern('(?i)a|b').isIn('B')).toBe(true);
    expect(parsePattern('(?i:[^a])').isIn('A')).toBe(false);
    expect(parsePattern('(?i)a(?-i)b').isIn('Ab')).toBe(true);
    expect(parsePattern('(?i)a(?-i)b').isIn('AB')).toBe(false);
  });

  test('supports nested character classes, and literals in them', () => {
    expect(parsePattern('^[]^-]+$').isIn(']^-')).toBe(true);
    expect(parsePattern('^[[:upper:]\\d-]+$').isIn('A-1')).toBe(true);
    expect(parsePattern('^[[:^upper:]]$').isIn('A')).toBe(false);
    expect(parsePattern('^[\\x41-\\x43]$').isIn('B')).toBe(true);
    expect(parsePattern('^\\p{Lu}\\P{Lu}$').isIn('Äa')).toBe(true);
    expect(parsePattern('^\\pL\\p{^L}$').isIn('a1')).toBe(true);
    expect(parsePattern('a{,2}').isIn('a{,2}')).toBe(true);
  });

  test('takes time in proportion to the text, also where backtracking would not', () => {
    const pattern = parsePattern('^(?:a|aa)+$');
    // With a square of the length it would take more than the 20,000,000 steps that a pattern may take.
    for (const length of [20_000, 40_000]) expect(pattern.isIn(`${'a'.repeat(length)}b`)).toBe(false);
  });

  test('gives up on a text that would take seconds', () => {
    const pattern = parsePattern(`(?:a?){500}b`);
    expect(() => pattern.isIn('a'.repeat(1_000_000))).toThrow(/more than 20000000 steps/);
  });
});
