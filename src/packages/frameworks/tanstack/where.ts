/**
 * Conditions of a query as a selector (docs/tanstack.md#what-is-asked-of-the-database). TanStack DB checks each row itself, so a selector may find more than
 * the condition does, but never less.
 */
import type { Expression } from './contract.ts';
import type { AnySelector } from './sources.ts';

export interface Translation {
  readonly selector: AnySelector;
  /** Whether the selector finds just what the condition does, if the values of a field are of one type. */
  readonly isExact: boolean;
}

/** The only selector without conditions that is made here. */
export const EVERYTHING: AnySelector = {};
/** Finds no document. */
export const NOTHING: AnySelector = { _id: null };
const UNKNOWN: Translation = { selector: EVERYTHING, isExact: false };

const OPPOSITES: Readonly<Record<string, string>> = { gt: 'lte', gte: 'lt', lt: 'gte', lte: 'gt' };
const REVERSED: Readonly<Record<string, string>> = { gt: 'lt', gte: 'lte', lt: 'gt', lte: 'gte', eq: 'eq' };

/** Undefined: no condition. */
export function translate(expression: { readonly type: string } | undefined): Translation {
  return expression === undefined ? exact(EVERYTHING) : translateCondition(expression as Expression, false);
}

/** The path of a field in a selector; undefined if the expression is none, or is a member that TanStack DB adds. */
export function fieldOf(expression: { readonly type: string } | undefined): string | undefined {
  const reference = expression as Expression | undefined;
  if (reference?.type !== 'ref') return undefined;
  const { path, sourceAlias } = reference;
  const names = sourceAlias !== undefined && path[0] === sourceAlias ? path.slice(1) : path;
  if (names.length === 0 || String(names[0]).startsWith('$')) return undefined;
  return names.map((name) => String(name).replaceAll('\\', '\\\\').replaceAll('.', '\\.')).join('.');
}

/** Selectors that must all hold. */
export function allOf(selectors: readonly AnySelector[]): AnySelector {
  const conditions = selectors.filter((selector) => Object.keys(selector).length > 0);
  return conditions.length > 1 ? { $and: conditions } : (conditions[0] ?? EVERYTHING);
}

/** Strings whose order is the same in every language and by code units, if they are written alike: dates, times and numbers. */
export function beginsWithDigit(value: string): boolean {
  return /^\d/.test(value);
}

function exact(selector: AnySelector): Translation {
  return { selector, isExact: true };
}

function translateCondition(expression: Expression, isNegated: boolean): Translation {
  if (expression.type === 'val' && typeof expression.value === 'boolean') {
    return exact(expression.value === isNegated ? NOTHING : EVERYTHING);
  }
  if (expression.type !== 'func') return UNKNOWN;
  const { name, args } = expression;
  if (name === 'not' && args[0]) return translateCondition(args[0], !isNegated);
  if (name === 'and' || name === 'or') {
    const parts = args.map((part) => translateCondition(part, isNegated));
    return (name === 'and') === isNegated ? either(parts) : every(parts);
  }
  return translateComparison(name, args, isNegated);
}

function every(parts: readonly Translation[]): Translation {
  return { selector: allOf(parts.map(({ selector }) => selector)), isExact: parts.every(({ isExact }) => isExact) };
}

function either(parts: readonly Translation[]): Translation {
  const isExact = parts.every((part) => part.isExact);
  const selectors = parts.map(({ selector }) => selector);
  const isEverything = selectors.some((selector) => Object.keys(selector).length === 0);
  return { selector: isEverything ? EVERYTHING : { $or: selectors }, isExact };
}

/** A field with a constant, whichever of them comes first. */
export function comparisonOf(
  name: string,
  [left, right]: readonly Expression[],
): { readonly name: string; readonly field: string; readonly value: unknown } | undefined {
  const field = fieldOf(left);
  if (field !== undefined) return right?.type === 'val' ? { name, field, value: right.value } : undefined;
  const reversed = REVERSED[name];
  return reversed !== undefined && right && left?.type === 'val' ? comparisonOf(reversed, [right, left]) : undefined;
}

