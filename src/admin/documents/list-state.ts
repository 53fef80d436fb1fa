/** What the user made of the list of a database. It stays while other screens are shown: who opens a document finds the list as it was. */
import { type Signal, signal } from '@preact/signals';
import { EVERYTHING, type Filter } from './row-sources/filter.ts';
import { NONE, type Selection } from './selection.ts';

export type Layout = 'ids' | 'table' | 'json';

export interface ListPlace {
  /** The row with the focus. */
  readonly active: number;
  /** Where a range began that Shift extends. */
  readonly anchor: number;
  /** What was selected apart from that range. */
  readonly base: Selection;
}

export interface ListSettings {
  readonly filter: Signal<Filter>;
  readonly layout: Signal<Layout>;
  readonly selection: Signal<Selection>;
  readonly place: Signal<ListPlace>;
  /** The first row in sight. */
  readonly top: Signal<number>;
  /** How many match: counted by reading all of them. */
  readonly counted: Signal<number | undefined>;
  /** The id of the document that the user went to, until they move on from there. */
  readonly marked: Signal<string | undefined>;
  /** Bulk changes also change the selected design documents. */
  readonly changesDesign: Signal<boolean>;
  /** The columns of the table if the user has not chosen any: the fields of the documents that were in sight first. */
  readonly usualColumns: Signal<readonly string[]>;
}

const START: ListPlace = { active: 0, anchor: 0, base: NONE };
const all = new Map<string, ListSettings>();

export function listSettings(database: string): ListSettings {
  const known = all.get(database);
  if (known !== undefined) return known;
  const made: ListSettings = {
    filter: signal<Filter>(EVERYTHING),
    layout: signal<Layout>('ids'),
    selection: signal(NONE),
    place: signal(START),
    top: signal(0),
    counted: signal<number | undefined>(undefined),
    marked: signal<string | undefined>(undefined),
    changesDesign: signal(false),
    usualColumns: signal<readonly string[]>([]),
  };
  all.set(database, made);
  return made;
}

/** Shows other documents: what was selected among the former ones is not selected any more. */
export function setFilter(settings: ListSettings, next: Filter): void {
  const { filter, selection, place, top, counted, marked, changesDesign, usualColumns } = settings;
  filter.value = next;
  selection.value = NONE;
  place.value = START;
  top.value = 0;
  counted.value = undefined;
  marked.value = undefined;
  changesDesign.value = false;
  usualColumns.value = [];
}

const columnsKey = (database: string) => `settee-utils/columns/${database}`;

/** The columns that the user chose for the table; undefined: none yet. */
export function storedColumns(database: string): readonly string[] | undefined {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(columnsKey(database)) ?? 'null');
    return Array.isArray(value) ? value.map(String) : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined: the usual ones again. */
export function storeColumns(database: string, columns: readonly string[] | undefined): void {
  if (columns === undefined) localStorage.removeItem(columnsKey(database));
  else localStorage.setItem(columnsKey(database), JSON.stringify(columns));
}
