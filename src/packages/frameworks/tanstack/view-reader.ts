/** On demand: what a query asks of a view, as requests of its rows and their documents (docs/tanstack.md#a-view-on-demand). */
import type { Stored } from '../../interface/documents.ts';
import type { KeyFields, SubsetOptions, ViewRange } from './contract.ts';
import { isOrdered, type Order, orderOf } from './order.ts';
import { MAX_DOCUMENTS, pagesOf } from './sources.ts';
import type { Plan, Reader } from './subsets.ts';
import { boundsOf, type KeyConditions, keyValue, type Span, translateKeys } from './view-keys.ts';
import {
  idsOf,
  type KeyRange,
  type Rows,
  type ViewPosition,
  ViewSource,
  type ViewSourceOptions,
} from './view-source.ts';

export interface ViewReaderOptions<T extends object> extends ViewSourceOptions<T> {
  /** What the key consists of. None: nothing is known of it. */
  readonly keyFields: KeyFields;
  /** Of all rows of the collection; empty if there are `keyFields`. */
  readonly range: ViewRange;
}

type Ranges = readonly KeyRange[];
type Documents<T extends object> = AsyncGenerator<readonly Stored<T>[], void, void>;

interface OrderedRead {
  /** The one range that is read in the order. */
  readonly range: KeyRange;
  readonly prefix: readonly unknown[];
  readonly span: Span | undefined;
  /** Of rows at the cursor. */
  readonly current: Ranges;
  /** Of rows that come first although their keys do not. */
  readonly nulls: Ranges;
  readonly order: Order;
}

export class ViewReader<T extends object> implements Reader<T, Ranges> {
  readonly #options: ViewReaderOptions<T>;
  #checked: Promise<void> | undefined;

  constructor(options: ViewReaderOptions<T>) {
    this.#options = options;
  }

  plan({ where, orderBy = [], limit, offset = 0, cursor }: SubsetOptions): Plan<T, Ranges> {
    const from = this.#translate([where, cursor?.whereFrom]);
    const current = cursor ? this.#translate([where, cursor.whereCurrent]).ranges : [];
    const whole = limit === undefined ? undefined : limit + (cursor ? 0 : offset);
    const order = from.isExact && whole !== undefined && orderBy.length > 0 ? orderOf(orderBy, whole) : undefined;
    const ordered = order && this.#ordered(from, order, current, cursor === undefined);
    const all = [...current, ...from.ranges];
    if (ordered === undefined) return { extent: all, read: () => this.#whenChecked(this.#all(all)) };
    return { extent: [], read: (narrow) => this.#whenChecked(this.#read(ordered, narrow)) };
  }

  async *#whenChecked(documents: Documents<T>): Documents<T> {
    this.#checked ??= this.#checkKeys();
    try {
      await this.#checked;
    } catch (error) {
      this.#checked = undefined;
      throw error;
    }
    yield* documents;
  }

  /** Keys of another kind are in none of the ranges: a query would show nothing, without a reason. */
  async #checkKeys(): Promise<void> {
    const { database, view, keyFields } = this.#options;
    if (keyFields.length === 0) return;
    for (const descending of [false, true]) {
      const { rows } = await database.view(view, { limit: 1, descending });
      const [row] = rows;
      if (row === undefined || Array.isArray(row.key) === Array.isArray(keyFields)) return;
    }
    throw new Error(
      Array.isArray(keyFields)
        ? `The keys of the view ${view} are no arrays: let "keyFields" be a string, the one member that is the key.`
        : `The keys of the view ${view} are arrays: let "keyFields" be an array of the members in them.`,
    );
  }

