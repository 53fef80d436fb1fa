/** On demand: what a query asks for becomes requests, and a set of documents that is followed from then on. */
import type { Database } from '../../database-client/contract.ts';
import type { Stored } from '../../interface/documents.ts';
import type { OrderByClause, SubsetOptions } from './contract.ts';
import { type AnySelector, findWhole, MAX_DOCUMENTS, SelectorSource, type Source } from './sources.ts';
import type { Load } from './sync-run.ts';
import { allOf, beginsWithDigit, fieldOf, translate } from './where.ts';

/** Documents in an order, up to a number of them. */
interface Order {
  readonly field: string;
  readonly direction: 'asc' | 'desc';
  readonly limit: number;
  readonly locale: string | undefined;
}

interface Plan {
  /** Without the cursor. */
  readonly where: AnySelector;
  /** After the cursor. */
  readonly from: AnySelector;
  /** At the cursor. */
  readonly current: AnySelector | undefined;
  readonly order: Order | undefined;
}

interface Range<T extends object> {
  selector: AnySelector;
  source: SelectorSource<T>;
  /** Whether some of it may have been read. */
  isBegun: boolean;
}

export interface SubsetsOptions<T extends object> {
  readonly database: Database<T>;
  /** What all documents of the collection have in common. */
  readonly selector: AnySelector;
  readonly conflicts: boolean;
  readonly createIndexes: boolean;
}

/** What queries have asked for and still need. */
export class Subsets<T extends object> {
  readonly #options: SubsetsOptions<T>;
  readonly #ranges = new Map<SubsetOptions, Range<T>>();

  constructor(options: SubsetsOptions<T>) {
    this.#options = options;
  }

  /** What has been read, as it is followed when its turn comes. */
  sources(): readonly Source<T>[] {
    const begun = [...this.#ranges].filter(([, { isBegun }]) => isBegun);
    return begun.map(([options, range]) => ({
      maxIds: MAX_DOCUMENTS,
      page: async (at) => (this.#ranges.has(options) ? range.source.page(at) : { documents: [], next: undefined }),
      among: (ids) => range.source.among(ids),
    }));
  }

  combined(): SelectorSource<T> | undefined {
    const selectors = [...this.#ranges.values()].map(({ selector }) => selector);
    if (selectors.length === 0) return undefined;
    const isEverything = selectors.some((selector) => Object.keys(selector).length === 0);
    const [only] = selectors;
    return this.#source(isEverything ? {} : selectors.length === 1 && only ? only : { $or: selectors });
  }

  /** Changes of its documents are no longer followed. */
  remove(options: SubsetOptions): void {
    this.#ranges.delete(options);
  }

  /** @param settled called once, with the error if it failed */
  load(options: SubsetOptions, settled: (error?: unknown) => void): Load {
    const plan = this.#plan(options);
    // Followed before it is read, so that nothing is missed in between.
    const range: Range<T> = { ...this.#followed(allOf([plan.where, eitherOf(plan)])), isBegun: false };
    this.#ranges.set(options, range);
    const narrow = (selector: AnySelector) => Object.assign(range, this.#followed(selector));
    let reading = this.#read(plan, narrow);
    const shown: unknown[] = [];
    return {
      step: async (apply) => {
        range.isBegun = true;
        try {
          const { value, done } = await reading.next();
          if (value) shown.push(apply(value));
          return done === true;
        } catch (error) {
          // It has ended with the error: another one begins again.
          reading = this.#read(plan, narrow);
          throw error;
        }
      },
      isOver: () => options.signal?.aborted === true || this.#ranges.get(options) !== range,
      // While a change of the app is stored, what was read becomes visible only after it.
      done: () => {
        if (options.signal?.aborted) this.remove(options);
        void Promise.all(shown).then(() => settled(), settled);
      },
      failed: (error) => {
        this.#ranges.delete(options);
        settled(error);
      },
    };
  }

  #source(selector: AnySelector): SelectorSource<T> {
    return new SelectorSource(this.#options.database, selector, this.#options.conflicts);
  }

  #followed(selector: AnySelector): { selector: AnySelector; source: SelectorSource<T> } {
    return { selector, source: this.#source(selector) };
  }

  #plan({ where, orderBy, limit, offset = 0, cursor }: SubsetOptions): Plan {
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
  async *#read(plan: Plan, narrow: (selector: AnySelector) => void): AsyncGenerator<readonly Stored<T>[], void, void> {
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

  async *#all(selector: AnySelector): AsyncGenerator<readonly Stored<T>[], void, void> {
    const source = this.#source(selector);
    let at: unknown;
    do {
      const page = await source.page(at);
      yield page.documents;
      at = page.next;
    } while (at !== undefined);
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
function eitherOf({ from, current }: Plan): AnySelector {
  if (current === undefined || Object.keys(from).length === 0) return from;
  return Object.keys(current).length === 0 ? current : { $or: [from, current] };
}

/** By the first field only: a query gets all documents whose first field is the same, and orders them itself. */
function orderOf(orderBy: readonly OrderByClause[] = [], limit: number): Order | undefined {
  const [clause] = orderBy;
  if (clause === undefined) return { field: '_id', direction: 'asc', limit, locale: undefined };
  const { direction, nulls, stringSort, locale } = clause.compareOptions;
  const field = fieldOf(clause.expression);
  if (field === undefined || nulls !== 'first') return undefined;
  if (field === '_id' && stringSort !== 'lexical') return undefined;
  return { field, direction, limit, locale: stringSort === 'locale' ? locale : undefined };
}

/** Whether the database has such a value at the same place as TanStack DB. */
function isOrdered(value: unknown, { field, locale }: Order): boolean {
  if (typeof value !== 'string') return value === null || typeof value === 'number' || typeof value === 'boolean';
  return field === '_id' || locale === 'en' || beginsWithDigit(value);
}

function valueAt(row: object, field: string): unknown {
  const names = field.split(/(?<!\\)\./).map((name) => name.replaceAll(/\\(.)/g, '$1'));
  return names.reduce<unknown>(
    (value, name) => (typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined),
    row,
  );
}
