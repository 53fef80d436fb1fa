/** What a bulk change does to each document. */
import { isObject, type Json, type JsonObject } from '../../server/json.ts';
import { namesOf } from '../fields.ts';
import { isRaw, isSame, mayHaveLostDigits, parseExact } from './exact-json.ts';
import { applyMerge, applyPatch, type Operation, PatchError, problemOfPatch } from './json-patch.ts';

export type BulkChange =
  | { readonly kind: 'delete' }
  | { readonly kind: 'set'; readonly path: string; readonly value: Json }
  | { readonly kind: 'remove'; readonly path: string }
  | { readonly kind: 'merge'; readonly merge: JsonObject }
  | { readonly kind: 'patch'; readonly operations: readonly Operation[] }
  /** Texts by id, without `_id` and `_rev`; undefined: the document is deleted. */
  | { readonly kind: 'restore'; readonly bodies: ReadonlyMap<string, string | undefined> };

/** A document as it is now. */
export interface CurrentDocument {
  readonly id: string;
  /** Undefined: there is none, and there has never been one. */
  readonly rev: string | undefined;
  /** Undefined: it is deleted, or not there. */
  readonly doc: JsonObject | undefined;
}

/** What to write; `same`: the change would not alter it; or why it can't be changed. */
export type Changed =
  | { readonly write: JsonObject }
  | { readonly same: true }
  | { readonly error: string; readonly refused: string };

/** Returns what the change makes of the document. */
export function changed(current: CurrentDocument, change: BulkChange): Changed {
  const { id, rev, doc } = current;
  if (change.kind === 'restore') return restored(current, change.bodies);
  if (doc === undefined) return { error: 'not_found', refused: 'The document is no longer there.' };
  if (change.kind === 'delete') return { write: { _id: id, _rev: rev, _deleted: true } };
  if (mayHaveLostDigits(doc)) {
    return { error: 'number', refused: 'It has a number with more digits than this browser can keep.' };
  }
  try {
    const after = changedMembers(doc, change);
    return isSame(after, doc) ? { same: true } : { write: { ...after, _id: id, _rev: rev } };
  } catch (error) {
    if (error instanceof PatchError) return { error: 'does not fit', refused: error.message };
    throw error;
  }
}

function restored({ id, rev, doc }: CurrentDocument, bodies: ReadonlyMap<string, string | undefined>): Changed {
  const text = bodies.get(id);
  if (text === undefined) {
    return doc === undefined ? { same: true } : { write: { _id: id, _rev: rev, _deleted: true } };
  }
  return { write: { _id: id, _rev: rev, ...parseExact<JsonObject>(text) } };
}

type MemberChange = Exclude<BulkChange, { readonly kind: 'delete' | 'restore' }>;

function changedMembers(doc: JsonObject, change: MemberChange): JsonObject {
  switch (change.kind) {
    case 'set':
      return withField(doc, namesOf(change.path), change.value);
    case 'remove':
      return withoutField(doc, namesOf(change.path));
    case 'merge':
      return applyMerge(doc, change.merge);
    case 'patch':
      return applyPatch(doc, change.operations);
  }
}

/** Objects on the way are made where there are none. What is no object is not replaced by one. */
function withField(value: JsonObject, [name = '', ...rest]: readonly string[], given: Json): JsonObject {
  if (rest.length === 0) return { ...value, [name]: given };
  const inner = Object.hasOwn(value, name) ? value[name] : undefined;
  if (inner !== undefined && (!isObject(inner) || isRaw(inner)))
    throw new PatchError(`${name} is not an object, so nothing can be set in it.`);
  return { ...value, [name]: withField(inner ?? {}, rest, given) };
}

function withoutField(value: JsonObject, [name = '', ...rest]: readonly string[]): JsonObject {
  if (!Object.hasOwn(value, name)) return value;
  if (rest.length === 0) return Object.fromEntries(Object.entries(value).filter(([other]) => other !== name));
  const inner = value[name];
  return isObject(inner) && !isRaw(inner) ? { ...value, [name]: withoutField(inner, rest) } : value;
}

/** Returns the change that sets the field, or a sentence about what is wrong. `text`: JSON. */
export function parseSet(path: string, text: string): BulkChange | string {
  const problem = problemOfPath(path);
  if (problem !== undefined) return problem;
  try {
    return { kind: 'set', path, value: parseExact<Json>(text) };
  } catch {
    return 'The value is not JSON. A text stands in quotes: "like this".';
  }
}

export function parseRemove(path: string): BulkChange | string {
  return problemOfPath(path) ?? { kind: 'remove', path };
}

/** A list is a JSON Patch, an object a JSON Merge Patch. */
export function parsePatch(text: string): BulkChange | string {
  let value: unknown;
  try {
    value = parseExact(text);
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : error}.`;
  }
  if (Array.isArray(value)) return parseOperations(value);
  if (!isObject(value)) return 'A change is an object (members to merge) or a list (operations of a JSON Patch).';
  const reserved = Object.keys(value).find(isReserved);
  if (reserved !== undefined) return whyReserved(reserved);
  return Object.keys(value).length === 0 ? 'The change is empty.' : { kind: 'merge', merge: value };
}

function parseOperations(list: readonly unknown[]): BulkChange | string {
  if (list.length === 0) return 'The change is empty.';
  const problem = problemOfPatch(list);
  if (problem !== undefined) return problem;
  const operations = list as readonly Operation[];
  for (const { op, path, from = '/' } of operations) {
    if (op !== 'test' && isReserved(firstOf(path))) return whyReserved(firstOf(path));
    if (op === 'move' && isReserved(firstOf(from))) return whyReserved(firstOf(from));
  }
  return { kind: 'patch', operations };
}

function problemOfPath(path: string): string | undefined {
  const names = namesOf(path);
  if (names.some((name) => name === '')) return 'Name the field: year, or address.city for a field inside another one.';
  const [first = ''] = names;
  return isReserved(first) ? whyReserved(first) : undefined;
}

function firstOf(pointer: string): string {
  return pointer.split('/')[1] ?? '';
}

function isReserved(name: string): boolean {
  return name.startsWith('_');
}

function whyReserved(name: string): string {
  return `${name} belongs to the database: names that begin with _ can’t be changed here.`;
}

/** What the change does, as the beginning of a sentence: `Set year`. */
export function titleOf(change: BulkChange): string {
  switch (change.kind) {
    case 'delete':
      return 'Delete';
    case 'set':
      return `Set ${change.path} in`;
    case 'remove':
      return `Remove ${change.path} from`;
    case 'merge':
    case 'patch':
      return 'Change';
    case 'restore':
      return 'Restore';
  }
}
