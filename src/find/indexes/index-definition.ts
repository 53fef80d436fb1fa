/**
 * Indexes for selectors as they are stored: views of design documents whose language is `query`, in the form that this
 * interface family gives them, so that replication carries them between its members (completion 23).
 */
import type { DocId } from '../../documents/contract.ts';
import { isShallow } from '../../json/nesting.ts';
import { refusal, shown } from '../find-error.ts';
import { parseSort, type SortField } from '../planning/sort.ts';
import { type FieldPath, isObject, parseFieldPath } from '../selectors/field-path.ts';
import { EVERYTHING, parseSelector, type Selector } from '../selectors/selector.ts';

export const QUERY_LANGUAGE = 'query';

export interface IndexColumn extends SortField {
  readonly path: FieldPath;
}

/** What a view's `map` member says: which fields make the key, and of which documents. */
export interface IndexMap {
  readonly columns: readonly IndexColumn[];
  readonly filter: Selector;
  /** As it was written; an empty object where the index has all documents. */
  readonly filterJson: Readonly<Record<string, unknown>>;
}

export interface JsonIndex extends IndexMap {
  readonly type: 'json';
  /** With `_design/`. */
  readonly design: DocId;
  readonly name: string;
}

/** Reads a view's `map` member. Fails with 400 as selectors and sorts do. */
export function parseIndexMap(map: unknown): IndexMap {
  if (!isShallow(map)) throw refusal('invalid_index', 'The index is nested too deeply.');
  if (!isObject(map)) throw refusal('invalid_index', `JSON indexes must be an object, not: ${shown(map)}`);
  const { fields, partial_filter_selector: filter } = map;
  const listed = isObject(fields) ? Object.entries(fields).map(([name, order]) => ({ [name]: order })) : fields;
  const columns = parseSort(listed).map((field) => ({ ...field, path: parseFieldPath(field.field) }));
  if (columns.length === 0) throw refusal('invalid_index', 'An index needs at least one field. Name it in "fields".');
  const isPartial = isObject(filter) && Object.keys(filter).length > 0;
  return {
    columns,
    filter: filter === undefined ? EVERYTHING : parseSelector(filter),
    filterJson: isPartial ? filter : {},
  };
}

/**
 * The indexes of a design document, `body` being its JSON text. Views that are none are passed over, and those in another
 * order than that of selectors.
 */
export function indexesOf(design: DocId, body: string): readonly JsonIndex[] {
  const document: unknown = JSON.parse(body);
  if (!isObject(document) || document['language'] !== QUERY_LANGUAGE || !isObject(document['views'])) return [];
  const { options } = document;
  return Object.entries(document['views']).flatMap(([name, view]) => {
    try {
      if (!isObject(view) || isRaw(view['options']) || isRaw(options)) return [];
      return [{ type: 'json' as const, design, name, ...parseIndexMap(view['map']) }];
    } catch {
      // Text indexes of other servers, for example.
      return [];
    }
  });
}

function isRaw(options: unknown): boolean {
  return isObject(options) && options['collation'] === 'raw';
}

export function hasFilter(index: IndexMap): boolean {
  return Object.keys(index.filterJson).length > 0;
}

/** As `GET _index` shows it. */
export function indexJson(index: JsonIndex): Readonly<Record<string, unknown>> {
  const fields = index.columns.map(({ field, direction }) => ({ [field]: direction }));
  const filter = hasFilter(index) ? { partial_filter_selector: index.filterJson } : {};
  return {
    ddoc: index.design,
    name: index.name,
    type: index.type,
    partitioned: false,
    def: { fields, ...filter },
  };
}

/** The view that an index is stored as; `definition` is what the client wrote. */
export function indexView(map: IndexMap, definition: unknown): Readonly<Record<string, unknown>> {
  const fields = Object.fromEntries(map.columns.map(({ field, direction }) => [field, direction]));
  // Objects put names such as "7" first, and have no name twice.
  const names = Object.keys(fields);
  const isInOrder = map.columns.every(({ field }, place) => field === names[place]);
  const list = map.columns.map(({ field, direction }) => ({ [field]: direction }));
  return {
    map: { fields: isInOrder ? fields : list, partial_filter_selector: map.filterJson },
    reduce: '_count',
    options: { def: definition },
  };
}

/** The index that every database has: its documents by id. */
export const ALL_DOCUMENTS_JSON = {
  ddoc: null,
  name: '_all_docs',
  type: 'special',
  def: { fields: [{ _id: 'asc' }] },
};
