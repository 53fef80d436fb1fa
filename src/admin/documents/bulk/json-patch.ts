/** JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386). Neither changes the value that it is given. */
import { isObject, type Json, type JsonObject } from '../../server/json.ts';
import { isRaw, isSame } from './exact-json.ts';

export interface Operation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test';
  readonly path: string;
  readonly from?: string;
  readonly value?: Json;
}

/** A patch does not fit the value: the reason is a sentence. */
export class PatchError extends Error {
  override readonly name = 'PatchError';
}

const OPERATIONS = new Set<unknown>(['add', 'remove', 'replace', 'move', 'copy', 'test']);

/** Returns what is wrong with the list of operations; undefined if nothing is. */
export function problemOfPatch(operations: readonly unknown[]): string | undefined {
  for (const [index, one] of operations.entries()) {
    const problem = isObject(one) ? problemOf(one) : 'is not an object';
    if (problem !== undefined) return `Operation ${index + 1} ${problem}.`;
  }
  return undefined;
}

function problemOf({ op, path, from, value }: JsonObject): string | undefined {
  if (!OPERATIONS.has(op)) return 'needs an “op”: add, remove, replace, move, copy or test';
  if (!isPointer(path)) return 'needs a “path” such as /address/city';
  if ((op === 'move' || op === 'copy') && !isPointer(from)) return 'needs a “from” such as /address/city';
  if ((op === 'add' || op === 'replace' || op === 'test') && value === undefined) return 'needs a “value”';
  if (op === 'move' && `${path}`.startsWith(`${from}/`)) return 'moves a value into itself';
  return undefined;
}

function isPointer(text: Json | undefined): boolean {
  return typeof text === 'string' && text.startsWith('/');
}

/** Fails with a `PatchError` if an operation does not fit. */
export function applyPatch(value: JsonObject, operations: readonly Operation[]): JsonObject {
  const result = operations.reduce<Json>(applyOperation, value);
  return isObject(result) ? result : value;
}

function applyOperation(value: Json, operation: Operation): Json {
  const { op, path, from = '', value: given = null } = operation;
  switch (op) {
    case 'add':
      return put(value, tokensOf(path), given, 'add');
    case 'replace':
      return put(value, tokensOf(path), given, 'replace');
    case 'remove':
      return remove(value, tokensOf(path));
    case 'move':
      return put(remove(value, tokensOf(from)), tokensOf(path), valueAt(value, tokensOf(from)), 'add');
    case 'copy':
      return put(value, tokensOf(path), valueAt(value, tokensOf(from)), 'add');
    case 'test':
      if (!isSame(valueAt(value, tokensOf(path)), given)) throw new PatchError(`The value of ${path} is another one.`);
      return value;
  }
}

/** `/a~1b/0` names `a/b`, and then `0`. */
function tokensOf(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function valueAt(value: Json, tokens: readonly string[]): Json {
  let found: Json | undefined = value;
  for (const token of tokens) found = found === undefined ? undefined : childOf(found, token);
  if (found === undefined) throw missing(tokens);
  return found;
}

function childOf(value: Json, token: string): Json | undefined {
  if (Array.isArray(value)) return isIndex(token) ? value[Number(token)] : undefined;
  return isObject(value) && Object.hasOwn(value, token) ? value[token] : undefined;
}

function put(value: Json, tokens: readonly string[], given: Json, kind: 'add' | 'replace'): Json {
  const [first, ...rest] = tokens;
  if (first === undefined) return given;
  const child = childOf(value, first);
  if (rest.length > 0) {
    if (child === undefined) throw missing(tokens);
    return withChild(value, first, put(child, rest, given, kind));
  }
  if (kind === 'replace' && child === undefined) throw missing(tokens);
  if (!Array.isArray(value)) return withChild(value, first, given);
  if (kind === 'replace') return withChild(value, first, given);
  const at = first === '-' ? value.length : Number(first);
  if ((first !== '-' && !isIndex(first)) || at > value.length) throw new PatchError(`The list has no place ${first}.`);
  return value.toSpliced(at, 0, given);
}

function withChild(value: Json, token: string, child: Json): Json {
  if (Array.isArray(value)) return value.with(Number(token), child);
  if (!isObject(value) || isRaw(value)) throw missing([token]);
  return { ...value, [token]: child };
}

function remove(value: Json, tokens: readonly string[]): Json {
  const [first, ...rest] = tokens;
  if (first === undefined) return value;
  const child = childOf(value, first);
  if (child === undefined) throw missing(tokens);
  if (rest.length > 0) return withChild(value, first, remove(child, rest));
  if (Array.isArray(value)) return value.toSpliced(Number(first), 1);
  return Object.fromEntries(Object.entries(isObject(value) ? value : {}).filter(([name]) => name !== first));
}

function isIndex(token: string): boolean {
  return /^(0|[1-9]\d*)$/.test(token);
}

function missing(tokens: readonly string[]): PatchError {
  return new PatchError(`There is no ${tokens.at(-1) ?? ''} to change.`);
}

/** Members of the merge replace those of the value, `null` removes them, objects are merged. */
export function applyMerge(value: Json | undefined, merge: JsonObject): JsonObject {
  const result: Record<string, Json | undefined> = isObject(value) && !isRaw(value) ? { ...value } : {};
  for (const [name, given] of Object.entries(merge)) {
    if (given === null) delete result[name];
    else result[name] = isObject(given) && !isRaw(given) ? applyMerge(result[name], given) : given;
  }
  return result;
}
