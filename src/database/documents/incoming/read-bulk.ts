/**
 * `_bulk_docs` requests (docs/http/bulk.md#bulk-writes): their documents are read one by one from the text. That keeps memory use low
 * and lets other tasks run in the middle of a large request.
 */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import { CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET } from '../../../base/json/characters.ts';
import { JsonCursor } from '../../../base/json/json-cursor.ts';
import { JsonScanner } from '../../../base/json/json-scanner.ts';
import { isObject, type JsonObject } from '../../../base/json/objects.ts';
import { parseWantedInSteps } from '../../../base/json/parse-in-steps.ts';
import { shortenSpaceInSteps } from '../../../base/json/white-space.ts';
import { assert } from '../../../base/shared/assert.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import type { IncomingDocument } from '../contract.ts';
import { DocumentScanner } from './document-scanner.ts';
import { parseDocumentInSteps, parseDocumentValue, parseJsonInSteps } from './fallback-parser.ts';
import { toIncomingDocument } from './reserved-members.ts';

export interface IncomingBulk {
  readonly documents: readonly IncomingDocument[];
  /** False only if the request has the literal `false`. */
  readonly newEdits: boolean;
  /** True only if the request has the literal `true`. */
  readonly allOrNothing: boolean;
}

/** Characters, and documents, between two checks of the clock. */
const STEP_LENGTH = 65_536;
/** Reading a document of this many characters or more is long work. */
const LONG_DOCUMENT = 262_144;
const DOCUMENTS_PER_STEP = 256;

/** Reads a request of any form step by step. */
export function* readBulkInSteps(text: string): CooperativeTask<IncomingBulk> {
  return (yield* scanBulkInSteps(text)) ?? (yield* parseBulkInSteps(text, yield* parseJsonInSteps(text)));
}

/** The number of documents of a request that were read so far, and of characters. */
export interface ReadCount {
  documents: number;
  characters: number;
}

function noneRead(): ReadCount {
  return { documents: 0, characters: 0 };
}

/**
 * Reads a request, `{docs, new_edits?, all_or_nothing?}`. One malformed document fails the whole request (docs/http/bulk.md#bulk-writes), with
 * the errors of `readDocument`. Undefined if the request is malformed, or has several lists: which error to return depends on the whole request,
 * and `parseBulkInSteps` decides it. The result is what `JSON.parse` would read: each document is read separately, and so is the text around
 * the list, with a 0 instead of the documents.
 */
export function* scanBulkInSteps(whole: string, count = noneRead()): CooperativeTask<IncomingBulk | undefined> {
  const text = yield* shortenSpaceInSteps(whole);
  const cursor = new JsonCursor(text);
  try {
    cursor.enter();
    if (!(yield* moveToDocs(cursor))) return undefined;
    cursor.enter();
    const start = cursor.position;
    mustBe(text, start - 1, OPEN_BRACKET);
    const documents: IncomingDocument[] = [];
    const end = yield* readList(cursor, documents, count);
    cursor.moveTo(end);
    cursor.enter();
    mustBe(text, cursor.position - 1, CLOSE_BRACKET);
    const rest = documents.length === 0 ? text : `${text.slice(0, start)}0${text.slice(end)}`;
    const request = yield* parseWantedInSteps(rest, isOption);
    return request === undefined || (yield* moveToDocs(cursor)) ? undefined : toBulk(request.wanted, documents);
  } catch {
    return undefined;
  }
}

