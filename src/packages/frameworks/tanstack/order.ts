/** The order of a query, as a database can read it (docs/tanstack.md#what-is-asked-of-the-database). */
import type { OrderByClause } from './contract.ts';
import { beginsWithDigit, fieldOf } from './where.ts';

/** Documents in an order, up to a number of them. */
export interface Order {
  readonly field: string;
  readonly direction: 'asc' | 'desc';
  readonly limit: number;
  readonly locale: string | undefined;
}

/** By the first field only: a query gets all documents whose first field is the same, and orders them itself. */
export function orderOf(orderBy: readonly OrderByClause[] = [], limit: number): Order | undefined {
  const [clause] = orderBy;
  if (clause === undefined) return { field: '_id', direction: 'asc', limit, locale: undefined };
  const { direction, nulls, stringSort, locale } = clause.compareOptions;
  const field = fieldOf(clause.expression);
  if (field === undefined || nulls !== 'first') return undefined;
  if (field === '_id' && stringSort !== 'lexical') return undefined;
  return { field, direction, limit, locale: stringSort === 'locale' ? locale : undefined };
}

/** Whether the database has such a value at the same place as TanStack DB. */
export function isOrdered(value: unknown, { field, locale }: Order): boolean {
  if (typeof value !== 'string') return value === null || typeof value === 'number' || typeof value === 'boolean';
  return field === '_id' || locale === 'en' || beginsWithDigit(value);
}

export function valueAt(row: object, field: string): unknown {
  const names = field.split(/(?<!\\)\./).map((name) => name.replaceAll(/\\(.)/g, '$1'));
  return names.reduce<unknown>(
    (value, name) => (typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined),
    row,
  );
}
