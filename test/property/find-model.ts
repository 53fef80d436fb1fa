/** Selectors by the letter of docs/http/find.md#selectors: no index, no plan, no normal form but for what negation means. */
import type { Json } from '../support/view-fixture.ts';

type Members = Readonly<Record<string, Json>>;

const collator = new Intl.Collator('en', { usage: 'sort', sensitivity: 'variant' });

/** Whether the document fulfils the selector, or (negated) its contrary, which asks for the field as well. */
export function fulfils(
  document: Json | undefined,
  selector: Json,
  isNegated = false,
  order: Order = compare,
): boolean {
  const results = (inner: readonly Json[], negated: boolean) => {
    return inner.map((each) => fulfils(document, each, negated, order));
  };
  const join = (all: boolean, found: readonly boolean[]) => {
    return found.length === 0 || (all ? found.every(Boolean) : found.some(Boolean));
  };
  if (!isMembers(selector) || Object.keys(selector).length === 0)
    return holds('$eq', document, selector, isNegated, order);
  const entries = Object.entries(selector).map(([name, value]) => {
    if (name === '$and') return join(!isNegated, results(value as readonly Json[], isNegated));
    if (name === '$or') return join(isNegated, results(value as readonly Json[], isNegated));
    if (name === '$nor') return join(!isNegated, results(value as readonly Json[], !isNegated));
    if (name === '$not') return fulfils(document, value, !isNegated, order);
    if (name.startsWith('$')) return holds(name, document, value, isNegated, order);
    // Ids are in the order of the database.
    const inner = name === '_id' ? compareIds : order;
    return fulfils(reach(document, name.split('.')), value, isNegated, inner);
  });
  return join(!isNegated, entries);
}

function reach(value: Json | undefined, names: readonly string[]): Json | undefined {
  const [name, ...rest] = names;
  if (name === undefined || value === undefined) return value;
  if (Array.isArray(value)) return reach((value as readonly Json[])[Number(name)], rest);
  return isMembers(value) ? reach(value[name], rest) : undefined;
}

function holds(operator: string, value: Json | undefined, argument: Json, isNegated: boolean, order: Order): boolean {
  if (operator === '$exists') return (value !== undefined) === (argument !== isNegated);
  return value !== undefined && test(operator, value, argument, order) !== isNegated;
}

function test(operator: string, value: Json, argument: Json, order: Order): boolean {
  const list = Array.isArray(argument) ? (argument as readonly Json[]) : [];
  const own = Array.isArray(value) ? (value as readonly Json[]) : undefined;
  const among = (one: Json, many: readonly Json[]) => many.some((each) => order(one, each) === 0);
  switch (operator) {
    case '$eq':
      return order(value, argument) === 0;
    case '$ne':
      return order(value, argument) !== 0;
    case '$lt':
      return order(value, argument) < 0;
    case '$lte':
      return order(value, argument) <= 0;
    case '$gt':
      return order(value, argument) > 0;
    case '$gte':
      return order(value, argument) >= 0;
    case '$in':
      return (own ?? [value]).some((each) => among(each, list));
    case '$nin':
      return !(own ?? [value]).some((each) => among(each, list));
    case '$all':
      if (own === undefined || list.length === 0) return false;
      // A list that is listed alone may also be the value itself.
      return list.every((each) => among(each, own)) || (list.length === 1 && order(value, list[0] ?? null) === 0);
    case '$size':
      return own?.length === argument;
    case '$beginsWith':
      return typeof value === 'string' && value.slice(0, `${argument}`.length) === argument;
    case '$regex':
      return typeof value === 'string' && new RegExp(`${argument}`, 'u').test(value);
    case '$mod':
      return Number.isInteger(value) && Number(value) % Number(list[0]) === list[1];
    case '$type':
      return (own !== undefined ? 'array' : value === null ? 'null' : typeof value) === argument;
    case '$elemMatch':
      return own?.some((each) => fulfils(each, argument)) === true;
    case '$allMatch':
      return own !== undefined && own.length > 0 && own.every((each) => fulfils(each, argument));
    case '$keyMapMatch':
      return isMembers(value) && Object.keys(value).some((name) => fulfils(name, argument));
    default:
      throw new Error(`The model does not know ${operator}.`);
  }
}

type Order = (left: Json, right: Json) => number;

/** Ids are strings, and in raw order all else is below strings. */
const compareIds: Order = (left, right) => {
  if (typeof right !== 'string') return 1;
  return left === right ? 0 : `${left}` < right ? -1 : 1;
};

/** The order of view keys (docs/http/views.md#order-of-keys). */
export function compare(left: Json, right: Json): number {
  const rank = rankOf(left) - rankOf(right);
  if (rank !== 0) return rank;
  if (typeof left === 'string') return collator.compare(left, `${right}`);
  if (typeof left === 'number') return left - Number(right);
  const [lefts, rights] = [Object.entries(left ?? {}).flat() as Json[], Object.entries(right ?? {}).flat() as Json[]];
  const isList = Array.isArray(left);
  for (const [index, one] of lefts.entries()) {
    const other = rights[index];
    if (other === undefined) return 1;
    const order = isList && index % 2 === 0 ? 0 : compare(one, other);
    if (order !== 0) return order;
  }
  return lefts.length - rights.length;
}

function rankOf(value: Json): number {
  if (value === null) return 0;
  if (typeof value === 'boolean') return value ? 2 : 1;
  if (typeof value === 'number') return 3;
  if (typeof value === 'string') return 4;
  return Array.isArray(value) ? 5 : 6;
}

function isMembers(value: Json | undefined): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