/** Reads a list of documents from its first one on. Returns the end of the last one. */
function* readList(cursor: JsonCursor, documents: IncomingDocument[], count: ReadCount): CooperativeTask<number> {
  const { text, position } = cursor;
  const json = new JsonScanner(text);
  const scanner = new DocumentScanner(json);
  let at = json.skipSpace(position);
  if (text.charCodeAt(at) !== OPEN_BRACE) return position;
  let restedAt = at;
  for (;;) {
    const isSure = scanNear(json, scanner, at) || (json.isBeyond && (yield* scanner.scanInSteps(at)));
    if (!isSure) cursor.moveTo(at);
    documents.push(isSure ? toIncomingDocument(scanner, scanner.body) : yield* parseDocumentInSteps(cursor));
    const end = isSure ? scanner.end : cursor.position;
    if (end - restedAt >= STEP_LENGTH || documents.length % DOCUMENTS_PER_STEP === 0) {
      restedAt = end;
      count.documents = documents.length;
      count.characters = end;
      yield;
    }
    at = json.skipSpace(end);
    if (text.charCodeAt(at) !== COMMA) return end;
    at = json.skipSpace(at + 1);
    mustBe(text, at, OPEN_BRACE);
  }
}

/** Whether the scanner is sure of the document. `isBeyond` then says that it is a long one, which must be scanned in steps. */
function scanNear(json: JsonScanner, scanner: DocumentScanner, at: number): boolean {
  const { length } = json.text;
  json.isBeyond = false;
  json.limit = Math.min(length, at + LONG_DOCUMENT);
  const isSure = scanner.scan(at);
  json.limit = length;
  return isSure;
}

/** Throws if there is another character at that position. */
function mustBe(text: string, at: number, code: number): void {
  if (text.charCodeAt(at) !== code) throw new SyntaxError(`An unexpected character at ${at}`);
}

function isOption(name: string): boolean {
  return name === 'new_edits' || name === 'all_or_nothing';
}

/** The length of the name `docs` with its quotes and with each letter as an escape. */
const MAX_DOCS_LENGTH = 26;

/** Moves to the value of the object's next member `docs`; returns false if there is none. */
function* moveToDocs(cursor: JsonCursor): CooperativeTask<boolean> {
  while (cursor.nextName()) {
    if (cursor.keyEnd - cursor.keyStart <= MAX_DOCS_LENGTH && cursor.name === 'docs') return true;
    yield* cursor.skipValueInSteps();
  }
  return false;
}

/** Reads a request of any form, with `request` as its parsed value. */
export function* parseBulkInSteps(text: string, request: unknown, count = noneRead()): CooperativeTask<IncomingBulk> {
  if (!isObject(request)) throw new DatabaseError('bad_request', 'Request body must be a JSON object');
  const values: unknown = request['docs'];
  if (!Array.isArray(values)) throw new DatabaseError('bad_request', "Missing JSON list of 'docs'");
  return toBulk(request, yield* parseList(text, values, count));
}

/** Reads the documents of a request, with `values` as its `docs`: of the last member of that name, if there are several. */
function* parseList(text: string, values: readonly unknown[], count: ReadCount): CooperativeTask<IncomingDocument[]> {
  const cursor = new JsonCursor(yield* shortenSpaceInSteps(text));
  cursor.enter();
  let start = -1;
  while (yield* moveToDocs(cursor)) {
    start = cursor.position;
    yield* cursor.skipValueInSteps();
  }
  assert(start >= 0, 'a member of the value is in the text');
  cursor.moveTo(start);
  cursor.enter();
  const documents: IncomingDocument[] = [];
  let restedAt = start;
  while (cursor.nextElementStart()) {
    const value = values[documents.length];
    documents.push(isObject(value) ? yield* parseDocumentInSteps(cursor) : parseDocumentValue(cursor, value));
    if (cursor.position - restedAt < STEP_LENGTH && documents.length % DOCUMENTS_PER_STEP > 0) continue;
    restedAt = cursor.position;
    count.documents = documents.length;
    count.characters = restedAt;
    yield;
  }
  return documents;
}

function toBulk(request: JsonObject, documents: readonly IncomingDocument[]): IncomingBulk {
  return {
    documents,
    newEdits: request['new_edits'] !== false,
    allOrNothing: request['all_or_nothing'] === true,
  };
}
