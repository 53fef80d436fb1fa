import { describe, expect, test } from 'vitest';
import { newTexts } from '../../../demo/src/sync/conflict-maker.ts';
import { choicesOf } from '../../../demo/src/sync/list-panel.ts';

describe('the words of a conflict that is made on request', () => {
  test('are others in each round', () => {
    const rounds = Array.from({ length: 8 }, (_, round) => newTexts(new Set(), round));
    expect(rounds[0]).toEqual(['Raincoats, the long ones', 'Umbrellas']);
    expect(rounds[1]).toEqual(['Tea, and the kettle', 'Cocoa']);
    expect(new Set(rounds.flat()).size).toBe(16);
  });

  test('are none that the list has already', () => {
    expect(newTexts(new Set(['Umbrellas']), 0)).toEqual(['Tea, and the kettle', 'Cocoa']);
    expect(newTexts(new Set(['Raincoats, the long ones', 'Cocoa']), 0)).toEqual(['The big tent', 'Hammocks']);
  });

  test('have a number once all were used', () => {
    const taken = new Set<string>();
    for (let round = 0; round < 8; round++) for (const text of newTexts(taken, round)) taken.add(text);
    expect(newTexts(taken, 8)).toEqual(['Raincoats, the long ones (2)', 'Umbrellas (2)']);
  });
});

describe('the choices of a conflict', () => {
  const version = (rev: string, text: string, isPacked = false) => ({ rev, text, isPacked });

  test('are in the same order on both sides', () => {
    const [one, other] = [version('2-a', 'Umbrellas'), version('2-b', 'Raincoats')];
    const labels = (...versions: readonly ReturnType<typeof version>[]) =>
      choicesOf(versions).map(({ label }) => label);
    expect(labels(one, other)).toEqual(['Raincoats', 'Umbrellas']);
    expect(labels(other, one)).toEqual(['Raincoats', 'Umbrellas']);
  });

  test('are different, whatever revisions say the same', () => {
    const versions = [version('3-a', 'Umbrellas'), version('2-b', 'Umbrellas'), version('2-c', 'Raincoats')];
    expect(choicesOf(versions).map(({ label }) => label)).toEqual(['Raincoats', 'Umbrellas']);
  });

  test('say whether the item is packed if that is the difference', () => {
    const versions = [version('2-a', 'Tent', true), version('2-b', 'Tent'), version('2-c', 'Coffee', true)];
    expect(choicesOf(versions).map(({ label, version: { rev } }) => [label, rev])).toEqual([
      ['Coffee', '2-c'],
      ['Tent, not packed', '2-b'],
      ['Tent, packed', '2-a'],
    ]);
  });
});
