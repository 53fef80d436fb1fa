import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createStringOrder } from '../../../../src/base/collation/string-order.ts';

const compare = createStringOrder();
const { compare: collate } = new Intl.Collator('en');
const commonCharacter = fc.oneof(
  fc.integer({ min: 0x20, max: 0x7e }),
  fc.integer({ min: 0xc0, max: 0x17f }),
  fc.constantFrom(0, 0x9, 0x7f, 0xa0, 0xad, 0xb7, 0x387, 0x301, 0x308, 0x327, 0x200b, 0x3b1, 0x430, 0x4e00, 0xd800),
);
const common = fc.array(commonCharacter, { maxLength: 6 }).map((codes) => String.fromCharCode(...codes));

describe('the order of strings', () => {
  test('is that of the collator, for every pair of characters and every two of two', () => {
    const characters: string[] = [];
    for (let code = 0x20; code < 0x180; code++) characters.push(String.fromCharCode(code));
    const pairs = characters.flatMap((first) => characters.map((second) => first + second)).sort(collate);
    const wrong = pairs.filter(
      (pair, index) =>
        Math.sign(compare(pairs[index - 1] ?? '', pair)) !== Math.sign(collate(pairs[index - 1] ?? '', pair)),
    );
    expect(wrong).toEqual([]);
  });

  test('is that of the collator, for strings of letters, accents, capitals and combining characters', () => {
    fc.assert(
      fc.property(common, common, (left, right) => Math.sign(compare(left, right)) === Math.sign(collate(left, right))),
      { numRuns: 20_000 },
    );
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (left, right) => {
        return Math.sign(compare(left, right)) === Math.sign(collate(left, right));
      }),
    );
  });

  test('compares letters, then length, then accents, then small before capital letters', () => {
    const names = [
      'Zoë',
      'resume',
      'Résumé',
      'résumé',
      'Resume',
      'resumes',
      'zoe',
      'Zoe',
      'ab',
      'a',
      'A',
      '_',
      '1',
      'é',
    ];
    expect([...names].sort(compare)).toEqual([
      '_',
      '1',
      'a',
      'A',
      'ab',
      'é',
      'resume',
      'Resume',
      'résumé',
      'Résumé',
      'resumes',
      'zoe',
      'Zoe',
      'Zoë',
    ]);
  });
});
