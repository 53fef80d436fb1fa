/** The rows of a live view, kept up to date from its events. */

export interface ViewRow {
  readonly id: string;
  readonly key: string;
  readonly value: RowValue;
}

/** What the view `notes` emits: enough for list and map. */
export interface RowValue {
  readonly rev: string;
  readonly text?: unknown;
  readonly kind?: unknown;
  readonly tags?: unknown;
  readonly latlng?: unknown;
  readonly by?: unknown;
  readonly photo: boolean;
  /** How many other versions there are. */
  readonly conflicts: number;
}

/** All rows, or the differences. */
export interface ViewEvent {
  readonly rows?: readonly ViewRow[];
  readonly added?: readonly ViewRow[];
  readonly changed?: readonly ViewRow[];
  readonly removed?: readonly ViewRow[];
}

export type Rows = ReadonlyMap<string, ViewRow>;

/** Each document has one row, so that ids tell them apart. */
export function applyEvent(rows: Rows, { rows: all, added = [], changed = [], removed = [] }: ViewEvent): Rows {
  const next = new Map(all === undefined ? rows : all.map((row) => [row.id, row]));
  for (const { id } of removed) next.delete(id);
  for (const row of [...added, ...changed]) next.set(row.id, row);
  return next;
}

/** What is different after an event. */
export interface Difference {
  readonly arrived: readonly ViewRow[];
  readonly changed: readonly ViewRow[];
  readonly gone: readonly ViewRow[];
}

export function difference(before: Rows, after: Rows): Difference {
  const all = [...after.values()];
  return {
    arrived: all.filter(({ id }) => !before.has(id)),
    changed: all.filter(({ id, value }) => before.has(id) && isOther(before.get(id)?.value, value)),
    gone: [...before.values()].filter(({ id }) => !after.has(id)),
  };
}

/** The latest first; of the same minute, those with the later ids, which begin with the time of their writing. */
export function inOrder(rows: Rows): readonly ViewRow[] {
  return [...rows.values()].sort((one, other) => compare(other.key, one.key) || compare(other.id, one.id));
}

/** Rows that had more versions before, and have one now. */
export function healed(before: Rows, after: Rows): readonly ViewRow[] {
  return [...after.values()].filter(
    ({ id, value }) => value.conflicts === 0 && (before.get(id)?.value.conflicts ?? 0) > 0,
  );
}

function isOther(before: RowValue | undefined, after: RowValue): boolean {
  return before?.rev !== after.rev || before.conflicts !== after.conflicts;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