function translateComparison(given: string, args: readonly Expression[], isNegated: boolean): Translation {
  const tested = fieldOf(args[0]);
  if (tested !== undefined && given === 'isUndefined') return exact(isMissing(tested, isNegated));
  if (tested !== undefined && given === 'isNull') return exact(isNull(tested, isNegated));
  const comparison = comparisonOf(given, args);
  if (comparison === undefined) return UNKNOWN;
  const { name, field, value } = comparison;
  // Comparisons with null are neither true nor false.
  if (value === null || value === undefined) return exact(NOTHING);
  if (name === 'eq' || name === 'in') return equals(field, name === 'eq' ? [value] : value, isNegated);
  if (name === 'like') return isNegated ? UNKNOWN : startsLike(field, value);
  if (name === 'ilike') return isNegated ? UNKNOWN : { selector: { [field]: { $type: 'string' } }, isExact: false };
  const operator = isNegated ? OPPOSITES[name] : name in OPPOSITES ? name : undefined;
  return operator === undefined ? UNKNOWN : compares(field, `$${operator}`, value);
}

/** For TanStack DB a member of null is null, too; in a selector it is missing. */
function isNull(field: string, isNegated: boolean): AnySelector {
  const fields = [...outerFields(field), field];
  if (isNegated)
    return allOf(fields.map((one) => ({ $or: [{ [one]: { $ne: null } }, { [one]: { $exists: false } }] })));
  const nulls = fields.map((one) => ({ [one]: { $eq: null } }));
  return nulls.length > 1 ? { $or: nulls } : { [field]: { $eq: null } };
}

function isMissing(field: string, isNegated: boolean): AnySelector {
  const outer = outerFields(field).at(-1);
  const missing = { [field]: { $exists: isNegated } };
  if (outer === undefined) return missing;
  return isNegated ? { $or: [missing, isNull(outer, false)] } : allOf([missing, isNull(outer, true)]);
}

/** The fields in whose values it is, the outermost first. */
function outerFields(field: string): readonly string[] {
  const names = field.split(/(?<!\\)\./);
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('.'));
}

function equals(field: string, values: unknown, isNegated: boolean): Translation {
  if (!Array.isArray(values)) return UNKNOWN;
  const known = values.filter((value) => value !== null && value !== undefined);
  if (!known.every((value) => /^(string|boolean)$/.test(typeof value) || Number.isFinite(value))) return UNKNOWN;
  if (isNegated) return exact({ [field]: { $nin: [...known, null] } });
  const [only] = known;
  return exact({ [field]: known.length === 1 ? { $eq: only } : { $in: known } });
}

/** Only values of the same type: the order of keys has one type after another (docs/http/views.md#order-of-keys). */
function compares(field: string, operator: string, value: unknown): Translation {
  const isUpper = operator.startsWith('$lt');
  if (typeof value === 'number' && Number.isFinite(value)) {
    return exact({ [field]: { [operator]: value, ...(isUpper ? { $gt: true } : { $lt: '' }) } });
  }
  if (typeof value !== 'string') return UNKNOWN;
  if (field === '_id') return exact({ [field]: { [operator]: value } });
  // Other strings have another order in JavaScript than in the database.
  if (!beginsWithDigit(value)) return { selector: { [field]: { $type: 'string' } }, isExact: false };
  // One of the two bounds may be the value itself.
  const others = isUpper ? { $gte: '' } : { $lt: [] };
  return exact({ [field]: { [operator]: value, ...others } });
}

function startsLike(field: string, pattern: unknown): Translation {
  if (typeof pattern !== 'string') return UNKNOWN;
  const prefix = /^[^%_\\]*/.exec(pattern)?.[0] ?? '';
  const selector = { [field]: prefix === '' ? { $type: 'string' } : { $beginsWith: prefix } };
  return { selector, isExact: prefix !== '' && pattern === `${prefix}%` };
}
