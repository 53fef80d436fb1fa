import { expect, test } from 'vitest';
import { clusters, dayBars } from '../../../demo/src/notes/figures.ts';
import { fittedSize } from '../../../demo/src/notes/photo.ts';

test('days end with the latest that has notes, and those without notes are drawn, too', () => {
  const rows = [
    { key: ['2026-02-27'], value: 1 },
    { key: ['2026-03-01'], value: 4 },
    { key: ['2020-01-01'], value: 9 },
    { key: ['no day'], value: 3 },
  ] as const;
  expect(dayBars(rows, 4)).toEqual([
    { day: '2026-02-26', notes: 0 },
    { day: '2026-02-27', notes: 1 },
    { day: '2026-02-28', notes: 0 },
    { day: '2026-03-01', notes: 4 },
  ]);
  expect(dayBars([], 4)).toEqual([]);
});

test('pins that would cover each other share a mark', () => {
  const pins = [
    { id: 'lisbon', place: [38.7, -9.1] },
    { id: 'sintra', place: [38.8, -9.4] },
    { id: 'kyoto', place: [35, 135.8] },
  ] as const;
  expect(clusters(pins, 5)).toEqual([
    { place: [38.7, -9.1], ids: ['lisbon', 'sintra'] },
    { place: [35, 135.8], ids: ['kyoto'] },
  ]);
  expect(clusters(pins, 0.1)).toHaveLength(3);
});

test('photos are made smaller, never larger', () => {
  expect(fittedSize(4000, 3000, 1024)).toEqual({ width: 1024, height: 768 });
  expect(fittedSize(3000, 4000, 1024)).toEqual({ width: 768, height: 1024 });
  expect(fittedSize(12, 8, 1024)).toEqual({ width: 12, height: 8 });
  expect(fittedSize(4000, 1, 1024)).toEqual({ width: 1024, height: 1 });
});
