/** Which documents of a list are selected: some by their ids, or all that match except some. */

export interface Selection {
  /** All that match are selected, except `ids`. */
  readonly isInverse: boolean;
  readonly ids: ReadonlySet<string>;
}

export const NONE: Selection = { isInverse: false, ids: new Set() };
export const ALL: Selection = { isInverse: true, ids: new Set() };

export function isSelected({ isInverse, ids }: Selection, id: string): boolean {
  return ids.has(id) !== isInverse;
}

export function isEmpty({ isInverse, ids }: Selection): boolean {
  return !isInverse && ids.size === 0;
}

export function toggled(selection: Selection, id: string): Selection {
  return withIds(selection, [id], !isSelected(selection, id));
}

/** The selection with the documents selected, or not. */
export function withIds({ isInverse, ids }: Selection, changed: Iterable<string>, areSelected: boolean): Selection {
  const next = new Set(ids);
  for (const id of changed) {
    if (areSelected === isInverse) next.delete(id);
    else next.add(id);
  }
  return { isInverse, ids: next };
}

/** How many are selected; undefined if that depends on a number of matches that is not known. */
export function countOf({ isInverse, ids }: Selection, matching: number | undefined): number | undefined {
  if (!isInverse) return ids.size;
  return matching === undefined ? undefined : Math.max(0, matching - ids.size);
}
