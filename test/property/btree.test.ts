import fc from 'fast-check';
import { describe, test } from 'vitest';
import { compareCodePoints } from '../../src/base/collation/code-points.ts';
import type { TreeSpec } from '../../src/storage/btree/contract.ts';
import { roundsOf } from '../support/long-runs.ts';
import { numberSpec, play, type Step, type Summary, summarySpec } from './btree-model.ts';

const textSpec: TreeSpec<string, Summary> = {
  ...summarySpec<string>({
    compare: compareCodePoints,
    encodeKey: (key) => JSON.stringify(key),
    decodeKey: (text) => JSON.parse(text),
  }),
  separator(left, right) {
    const points = [...right];
    let length = 1;
    while (compareCodePoints(points.slice(0, length).join(''), left) <= 0) length += 1;
    return points.slice(0, length).join('');
  },
};

function changesOf<K>(key: fc.Arbitrary<K>, spec: TreeSpec<K, Summary>, maxLength: number) {
  const change = fc.record({ key, value: fc.option(fc.stringMatching(/^[a-z\t]{0,9}$/), { nil: undefined, freq: 3 }) });
  return fc
    .uniqueArray(change, { maxLength, size: 'max', selector: ({ key: each }) => spec.encodeKey(each) })
    .map((changes) => changes.sort((left, right) => spec.compare(left.key, right.key)));
}

function scriptOf<K>(key: fc.Arbitrary<K>, spec: TreeSpec<K, Summary>) {
  const step: fc.Arbitrary<Step<K>> = fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('update'), changes: changesOf(key, spec, 60) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('clear'), start: key, end: key }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('checkpoint'), meanwhile: changesOf(key, spec, 9) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('abandonedCheckpoint'), nodes: fc.nat(9) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen') }) },
  );
  const bound = fc.option(key, { nil: undefined });
  const range = fc.record({ start: bound, end: bound, startInclusive: fc.boolean(), endInclusive: fc.boolean() });
  return fc.record({
    leafBytes: fc.constantFrom(12, 60, 200),
    innerBytes: fc.constantFrom(12, 150, 400),
    cacheBytes: fc.constantFrom(0, 500, 1_000_000),
    steps: fc.array(step, { maxLength: 12, size: 'max' }),
    probes: fc.array(fc.record({ range, skip: fc.nat(50) }), { minLength: 3, maxLength: 8 }),
  });
}

describe('a tree is a sorted array', () => {
  test('with keys of text, in code point order', async () => {
    const character = fc.constantFrom(
      'a',
      'b',
      'Z',
      '"',
      '\\',
      '\n',
      '\t',
      'é',
      '\ud7ff',
      '\ue000',
      '\uffff',
      '\u{10000}',
      '\u{1f600}',
    );
    const key = fc.oneof(
      { weight: 6, arbitrary: fc.string({ unit: character, minLength: 1, maxLength: 3 }) },
      { weight: 1, arbitrary: fc.string({ unit: character, minLength: 1, maxLength: 300, size: 'max' }) },
    );
    const firstOf = (text: string) => text.codePointAt(0);
    await fc.assert(
      fc.asyncProperty(scriptOf(key, textSpec), (script) => play(script, textSpec, firstOf)),
      { numRuns: roundsOf(40, 100) },
    );
  });

  test('with numbers as keys', async () => {
    const tens = (key: number) => Math.floor(key / 10);
    await fc.assert(
      fc.asyncProperty(scriptOf(fc.integer({ min: -60, max: 200 }), numberSpec), (script) =>
        play(script, numberSpec, tens),
      ),
      { numRuns: roundsOf(40, 100) },
    );
  });

  test('with groups that span many nodes', async () => {
    const hundreds = (key: number) => Math.floor(key / 100);
    await fc.assert(
      fc.asyncProperty(scriptOf(fc.integer({ min: 0, max: 300 }), numberSpec), (script) =>
        play(script, numberSpec, hundreds),
      ),
      { numRuns: roundsOf(20, 50) },
    );
  });
});
