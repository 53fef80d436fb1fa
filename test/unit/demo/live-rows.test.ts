import { expect, test } from 'vitest';
import { applyEvent, difference, healed, inOrder, type ViewRow } from '../../../demo/src/notes/live-rows.ts';

function row(id: string, key: string, rev = '1-a', conflicts = 0): ViewRow {
  return { id, key, value: { rev, conflicts, photo: false } };
}

const [a, b, c] = [row('a', '2026-06-01'), row('b', '2026-06-03'), row('c', '2026-06-02')];
const rows = applyEvent(new Map(), { rows: [a, b] });

test('an event with all rows replaces them, one with differences changes them', () => {
  expect([...applyEvent(rows, { rows: [c] }).keys()]).toEqual(['c']);
  const next = applyEvent(rows, { added: [c], changed: [row('a', '2026-06-01', '2-b')], removed: [b] });
  expect([...next.values()]).toEqual([row('a', '2026-06-01', '2-b'), c]);
});

test('a row that moves to another key is removed and added, and stays', () => {
  const next = applyEvent(rows, { removed: [a], added: [row('a', '2026-07-01', '2-b')] });
  expect(next.get('a')?.key).toBe('2026-07-01');
});

test('rows are shown with the latest first, and the later id at the same time', () => {
  const all = applyEvent(new Map(), { rows: [a, b, c, row('d', '2026-06-02')] });
  expect(inOrder(all).map(({ id }) => id)).toEqual(['b', 'd', 'c', 'a']);
});

test('a difference tells what arrived, what changed, also by a conflict alone, and what is gone', () => {
  const next = applyEvent(rows, { added: [c], changed: [row('a', '2026-06-01', '1-a', 1)], removed: [b] });
  const { arrived, changed, gone } = difference(rows, next);
  expect([arrived, changed, gone].map((list) => list.map(({ id }) => id))).toEqual([['c'], ['a'], ['b']]);
  expect(difference(rows, rows)).toEqual({ arrived: [], changed: [], gone: [] });
});

test('a note is healed when it had several versions and has one', () => {
  const torn = applyEvent(rows, { changed: [row('a', '2026-06-01', '2-b', 1)] });
  const whole = applyEvent(torn, { changed: [row('a', '2026-06-01', '3-c')] });
  expect(healed(torn, whole).map(({ id }) => id)).toEqual(['a']);
  expect(healed(rows, torn)).toEqual([]);
  expect(healed(whole, whole)).toEqual([]);
});
