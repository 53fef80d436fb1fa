/**
 * Paths to fields: names with dots between them, and `\.` for a dot within a name. In an array a name is an index. Within
 * `$elemMatch`, `$allMatch` and `$keyMapMatch` a path may be empty, and means the element or name itself.
 */
import { isObject } from '../../../base/json/objects.ts';
import { excerpt, queryError } from '../query-error.ts';

export interface FieldPath {
  /** As it is written, with its backslashes. */
  readonly text: string;
  readonly names: readonly string[];
}

export const EMPTY_PATH: FieldPath = { text: '', names: [] };

/** Bounds the recursion along a path. */
const MAX_NAMES = 100;
/** Longer than any stored path: names of members may have any length, but not those of requested fields. */
const MAX_LENGTH = 65_536;

const ARRAY_INDEX = /^(?:0|[1-9]\d{0,9})$/;

/** Parses a path. Fails with 400 `invalid_field_name` if a name is empty. */
export function parseFieldPath(text: string): FieldPath {
  if (text.length > MAX_LENGTH) {
    const reason = `Invalid field name: ${excerpt(text)}. It has more than ${MAX_LENGTH} characters.`;
    throw queryError('invalid_field_name', reason);
  }
  const names = text.includes('\\') ? splitEscaped(text) : text.split('.');
  if (names.includes('')) {
    throw queryError(
      'invalid_field_name',
      `Invalid field name: ${excerpt(text)}. No name between the dots may be empty.`,
    );
  }
  return checkLength({ text, names });
}

/** Returns the path of a field within the value of another one. */
export function joinPaths(outer: FieldPath, inner: FieldPath): FieldPath {
  if (outer.names.length === 0) return inner;
  return checkLength({ text: `${outer.text}.${inner.text}`, names: [...outer.names, ...inner.names] });
}

/** Returns the field of a value that `JSON.parse` returned; undefined if there is none. */
export function fieldOf(value: unknown, { names }: FieldPath): unknown {
  let at = value;
  for (const name of names) {
    if (Array.isArray(at)) at = isArrayIndex(name) ? at[Number(name)] : undefined;
    else if (isObject(at) && Object.hasOwn(at, name)) at = at[name];
    else return undefined;
  }
  return at;
}

export function isArrayIndex(name: string): boolean {
  return ARRAY_INDEX.test(name);
}

function checkLength(path: FieldPath): FieldPath {
  if (path.names.length <= MAX_NAMES) return path;
  throw queryError(
    'invalid_field_name',
    `Invalid field name: ${excerpt(path.text)}. It has more than ${MAX_NAMES} names.`,
  );
}

function splitEscaped(text: string): string[] {
  const names: string[] = [];
  let name = '';
  for (let index = 0; index < text.length; index++) {
    const character = text.charAt(index);
    if (character === '.') {
      names.push(name);
      name = '';
    } else if (character === '\\' && index + 1 < text.length) {
      name += text.charAt(++index);
    } else {
      name += character;
    }
  }
  return [...names, name];
}
