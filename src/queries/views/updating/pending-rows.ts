import { compareCodePoints } from '../../../base/collation/code-points.ts';
import { must } from '../../../base/shared/assert.ts';
import { sortInSteps } from '../../../base/shared/sort-in-steps.ts';
import { type CooperativeTask, mapInSteps, type TimeSlice } from '../../../base/shared/turn.ts';
import type { DocId } from '../../../database/documents/contract.ts';
import type { TreeChange } from '../../../storage/btree/contract.ts';
import type { MappedRows } from '../../sandbox/contract.ts';
import type { GroupDefinition } from '../trees/definition.ts';
import { encodeEmitted } from '../trees/index-state.ts';
import { compareRowKeys, compareTails, RowKey } from '../trees/row-key.ts';
import type { TreeOrder } from '../trees/tree-order.ts';
import { SortedRuns } from './sorted-runs.ts';
import { valuesInOrder } from './value-order.ts';

interface NewRow {
  readonly key: RowKey;
  readonly value: string;
}

/** The value of a document in the tree by-document; undefined if it emits nothing. */
export interface DocumentRows {
  readonly id: DocId;
  readonly emitted: string | undefined;
}

/** A position in the result of one map: the next document and the next row. */
interface MapCursor {
  readonly result: MappedRows;
  document: number;
  row: number;
}

/** Some of the rows of one document, by their numbers among its rows. */
interface RowRange {
  readonly id: DocId;
  readonly idText: string;
  readonly cursor: MapCursor;
  readonly from: number;
  readonly to: number;
}

/** Rows that are processed between two checks of the clock. */
const ROWS_PER_STEP = 256;

/** Rows that an update has made and not written into the trees yet. No document may be added twice. */
export class PendingRows {
  readonly #definition: GroupDefinition;
  readonly #documents = new SortedRuns<DocumentRows>((left, right) => compareCodePoints(left.id, right.id));
  readonly #rows: readonly SortedRuns<NewRow>[];
  readonly #orders: readonly TreeOrder[];
  #isAscending = false;
  #rowCount = 0;
  #documentCount = 0;
  #bytes = 0;

  constructor(definition: GroupDefinition, orders: readonly TreeOrder[]) {
    this.#definition = definition;
    this.#orders = orders;
    this.#rows = orders.map((order) => new SortedRuns((left, right) => this.#compare(left, right, order)));
  }

  /** Documents will be added in the order of their ids, so rows with equal keys need not be compared by id. */
  expectAscending(isAscending: boolean): void {
    this.#isAscending = isAscending;
  }

