import { describe, expect, test } from 'vitest';
import { areEqualSecretBytes, areEqualSecrets } from '../../../../src/base/shared/constant-time.ts';

const pairs: readonly (readonly [string, string, boolean])[] = [
  ['', '', true],
  ['secret', 'secret', true],
  ['secret', 'Secret', false],
  ['secret', 'secreT', false],
  ['secret', 'secre', false],
  ['secre', 'secret', false],
  ['', 's', false],
  ['s', '', false],
  ['abab', 'ab', false],
  ['\u0000', '', false],
  ['é', 'e', false],
];

describe.each(pairs)('comparing %j with %j in constant time', (one, other, areEqual) => {
  test('works for texts', () => {
    expect(areEqualSecrets(one, other)).toBe(areEqual);
  });

  test('works for bytes', () => {
    const encoder = new TextEncoder();
    expect(areEqualSecretBytes(encoder.encode(one), encoder.encode(other))).toBe(areEqual);
  });
});

/** Counts at how many places it is looked at: the same, wherever the first difference is. */
test("the time of a comparison doesn't depend on where two texts differ", () => {
  const looksAt = (other: string): number => {
    let looks = 0;
    const charCodeAt = (at: number) => {
      looks += 1;
      return other.charCodeAt(at);
    };
    // All that the function asks of a string.
    const watched = { length: other.length, charCodeAt } as unknown as string;
    expect(areEqualSecrets('0123456789', watched)).toBe(false);
    return looks;
  };
  expect(['x123456789', '01234x6789', '012345678x', 'xxxxxxxxxx'].map(looksAt)).toEqual([10, 10, 10, 10]);
});
