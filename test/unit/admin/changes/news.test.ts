import { describe, expect, test } from 'vitest';
import type { ChangeEvent } from '../../../../src/admin/changes/follow.ts';
import { type Came, EMPTY, type LiveChanges, News, next } from '../../../../src/admin/changes/news.ts';

function change(number: number): ChangeEvent {
  return { seq: number, id: `doc-${number}`, rev: '1-a', isDeleted: false, others: 0 };
}

function came(count: number, from = 1): Came {
  const news = new News();
  for (let number = from; number < from + count; number += 1) news.add(change(number), true);
  return news.take();
}

function tick(
  former: LiveChanges,
  what: Came,
  more: { isPaused?: boolean; held?: readonly ChangeEvent[]; seconds?: number } = {},
) {
  return next(former, { came: what, seconds: 1, held: [], isPaused: false, ...more });
}

describe('news of changes', () => {
  test('count all, and keep the newest 200 of those that are wanted', () => {
    const news = new News();
    for (let number = 1; number <= 2000; number += 1) news.add(change(number), number % 2 === 0);
    const { count, wanted, events } = news.take();
    expect([count, wanted, events.length, events.at(0)?.id, events.at(-1)?.id]).toEqual([
      2000,
      1000,
      200,
      'doc-1602',
      'doc-2000',
    ]);
    expect(news.take()).toEqual({ count: 0, wanted: 0, events: [] });
  });
});

describe('the list of changes', () => {
  test('has the newest first', () => {
    const first = tick(EMPTY, came(2));
    const second = tick(first, came(1, 3));
    expect(second.events.map(({ id }) => id)).toEqual(['doc-3', 'doc-2', 'doc-1']);
    expect(second).toMatchObject({ rate: 1, skipped: 0, isTooMany: false });
  });

  test('lists 200 of a second, and only counts 201', () => {
    expect(tick(EMPTY, came(200))).toMatchObject({ rate: 200, skipped: 0, isTooMany: false });
    const stormy = tick(EMPTY, came(201));
    expect(stormy).toMatchObject({ events: [], rate: 201, skipped: 201, isTooMany: true });
    expect(tick(stormy, came(0))).toMatchObject({ rate: 0, skipped: 201, isTooMany: false });
  });

  test('lists few that match a filter however many others come', () => {
    const news = new News();
    for (let number = 1; number <= 2000; number += 1) news.add(change(number), number === 7);
    const state = tick(EMPTY, news.take());
    expect(state.events.map(({ id }) => id)).toEqual(['doc-7']);
    expect(state).toMatchObject({ rate: 2000, skipped: 0, isTooMany: false });
  });

  test('is as it was during a pause, and gets what was held afterwards', () => {
    const paused = tick(tick(EMPTY, came(1)), came(3, 2), { isPaused: true });
    expect(paused.events.map(({ id }) => id)).toEqual(['doc-1']);
    expect(paused.waiting).toBe(3);
    const goesOn = tick(paused, came(0), { held: came(3, 2).events });
    expect(goesOn.events.map(({ id }) => id)).toEqual(['doc-4', 'doc-3', 'doc-2', 'doc-1']);
    expect(goesOn.waiting).toBe(0);
  });

  test('counts by the second where the timer comes late', () => {
    expect(tick(EMPTY, came(1000), { seconds: 10 })).toMatchObject({ rate: 100, skipped: 0, isTooMany: false });
  });

  test('is the same object in quiet seconds', () => {
    expect(tick(EMPTY, came(0))).toBe(EMPTY);
  });

  test('has at most 200 changes', () => {
    let state: LiveChanges = EMPTY;
    for (let second = 0; second < 10; second += 1) state = tick(state, came(150, second * 150));
    expect(state.events.length).toBe(200);
    expect(state.events[0]?.id).toBe('doc-1499');
  });
});