  /** Compares rows. Equal rows stay in the order in which they were added. */
  #compare(left: NewRow, right: NewRow, { compareKeys }: TreeOrder): number {
    const order = compareRowKeys(left.key, right.key, compareKeys);
    return order !== 0 || this.#isAscending ? order : compareTails(left.key, right.key);
  }

  get isEmpty(): boolean {
    return this.#documentCount === 0;
  }

  get rowCount(): number {
    return this.#rowCount + this.#documentCount;
  }

  /** Returns about as many characters as keys and values have. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds documents that emit nothing. */
  *addEmpty(ids: readonly DocId[]): CooperativeTask<void> {
    this.#documentCount += ids.length;
    yield* this.#documents.add(ids.map((id) => ({ id, emitted: undefined })));
  }

  /** Adds documents, with the rows that each map has emitted for them. A few of them may have very many rows. */
  *add(ids: readonly DocId[], results: readonly MappedRows[]): CooperativeTask<void> {
    const cursors: MapCursor[] = [];
    for (const result of results) {
      cursors.push({ result: { ...result, values: yield* valuesInOrder(result) }, document: 0, row: 0 });
    }
    const { trees } = this.#definition;
    const rows: NewRow[][] = trees.map(() => []);
    const leftOut = new Set(results.flatMap((result) => result.leftOut ?? []));
    const documents: DocumentRows[] = [];
    let rowsOfStep = 0;
    for (const [at, id] of ids.entries()) {
      const idText = JSON.stringify(id);
      const keys: string[][] = trees.map(() => []);
      for (const [tree, { map }] of trees.entries()) {
        const cursor = must(cursors[map]);
        const count = cursor.result.counts[cursor.document] ?? 0;
        for (let from = 0; from < count; from += ROWS_PER_STEP) {
          const to = Math.min(count, from + ROWS_PER_STEP);
          this.#readRows({ id, idText, cursor, from, to }, tree, must(keys[tree]), must(rows[tree]));
          rowsOfStep += to - from;
          if (rowsOfStep < ROWS_PER_STEP) continue;
          rowsOfStep = 0;
          yield;
        }
      }
      advance(cursors);
      documents.push({ id, emitted: encodeEmitted(keys, leftOut.has(at)) });
    }
    this.#documentCount += ids.length;
    yield* this.#documents.add(documents);
    for (const [tree, runs] of this.#rows.entries()) yield* runs.add(must(rows[tree]));
  }

  /** Appends some of the rows that a document has in one tree to `rows`, and their keys to `keys`. */
  #readRows({ id, idText, cursor, from, to }: RowRange, tree: number, keys: string[], rows: NewRow[]): void {
    const { result, row } = cursor;
    const { sortTexts } = must(this.#orders[tree]);
    for (let number = from; number < to; number++) {
      const keyText = must(result.keys[row + number]);
      const value = must(result.values[row + number]);
      keys.push(keyText);
      rows.push({ key: RowKey.of(keyText, id, idText, number, sortTexts), value });
      this.#bytes += keyText.length + value.length;
    }
    this.#rowCount += to - from;
  }

  /** Does one step of sorting. Returns false if nothing was left to do. */
  sortSome(): boolean {
    return this.#documents.mergeSome() || this.#rows.some((runs) => runs.mergeSome());
  }

  /** Removes everything, and returns it in order. */
  async take(timeSlice: TimeSlice): Promise<{ documents: DocumentRows[]; rows: NewRow[][] }> {
    const documents = await this.#documents.take(timeSlice);
    const rows: NewRow[][] = [];
    for (const runs of this.#rows) rows.push(await runs.take(timeSlice));
    this.#rowCount = 0;
    this.#documentCount = 0;
    this.#bytes = 0;
    return { documents, rows };
  }
}

/** Advances to the next document. */
function advance(cursors: readonly MapCursor[]): void {
  for (const cursor of cursors) {
    cursor.row += cursor.result.counts[cursor.document] ?? 0;
    cursor.document++;
  }
}

/** The keys that a document has emitted before, as JSON texts, by tree. */
export interface FormerKeys {
  readonly id: DocId;
  readonly keys: readonly (readonly string[])[];
}

type RowChange = TreeChange<RowKey>;

type CompareRowKeys = (left: RowKey, right: RowKey) => number;

/**
 * Yields the changes to one tree that replace the former rows of documents with new ones. They are lists in the order of the tree, to be
 * applied one after the other. There is a second list only if a new key compares as equal to a former one but has another
 * text, because one list can't have changes for both.
 */
export function* changesOf(
  former: readonly FormerKeys[],
  tree: number,
  rows: readonly NewRow[],
  compare: CompareRowKeys,
): CooperativeTask<(readonly RowChange[])[]> {
  const removed = yield* formerKeys(former, tree, compare);
  if (removed.length === 0) return [rows];
  const changes: RowChange[] = [];
  const rewritten: RowChange[] = [];
  let at = 0;
  for (const row of rows) {
    let order = at < removed.length ? compare(must(removed[at]), row.key) : 1;
    for (; order < 0; order = at < removed.length ? compare(must(removed[at]), row.key) : 1) {
      changes.push({ key: must(removed[at]), value: undefined });
      at++;
      if (at % ROWS_PER_STEP === 0) yield;
    }
    if (order === 0) {
      const key = must(removed[at]);
      if (key.text !== row.key.text) rewritten.push({ key, value: undefined });
      at++;
    }
    changes.push(row);
    if (changes.length % ROWS_PER_STEP === 0) yield;
  }
  for (; at < removed.length; at++) changes.push({ key: must(removed[at]), value: undefined });
  return rewritten.length === 0 ? [changes] : [rewritten, changes];
}

function* formerKeys(former: readonly FormerKeys[], tree: number, compare: CompareRowKeys): CooperativeTask<RowKey[]> {
  const rowKeys = yield* mapInSteps(formerRows(former, tree), ({ id, idText, keyText, number }) =>
    RowKey.of(keyText, id, idText, number),
  );
  return yield* sortInSteps(rowKeys, compare);
}

function* formerRows(former: readonly FormerKeys[], tree: number) {
  for (const { id, keys } of former) {
    const idText = JSON.stringify(id);
    for (const [number, keyText] of (keys[tree] ?? []).entries()) yield { id, idText, keyText, number };
  }
}
