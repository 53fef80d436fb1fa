/**
 * Reads documents of any form. `JSON.parse` decides what is valid and what the reserved members contain; the text is also walked,
 * but only to find where members begin and end. It takes several times as long as the document scanner, and reads what the scanner
 * is not sure of.
 */
import { DatabaseError, isDatabaseError } from '../../../base/errors/database-error.ts';
import { BACKSLASH, OPEN_BRACE, SPACE, UNDERSCORE } from '../../../base/json/characters.ts';
import { JsonCursor } from '../../../base/json/json-cursor.ts';
import { KeptMembers } from '../../../base/json/kept-members.ts';
import {
  assertShallowInSteps,
  assertShallowText,
  isShallowContainer,
  tooDeeplyNested,
} from '../../../base/json/nesting.ts';
import { isObject, type JsonObject } from '../../../base/json/objects.ts';
import {
  MAX_NAME_LENGTH,
  parseInSteps,
  parseWantedInSteps,
  type SomeMembers,
  tooLongName,
} from '../../../base/json/parse-in-steps.ts';
import { PartedMap } from '../../../base/json/parted-map.ts';
import {
  checkPortable,
  checkPortableInSteps,
  mayBeUnportable,
  mayBeUnportableInSteps,
} from '../../../base/json/portable-values.ts';
import { minify, minifyInSteps } from '../../../base/json/white-space.ts';
import { assert } from '../../../base/shared/assert.ts';
import { atOnce, type CooperativeTask, joinInSteps } from '../../../base/shared/turn.ts';
import type { IncomingDocument } from '../contract.ts';
import { type ReservedValues, staysInBody, toIncomingDocument, toIncomingDocumentInSteps } from './reserved-members.ts';

/** Reading a document of this many characters or more is long work. */
const LONG_DOCUMENT = 262_144;

/**
 * Reads the document that begins at the cursor, and leaves the cursor after it. Errors are those of `readDocument`. Lets other tasks run
 * in the middle of a long document.
 */
export function* parseDocumentInSteps(cursor: JsonCursor): CooperativeTask<IncomingDocument> {
  const { text } = cursor;
  if (!(yield* isShallowContainer(text, cursor.position))) throw tooDeeplyNested();
  const cut = yield* cutBody(cursor);
  const document = text.slice(cut.start, cursor.position);
  if (document.length < LONG_DOCUMENT) return toDocument(text, cut, parseJson(document));
  yield;
  return yield* parseLongInSteps(text, cut, document);
}

/** Like `parseDocumentInSteps`, for a whole text. */
export function* parseLongDocument(text: string): CooperativeTask<IncomingDocument> {
  yield* assertShallowInSteps(text);
  const members = yield* someMembers(text);
  const cut = yield* cutBody(new JsonCursor(text));
  return yield* toLongDocument(text, cut, members);
}

/** Skips the values that no one reads: they would take many times the memory of their text. */
function* parseLongInSteps(text: string, cut: CutBody, document: string): CooperativeTask<IncomingDocument> {
  return yield* toLongDocument(text, cut, yield* someMembers(document));
}

function* someMembers(document: string): CooperativeTask<SomeMembers> {
  const members = yield* validInSteps(parseWantedInSteps(document, isReserved));
  return members ?? notADocument();
}

function isReserved(name: string): boolean {
  return name.charCodeAt(0) === UNDERSCORE;
}

/** Like `parseDocumentInSteps`, if `JSON.parse` has already parsed the document to `value`. */
export function parseDocumentValue(cursor: JsonCursor, value: unknown): IncomingDocument {
  mustBeDocument(value);
  return toDocument(cursor.text, atOnce(cutBody(cursor)), value);
}

/** Parses the text. Fails with `bad_request`; if the text is nested too deeply, before any value is built. */
export function parseJson(text: string): unknown {
  assertShallowText(text);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalidJson(cause);
  }
}

/** Like `parseJson`, but lets other tasks run in the middle of a long text. */
export function* parseJsonInSteps(text: string): CooperativeTask<unknown> {
  yield* assertShallowInSteps(text);
  return yield* validInSteps(parseInSteps(text));
}

function* validInSteps<T>(steps: CooperativeTask<T>): CooperativeTask<T> {
  try {
    return yield* steps;
  } catch (cause) {
    throw isDatabaseError(cause) ? cause : invalidJson(cause);
  }
}

function invalidJson(cause: unknown): DatabaseError {
  return new DatabaseError('bad_request', 'invalid_json', { cause });
}

