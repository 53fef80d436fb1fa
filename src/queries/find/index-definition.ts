/**
 * Indexes for selectors as they are stored: views of design documents whose language is `query`. The form is that of
 * other databases with this interface, so that indexes can be replicated between them (docs/http/find.md#indexes-of-selectors).
 * `IndexCatalog` finds those of a database.
 */

import { isShallow } from '../../base/json/nesting.ts';
import { isObject } from '../../base/json/objects.ts';
import { parseInTurns } from '../../base/json/parse-in-steps.ts';
import { must } from '../../base/shared/assert.ts';
import { atOnce, type CooperativeTask, eachInSteps, runCooperatively } from '../../base/shared/turn.ts';
import type { DocId } from '../../database/documents/contract.ts';
import { DESIGN_RANGE } from '../../database/documents/identifiers.ts';
import type { Database, DocumentRow, Snapshot } from '../../database/store/contract.ts';
import type { DesignDocument } from '../views/contract.ts';
import { parseSort, type SortField } from './find-query.ts';
import { excerpt, queryError } from './query-error.ts';
import { type FieldPath, parseFieldPath } from './selectors/field-path.ts';
import { EVERYTHING, type Selector, selectorJson } from './selectors/selector.ts';
import { parseSelector } from './selectors/selector-parser.ts';

export const QUERY_LANGUAGE = 'query';

interface IndexColumn extends SortField {
  readonly path: FieldPath;
}

/** The `map` member of a view: the fields that make the key, and the documents that the index has. */
export interface IndexMap {
  readonly columns: readonly IndexColumn[];
  readonly filter: Selector;
  /** The filter in its normal form; an empty object if the index has all documents. */
  readonly filterJson: Readonly<Record<string, unknown>>;
}

export interface JsonIndex extends IndexMap {
  readonly type: 'json';
  /** With `_design/`. */
  readonly design: DocId;
  readonly name: string;
}

/** Reads a view's `map` member. Fails with 400, as the parsers of selectors and sorts do. */
export function parseIndexMap(map: unknown): IndexMap {
  if (!isShallow(map))
    throw queryError('invalid_index', 'The index is nested too deeply. Give it a simpler partial_filter_selector.');
  if (!isObject(map)) throw queryError('invalid_index', `A JSON index must be an object, not: ${excerpt(map)}`);
  const { fields, partial_filter_selector: filter } = map;
  const listed = isObject(fields) ? Object.entries(fields).map(([name, order]) => ({ [name]: order })) : fields;
  const columns = atOnce(parseSort(listed)).map((field) => ({ ...field, path: parseFieldPath(field.field) }));
  if (columns.length === 0)
    throw queryError('invalid_index', 'An index needs at least one field. Name it in "fields".');
  const selector = filter === undefined || filter === null ? EVERYTHING : parseSelector(filter);
  const filterJson = selectorJson(selector);
  // The normal form of a filter, from which it is read again, may be deeper than the filter itself.
  if (!isShallow(filterJson))
    throw queryError('invalid_index', 'The index is nested too deeply. Give it a simpler partial_filter_selector.');
  return { columns, filter: selector, filterJson };
}

/**
 * Yields the indexes of a design document, whose value is `document`. Leaves out views that are not indexes, and those whose rows
 * are in a different order from the one in which selectors compare.
 */
export function* indexesOf(design: DocId, document: unknown): CooperativeTask<readonly JsonIndex[]> {
  if (!isObject(document) || document['language'] !== QUERY_LANGUAGE || !isObject(document['views'])) return [];
  const { options } = document;
  const indexes: JsonIndex[] = [];
  yield* eachInSteps(Object.entries(document['views']), ([name, view]) => {
    try {
      if (!isObject(view) || isRaw(view['options']) || isRaw(options)) return;
      indexes.push({ type: 'json', design, name, ...parseIndexMap(view['map']) });
    } catch {
      // An index of another kind, such as a text index from another server.
    }
  });
  return indexes;
}

function isRaw(options: unknown): boolean {
  return isObject(options) && options['collation'] === 'raw';
}

export function hasFilter(index: IndexMap): boolean {
  return Object.keys(index.filterJson).length > 0;
}

/** An index in the form of `GET _index`. */
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

/** The view that stores an index; `definition` is what the client wrote. */
export function indexView(map: IndexMap, definition: unknown): Readonly<Record<string, unknown>> {
  const fields = Object.fromEntries(map.columns.map(({ field, direction }) => [field, direction]));
  // An object can't hold every list of fields: it puts names such as "7" first, and has no name twice.
  const names = Object.keys(fields);
  const isInOrder = map.columns.every(({ field }, position) => field === names[position]);
  const list = map.columns.map(({ field, direction }) => ({ [field]: direction }));
  return {
    map: { fields: isInOrder ? fields : list, partial_filter_selector: map.filterJson },
    reduce: '_count',
    options: { def: definition },
  };
}

/** The index that every database has, of its documents by id, in the form of `GET _index`. */
export const ALL_DOCUMENTS_JSON = {
  ddoc: null,
  name: '_all_docs',
  type: 'special',
  def: { fields: [{ _id: 'asc' }] },
};

export interface StoredIndex {
  readonly index: JsonIndex;
  readonly design: DesignDocument;
}

interface KnownDesign {
  readonly rev: string;
  readonly indexes: readonly StoredIndex[];
}

/**
 * Finds the indexes of a database. What a design document defines is kept with its revision, so that reading the catalog again
 * costs a walk over the ids and revisions of the design documents.
 */
export class IndexCatalog {
  readonly #known = new WeakMap<Database, ReadonlyMap<string, KnownDesign>>();

  /** Returns the indexes in the order of their design documents' ids. */
  async read(database: Database, snapshot: Snapshot): Promise<readonly StoredIndex[]> {
    const former = this.#known.get(database);
    const designs = new Map<string, KnownDesign>();
    for await (const rows of snapshot.rows(DESIGN_RANGE)) {
      for (const row of rows) {
        const known = former?.get(row.id);
        designs.set(row.id, known?.rev === row.rev ? known : await readDesign(snapshot, row));
      }
    }
    this.#known.set(database, designs);
    return [...designs.values()].flatMap(({ indexes }) => indexes);
  }
}

async function readDesign(snapshot: Snapshot, row: DocumentRow): Promise<KnownDesign> {
  const { id, rev } = row;
  const { leaves } = await row.record();
  const body = (await snapshot.body(must(leaves[0]))) ?? '{}';
  const design: DesignDocument = { id, rev, body };
  const indexes = await runCooperatively(indexesOf(id, await parseInTurns(body)));
  return { rev, indexes: indexes.map((index) => ({ index, design })) };
}
