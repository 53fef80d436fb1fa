/** On demand: what a query asks of a database, as requests of `_find`. */
import type { Database } from '../../database-client/contract.ts';
import type { Stored } from '../../interface/documents.ts';
import type { SubsetOptions } from './contract.ts';
import { isOrdered, type Order, orderOf, valueAt } from './order.ts';
import { type AnySelector, findWhole, MAX_DOCUMENTS, pagesOf, SelectorSource } from './sources.ts';
import type { Plan, Reader } from './subsets.ts';
import { allOf, translate } from './where.ts';

interface SelectorPlan {
  /** Without the cursor. */
  readonly where: AnySelector;
  /** After the cursor. */
  readonly from: AnySelector;
  /** At the cursor. */
  readonly current: AnySelector | undefined;
  readonly order: Order | undefined;
}

export interface SelectorReaderOptions<T extends object> {
  readonly database: Database<T>;
  /** What all documents of the collection have in common. */
  readonly selector: AnySelector;
  readonly conflicts: boolean;
  readonly createIndexes: boolean;
}

export class SelectorReader<T extends object> implements Reader<T, AnySelector> {
  readonly #options: SelectorReaderOptions<T>;

  constructor(options: SelectorReaderOptions<T>) {
    this.#options = options;
  }

  plan(options: SubsetOptions): Plan<T, AnySelector> {
    const plan = this.#plan(options);
    return { extent: allOf([plan.where, eitherOf(plan)]), read: (narrow) => this.#read(plan, narrow) };
  }

  source(selector: AnySelector): SelectorSource<T> {
    return new SelectorSource(this.#options.database, selector, this.#options.conflicts);
  }

  combine(selectors: readonly AnySelector[]): SelectorSource<T> {
    const isEverything = selectors.some((selector) => Object.keys(selector).length === 0);
    const [only] = selectors;
    return this.source(isEverything ? {} : selectors.length === 1 && only ? only : { $or: selectors });
  }

  #plan({ where, orderBy, limit, offset = 0, cursor }: SubsetOptions): SelectorPlan {
    const condition = translate(where);
    const from = translate(cursor?.whereFrom);
    const current = cursor && translate(cursor.whereCurrent);
    const isExact = condition.isExact && from.isExact;
    const whole = limit === undefined ? undefined : limit + (cursor ? 0 : offset);
    return {
      where: allOf([this.#options.selector, condition.selector]),
      from: from.selector,
      current: current?.selector,
      order: isExact && whole !== undefined ? orderOf(orderBy, whole) : undefined,
    };
  }

  /** @param narrow called with what is to be followed of it, if that is less than everything */
  async *#read(
    plan: SelectorPlan,
    narrow: (selector: AnySelector) => void,
  ): AsyncGenerator<readonly Stored<T>[], void, void> {
    const { where, from, current, order } = plan;
    if (order === undefined) return yield* this.#all(allOf([where, eitherOf(plan)]));
    if (current) yield* this.#all(allOf([where, current]));
    // Null comes first in both directions, but is last in a descending order of keys.
    const isNull = { [order.field]: { $eq: null } };
    const hasNull = order.direction === 'desc' && order.field !== '_id' && current === undefined;
    if (hasNull) yield* this.#all(allOf([where, isNull]));
    const read = yield* this.#ordered(allOf([where, from]), order, hasNull);
    if (read.isSameOrder && read.last !== undefined) {
      const bound = { [order.field]: { [order.direction === 'asc' ? '$lte' : '$gte']: read.last } };
      const upTo = order.direction === 'asc' ? bound : { $or: [bound, isNull] };
      narrow(allOf([where, eitherOf(plan), upTo]));
    }
    if (!read.isSameOrder) yield* this.#all(allOf([where, eitherOf(plan)]));
  }

  /** Up to the limit, and all that equal the last one in the order. */
  async *#ordered(
    selector: AnySelector,
    order: Order,
    hasNull: boolean,
  ): AsyncGenerator<readonly Stored<T>[], { readonly isSameOrder: boolean; readonly last?: unknown }, void> {
    const { field, direction, limit } = order;
    const bound = { [field]: { [hasNull ? '$gt' : '$gte']: null } };
    const query = { selector: allOf([selector, field === '_id' ? {} : bound]), sort: [{ [field]: direction }] };
    let bookmark: string | undefined;
    let last: Stored<T> | undefined;
    for (let missing = limit; missing > 0; ) {
      const count = Math.min(missing, MAX_DOCUMENTS);
      const page = await this.#find(order, { ...query, limit: count, ...(bookmark !== undefined && { bookmark }) });
      yield page.docs;
      if (!page.docs.every((row) => isOrdered(valueAt(row, field), order))) return { isSameOrder: false };
      last = page.docs.at(-1) ?? last;
      // Everything has been read.
      if (page.docs.length < count) return { isSameOrder: true };
      missing -= count;
      bookmark = page.bookmark;
    }
    if (last === undefined) return { isSameOrder: true };
    const value = valueAt(last, field);
    if (field !== '_id') {
      const behind = { [direction === 'asc' ? '$gt' : '$lt']: last._id };
      yield* this.#all(allOf([selector, { [field]: { $eq: value } }, { _id: behind }]));
    }
    return { isSameOrder: true, last: value };
  }

  #all(selector: AnySelector): AsyncGenerator<readonly Stored<T>[], void, void> {
    return pagesOf(this.source(selector));
  }

  async #find({ field }: Order, query: object) {
    const { database, conflicts, createIndexes } = this.#options;
    const find = () => findWhole(database, { ...query, ...(conflicts && { conflicts }) });
    try {
      return await find();
    } catch (error) {
      const isMissing = error instanceof Error && 'error' in error && error.error === 'no_usable_index';
      if (!createIndexes || !isMissing) throw error;
      const headers = { accept: 'application/json', 'content-type': 'application/json' };
      const body = JSON.stringify({ index: { fields: [field] } });
      const created = await database.fetch(`${database.address.replace(/\/+$/, '')}/_index`, {
        method: 'POST',
        headers,
        body,
      });
      if (!created.ok) throw error;
      return find();
    }
  }
}

/** What follows a cursor, and what is at it. */
function eitherOf({ from, current }: SelectorPlan): AnySelector {
  if (current === undefined || Object.keys(from).length === 0) return from;
  return Object.keys(current).length === 0 ? current : { $or: [from, current] };
}