function toDocument(text: string, cut: CutBody, value: unknown): IncomingDocument {
  mustBeDocument(value);
  if (mayBeUnportable(cut.body)) checkPortable(value);
  const isDistinct = cut.members === countMembers(value);
  const body = isDistinct ? cut.body : atOnce(readDistinctMembers(text, cut.start));
  return toIncomingDocument(reserved(cut, value), cut.hasSpace ? minify(body) : body);
}

function* toLongDocument(
  text: string,
  cut: CutBody,
  { distinct, wanted }: SomeMembers,
): CooperativeTask<IncomingDocument> {
  const isDistinct = cut.members === distinct;
  const body = isDistinct ? cut.body : yield* readDistinctMembers(text, cut.start);
  if (yield* mayBeUnportableInSteps(body)) yield* checkPortableInSteps(body);
  return yield* toIncomingDocumentInSteps(reserved(cut, wanted), cut.hasSpace ? yield* minifyInSteps(body) : body);
}

function reserved({ attachmentNames }: CutBody, value: JsonObject): ReservedValues {
  const { _id: id, _rev: rev, _deleted: deleted, _revisions: revisions, _attachments: attachments } = value;
  return { id, rev, deleted, revisions, attachments, attachmentNames };
}

function mustBeDocument(value: unknown): asserts value is JsonObject {
  if (!isObject(value)) notADocument();
}

function notADocument(): never {
  throw new DatabaseError('bad_request', 'Document must be a JSON object');
}

/** An object's text without its reserved members, correct if none of its members occurs twice. */
interface CutBody {
  /** The position of the object in the whole text. */
  readonly start: number;
  readonly members: number;
  readonly body: string;
  /** Whether it has white space outside strings. */
  readonly hasSpace: boolean;
  /** In the order of the text; an object does not keep that order for names that look like numbers. */
  readonly attachmentNames: readonly string[] | undefined;
}

function* cutBody(cursor: JsonCursor): CooperativeTask<CutBody> {
  const { text } = cursor;
  cursor.enter();
  cursor.sawSpace = false;
  const start = cursor.position - 1;
  assert(text.charCodeAt(start) === OPEN_BRACE, 'the text of an object begins with a brace');
  const kept = new KeptMembers(text);
  kept.begin(start);
  let members = 0;
  let attachmentNames: readonly string[] | undefined;
  while (cursor.nextName()) {
    members++;
    const isKept = isOfBody(cursor);
    if (!isKept && cursor.name === '_attachments') attachmentNames = yield* passNames(cursor);
    else yield* cursor.skipValueInSteps();
    if (isKept) kept.keep(cursor.keyStart, cursor.valueEnd);
    else kept.leaveOut();
  }
  return { start, members, body: kept.objectText(cursor.position), hasSpace: cursor.sawSpace, attachmentNames };
}

/** Skips the value at the cursor, and returns the names of its members; undefined if it is not an object. */
function* passNames(cursor: JsonCursor): CooperativeTask<readonly string[] | undefined> {
  const { text } = cursor;
  let at = cursor.position;
  while (text.charCodeAt(at) <= SPACE) at++;
  if (text.charCodeAt(at) !== OPEN_BRACE) {
    cursor.skipValue();
    return undefined;
  }
  cursor.enter();
  const names: string[] = [];
  while (cursor.nextName()) {
    yield* cursor.skipValueInSteps();
    names.push(cursor.name);
  }
  return names;
}

/** Returns the body of an object that has a member twice: as in `JSON.parse`, the last value counts, in the first one's place. */
function* readDistinctMembers(text: string, start: number): CooperativeTask<string> {
  const places = new PartedMap<number>();
  const members: string[] = [];
  const cursor = new JsonCursor(text, start);
  cursor.enter();
  while (cursor.nextName()) {
    yield* cursor.skipValueInSteps();
    if (!isOfBody(cursor)) continue;
    const { name } = cursor;
    const place = places.get(name) ?? members.length;
    if (place === members.length) places.set(name, place);
    members[place] = text.slice(cursor.keyStart, cursor.valueEnd);
  }
  return `{${yield* joinInSteps(members, (member) => member)}}`;
}

/** Whether the cursor's member is part of the body. Fails if its name is reserved and unknown. */
function isOfBody(cursor: JsonCursor): boolean {
  if (cursor.keyEnd - cursor.keyStart > MAX_NAME_LENGTH) throw tooLongName();
  const first = cursor.text.charCodeAt(cursor.keyStart + 1);
  if (first !== UNDERSCORE && first !== BACKSLASH) return true;
  const { name } = cursor;
  return name.charCodeAt(0) !== UNDERSCORE || staysInBody(name);
}

/** Returns `Object.keys(value).length`, without the list. Too high if a program has extended all objects: then it is checked. */
function countMembers(value: JsonObject): number {
  let count = 0;
  for (const _ in value) count++;
  return count;
}
