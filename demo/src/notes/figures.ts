/** Sums and places as the page draws them, from the rows of reductions. */
import type { Place } from './note.ts';

/** A row of `sums` with `group_level=1`: notes and bytes of photos. */
export interface SumRow {
  readonly key: readonly [kind: string];
  readonly value: readonly [notes: number, bytes: number];
}

/** A row of `days` with `group_level=1`. */
export interface DayRow {
  readonly key: readonly [day: string];
  readonly value: number;
}

export interface DayBar {
  /** As in `2026-06-01`. */
  readonly day: string;
  readonly notes: number;
}

const DAY_MS = 86_400_000;

/** Consecutive days that end with the latest one that has notes; days without notes, too. */
export function dayBars(rows: readonly DayRow[], count: number): readonly DayBar[] {
  const notes = new Map(rows.map(({ key: [day], value }) => [day, value]));
  const known = [...notes.keys()].filter((day) => !Number.isNaN(Date.parse(`${day}T00:00Z`)));
  const last = known.sort().at(-1);
  if (last === undefined) return [];
  const end = Date.parse(`${last}T00:00Z`);
  return Array.from({ length: count }, (_, index) => {
    const day = new Date(end - (count - 1 - index) * DAY_MS).toISOString().slice(0, 10);
    return { day, notes: notes.get(day) ?? 0 };
  });
}

export interface Pin {
  readonly id: string;
  readonly place: Place;
}

export interface Cluster {
  readonly place: Place;
  readonly ids: readonly string[];
}

/** Pins closer than this many degrees to the first of a cluster share one mark, where the first is. */
export function clusters(pins: readonly Pin[], degrees: number): readonly Cluster[] {
  const found: { place: Place; ids: string[] }[] = [];
  for (const { id, place } of pins) {
    const near = found.find((one) => distance(one.place, place) < degrees);
    if (near) near.ids.push(id);
    else found.push({ place, ids: [id] });
  }
  return found;
}

/** On the flat map. */
function distance([oneLatitude, oneLongitude]: Place, [latitude, longitude]: Place): number {
  return Math.hypot(oneLatitude - latitude, oneLongitude - longitude);
}