  source(ranges: Ranges): ViewSource<T> {
    return new ViewSource(this.#options, ranges);
  }

  combine(extents: readonly Ranges[]): ViewSource<T> {
    return this.source(extents.flat());
  }

  #translate(expressions: readonly ({ readonly type: string } | undefined)[]): KeyConditions {
    const { keyFields, range } = this.#options;
    const conditions = translateKeys(keyFields, expressions);
    if (keyFields.length > 0) return conditions;
    const bounds = wholeRange(range);
    return { ...conditions, ranges: conditions.ranges.map((known) => ({ ...known, bounds })) };
  }

  /** Undefined: the rows are in another order. */
  #ordered(from: KeyConditions, order: Order, current: Ranges, isFirst: boolean): OrderedRead | undefined {
    const { keyFields } = this.#options;
    const { prefix, span } = from;
    const [range] = from.ranges;
    if (prefix === undefined || range === undefined) return undefined;
    const field =
      typeof keyFields === 'string' ? (prefix.length === 0 ? keyFields : undefined) : keyFields[prefix.length];
    if (field !== order.field) return undefined;
    // Null comes first in both directions, but is last in a descending order of keys.
    const hasNulls = order.direction === 'desc' && isFirst && span === undefined;
    const nulls = hasNulls ? [this.#within(range, prefix, [null, null])] : [];
    const others: Span | undefined = order.direction === 'desc' && span === undefined ? [false, undefined] : span;
    return { range: this.#within(range, prefix, others), prefix, span: others, current, nulls, order };
  }

  #within(range: KeyRange, prefix: readonly unknown[], span: Span | undefined): KeyRange {
    return { ...range, bounds: boundsOf(this.#options.keyFields, prefix, span) };
  }

  #all(ranges: Ranges): Documents<T> {
    return pagesOf(this.source(ranges));
  }

  /**
   * Up to the limit, and all that equal the last one in the order. Only what has been read is followed: a row that changes before its turn is read
   * as it is then, and a range of a large view is not searched for it.
   */
  async *#read(ordered: OrderedRead, narrow: (ranges: Ranges) => void): Documents<T> {
    const { range, prefix, span, current, nulls, order } = ordered;
    const before = [...current, ...nulls];
    narrow(before);
    yield* this.#all(before);
    const source = this.source([range]);
    const isDescending = order.direction === 'desc';
    const seen = new Set<string>();
    const [low, high] = span ?? [undefined, undefined];
    let at: ViewPosition | undefined;
    let last: unknown;
    for (let count = order.limit; seen.size < order.limit; ) {
      const { rows, next } = await source.rows(range, at, Math.min(count, MAX_DOCUMENTS), isDescending);
      const documents = await source.documents(idsOf(rows), range.rest);
      for (const { _id } of documents) seen.add(_id);
      const values = rows.map(({ key }) => keyValue(this.#options.keyFields, key, prefix.length));
      const isSame = values.every((value) => isOrdered(value, { ...order, field: '' }));
      last = values.at(-1);
      if (!isSame || next === undefined) narrow([...before, range]);
      else if (last !== undefined) {
        const read: Span = isDescending ? [last, high] : [low, last];
        narrow([...before, this.#within(range, prefix, read)]);
      }
      yield documents;
      if (!isSame) return yield* this.#all([range]);
      if (next === undefined) return;
      at = next;
      if (seen.size >= order.limit) break;
      // Where few documents are meant, more are looked through at once.
      const isSparse = 2 * documents.length < Math.min(count, MAX_DOCUMENTS);
      count = isSparse ? 2 * count : order.limit - seen.size;
    }
    const equals = this.#within(range, prefix, [last, last]);
    while (at !== undefined && keyValue(this.#options.keyFields, at.startkey, prefix.length) === last) {
      const { rows, next }: Rows = await source.rows(equals, at, MAX_DOCUMENTS, isDescending);
      yield await source.documents(idsOf(rows), range.rest);
      at = next;
    }
  }
}

/** One key is a range, too. */
export function wholeRange({ key, ...others }: ViewRange): KeyRange['bounds'] {
  return key === undefined ? others : { startkey: key, endkey: key };
}
