/**
 * Conditions of a query as ranges of a view's keys (docs/tanstack.md#a-view-on-demand). A range may have rows that are not meant, but lacks none: each row's
 * key is tested again.
 */
import type { Expression, KeyFields } from './contract.ts';
import type { AnySelector } from './sources.ts';
import type { KeyRange } from './view-source.ts';
import { allOf, beginsWithDigit, comparisonOf, NOTHING, translate } from './where.ts';

/** Comes after all other values in the order of keys (docs/http/views.md#order-of-keys). */
const LAST = { '\uffff': {} };
/** More ranges than this are one that contains them. */
const MAX_RANGES = 1_000;

/** From, and to: both included. Undefined: no bound. */
export type Span = readonly [low: unknown, high: unknown];

/** A condition on one field of the key. */
interface Constraint {
  readonly at: number;
  /** Just these. */
  readonly values?: readonly unknown[];
  /** Only values of one type: the order of keys has one type after another. */
  readonly type?: Span;
  /** What is known besides. */
  readonly low?: number | string;
  readonly high?: number | string;
  test(value: unknown): boolean;
}

const TYPES: Readonly<Record<string, Span>> = { number: [true, ''], string: ['', []] };

const TESTS: Readonly<Record<string, (left: string | number, right: string | number) => boolean>> = {
  gt: (left, right) => left > right,
  gte: (left, right) => left >= right,
  lt: (left, right) => left < right,
  lte: (left, right) => left <= right,
};

/** What a condition says of keys and of documents. */
export interface KeyConditions {
  readonly ranges: readonly KeyRange[];
  /** Whether just the rows that the condition means are found. */
  readonly isExact: boolean;
  /** The values that the first fields of the key have, if there is one range; of the next field, the span. */
  readonly prefix: readonly unknown[] | undefined;
  readonly span: Span | undefined;
}

export function translateKeys(
  fields: KeyFields,
  expressions: readonly ({ readonly type: string } | undefined)[],
): KeyConditions {
  const names = typeof fields === 'string' ? [fields] : fields;
  const constraints: Constraint[] = [];
  const selectors: AnySelector[] = [];
  let isExact = true;
  for (const expression of expressions.flatMap(conjunctsOf)) {
    const constraint = constraintOf(names, expression);
    if (constraint) constraints.push(constraint);
    else {
      const translation = translate(expression);
      selectors.push(translation.selector);
      isExact &&= translation.isExact;
    }
  }
  if (selectors.includes(NOTHING)) return { ranges: [], isExact, prefix: undefined, span: undefined };
  const prefixes = prefixesOf(names, constraints);
  const [prefix = []] = prefixes;
  const span = spanOf(constraints.filter(({ at }) => at === prefix.length));
  const matches = (key: unknown) => constraints.every(({ at, test }) => test(keyValue(fields, key, at)));
  const common = { ...(constraints.length > 0 && { matches }), rest: allOf(selectors) };
  const ranges = prefixes.map((values) => ({ ...common, bounds: boundsOf(fields, values, span) }));
  return { ranges, isExact, prefix: prefixes.length === 1 ? prefix : undefined, span };
}

/** The keys that begin with these values, and go on with one in the span. */
export function boundsOf(fields: KeyFields, prefix: readonly unknown[], span: Span | undefined): KeyRange['bounds'] {
  const [low, high] = span ?? [undefined, undefined];
  if (typeof fields === 'string') {
    if (prefix.length > 0) return { startkey: prefix[0], endkey: prefix[0] };
    return { ...(low !== undefined && { startkey: low }), ...(high !== undefined && { endkey: high }) };
  }
  const from = low === undefined ? prefix : [...prefix, low];
  const to = high === undefined ? prefix : [...prefix, high];
  return { ...(from.length > 0 && { startkey: from }), ...(to.length > 0 && { endkey: [...to, LAST] }) };
}

/** A field in a row's key. */
export function keyValue(fields: KeyFields, key: unknown, at: number): unknown {
  return typeof fields === 'string' ? key : Array.isArray(key) ? (key[at] ?? null) : null;
}

function conjunctsOf(expression: { readonly type: string } | undefined): readonly Expression[] {
  if (expression === undefined) return [];
  const known = expression as Expression;
  return known.type === 'func' && known.name === 'and' ? known.args.flatMap(conjunctsOf) : [known];
}

function constraintOf(names: readonly string[], expression: Expression): Constraint | undefined {
  const comparison = expression.type === 'func' ? comparisonOf(expression.name, expression.args) : undefined;
  if (comparison === undefined) return undefined;
  const { name, field, value } = comparison;
  const at = names.indexOf(field);
  if (at < 0) return undefined;
  if (name === 'eq' || name === 'in') return equals(at, name === 'eq' ? [value] : value);
  const compare = TESTS[name];
  if (!compare || !(typeof value === 'string' || Number.isFinite(value))) return undefined;
  const bound = value as string | number;
  const test = (other: unknown) => typeof other === typeof bound && compare(other as typeof bound, bound);
  // Other strings have another order in JavaScript than in the database.
  const isBound = typeof bound === 'number' || beginsWithDigit(bound);
  const side = name.startsWith('g') ? { low: bound } : { high: bound };
  return { at, test, type: TYPES[typeof bound] ?? [undefined, undefined], ...(isBound && side) };
}

function equals(at: number, given: unknown): Constraint | undefined {
  if (!Array.isArray(given)) return undefined;
  // Comparisons with null are neither true nor false.
  const values = [...new Set<unknown>(given.filter((value) => value !== null && value !== undefined))];
  if (!values.every((value) => /^(string|boolean)$/.test(typeof value) || Number.isFinite(value))) return undefined;
  return { at, values, test: (value) => values.includes(value) };
}

/** The values that the first fields of the key may have: one list for each range. */
function prefixesOf(names: readonly string[], constraints: readonly Constraint[]): readonly (readonly unknown[])[] {
  let prefixes: (readonly unknown[])[] = [[]];
  for (const at of names.keys()) {
    const own = constraints.filter((constraint) => constraint.at === at);
    const values = own.find((constraint) => constraint.values)?.values;
    const possible = values?.filter((value) => own.every(({ test }) => test(value)));
    if (possible === undefined || prefixes.length * possible.length > MAX_RANGES) break;
    prefixes = prefixes.flatMap((prefix) => possible.map((value) => [...prefix, value]));
  }
  return prefixes;
}

function spanOf(constraints: readonly Constraint[]): Span | undefined {
  const type = constraints.find((constraint) => constraint.type)?.type;
  if (type === undefined) return undefined;
  const alike = constraints.filter((constraint) => constraint.type === type);
  const lows = alike.flatMap(({ low }) => low ?? []).sort(compareAlike);
  const highs = alike.flatMap(({ high }) => high ?? []).sort(compareAlike);
  return [lows.at(-1) ?? type[0], highs[0] ?? type[1]];
}

function compareAlike(left: number | string, right: number | string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
