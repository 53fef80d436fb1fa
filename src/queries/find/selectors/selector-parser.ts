/** Reads selectors as clients write them (docs/http/find.md#selectors) into the form of selector.ts. */
import { isObject } from '../../../base/json/objects.ts';
import { excerpt, queryError } from '../query-error.ts';
import { parseCondition } from './condition-parser.ts';
import { EMPTY_PATH, type FieldPath, joinPaths, parseFieldPath } from './field-path.ts';
import { EVERYTHING, type FieldCondition, type Junction, type Selector } from './selector.ts';
import { SelectorRoom } from './selector-room.ts';

/** Parses a selector. Fails with 400 `invalid_selector_json`, `invalid_operator`, `bad_arg`, `invalid_field_name`, `invalid_selector`. */
export function parseSelector(value: unknown): Selector {
  if (!isObject(value)) {
    throw queryError('invalid_selector_json', `Selector must be a JSON object, not: ${excerpt(value)}`);
  }
  if (Object.keys(value).length === 0) return EVERYTHING;
  const selector = new SelectorParser().parse(value, EMPTY_PATH, false);
  checkFieldNames(selector);
  return selector;
}

class SelectorParser {
  readonly #needs = {
    room: new SelectorRoom(),
    parseSelector: (value: unknown) => this.parse(value, EMPTY_PATH, false),
  };

  /** Reads what a selector has for the field at `path`: operators, fields within it, or a value that it must have. */
  parse(value: unknown, path: FieldPath, isNegated: boolean): Selector {
    if (!isObject(value)) return this.#condition(path, '$eq', value, isNegated);
    const entries = Object.entries(value);
    const [first, second] = entries;
    if (first === undefined) return this.#condition(path, '$eq', value, isNegated);
    if (second === undefined) return this.#entry(first, path, isNegated);
    const parts = entries.map((entry) => this.#entry(entry, path, isNegated));
    return { kind: isNegated ? 'or' : 'and', parts };
  }

  #entry([name, value]: readonly [string, unknown], path: FieldPath, isNegated: boolean): Selector {
    if (name === '$not') return this.parse(requireObject(name, value), path, !isNegated);
    if (name === '$and' || name === '$or') return this.#junction(name, value, path, isNegated);
    // `$nor` is the negation of `$or`.
    if (name === '$nor') return this.#junction('$or', requireList(name, value), path, !isNegated);
    if (name.startsWith('$')) return this.#condition(path, name, value, isNegated);
    const inner = name === '' && path === EMPTY_PATH ? EMPTY_PATH : joinPaths(path, parseFieldPath(name));
    return this.parse(value, inner, isNegated);
  }

  #junction(name: '$and' | '$or', value: unknown, path: FieldPath, isNegated: boolean): Junction {
    const parts = requireList(name, value).map((part) => this.parse(part, path, isNegated));
    return { kind: (name === '$and') === isNegated ? 'or' : 'and', parts };
  }

  #condition(path: FieldPath, operator: string, argument: unknown, isNegated: boolean): FieldCondition {
    return { kind: 'field', path, condition: parseCondition(operator, argument, isNegated, this.#needs) };
  }
}

function requireList(operator: string, value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw queryError('bad_arg', `Bad argument for operator ${operator}: ${excerpt(value)}. Give a list of selectors.`);
}

function requireObject(operator: string, value: unknown): unknown {
  if (isObject(value)) return value;
  throw queryError('bad_arg', `Bad argument for operator ${operator}: ${excerpt(value)}. Give a selector.`);
}

/** Outside of `$elemMatch`, `$allMatch` and `$keyMapMatch` every condition must have a field. */
function checkFieldNames(selector: Selector): void {
  if (selector.kind !== 'field') {
    for (const part of selector.parts) checkFieldNames(part);
  } else if (selector.path.names.length === 0) {
    throw queryError('invalid_selector', 'One or more conditions is missing a field name.');
  }
}
