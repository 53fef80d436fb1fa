/** `_bulk_docs` requests of whatever form, as `careful-document.ts` reads documents. Browsers load this on first use. */
import { DatabaseError } from '../../errors/database-error.ts';
import { CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET } from '../../json/characters.ts';
import { JsonCursor } from '../../json/json-cursor.ts';
import { JsonScanner } from '../../json/json-scanner.ts';
import { isObject } from '../../json/objects.ts';
import { assert } from '../../shared/assert.ts';
import { atOnce, type Steps } from '../../shared/turn.ts';
import type { IncomingDocument } from '../contract.ts';
import { DocumentScanner } from './document-scanner.ts';
import { parseDocument, parseJson, readDocumentValue } from './fallback-parser.ts';
import { scannedDocument } from './incoming.ts';
import { type IncomingBulk, PART_LENGTH, toBulk } from './incoming-bulk.ts';

/**
 * Reads a `_bulk_docs` request: `{docs, new_edits?, all_or_nothing?}`. One malformed document fails the whole
 * (completion 7), with the errors of `readDocument`.
 */
export function readBulk(text: string): IncomingBulk {
  return atOnce(readBulkInSteps(text));
}

/** As `readBulk`, step by step. */
export function* readBulkInSteps(text: string): Steps<IncomingBulk> {
  // What is not as it should be is looked at as a whole, since what is wrong with it depends on the whole.
  return (yield* readPartByPart(text)) ?? readAsWhole(text);
}

/**
 * Undefined where the request is malformed, or has several lists. What it gives is what `JSON.parse` would read: each
 * document is looked at by itself, and so is what is around the list; documents that were read have a 0 in their place there.
 */
function* readPartByPart(text: string): Steps<IncomingBulk | undefined> {
  const cursor = new JsonCursor(text);
  try {
    cursor.enter();
    if (!moveToDocs(cursor)) return undefined;
    cursor.enter();
    const start = cursor.position;
    mustBe(text, start - 1, OPEN_BRACKET);
    const documents: IncomingDocument[] = [];
    const end = yield* readList(cursor, documents);
    cursor.moveTo(end);
    cursor.enter();
    mustBe(text, cursor.position - 1, CLOSE_BRACKET);
    const rest = documents.length === 0 ? text : `${text.slice(0, start)}0${text.slice(end)}`;
    const request: unknown = JSON.parse(rest);
    return !isObject(request) || moveToDocs(cursor) ? undefined : toBulk(request, documents);
  } catch {
    return undefined;
  }
}

/** Reads a list of documents from its first one on. Gives where the last one ends. */
function* readList(cursor: JsonCursor, documents: IncomingDocument[]): Steps<number> {
  const { text, position } = cursor;
  const json = new JsonScanner(text);
  const scanner = new DocumentScanner(json);
  let at = json.skipSpace(position);
  if (text.charCodeAt(at) !== OPEN_BRACE) return position;
  let restedAt = at;
  for (;;) {
    cursor.moveTo(at);
    const isSure = scanner.scan(at);
    documents.push(isSure ? scannedDocument(scanner) : parseDocument(cursor));
    const end = isSure ? scanner.end : cursor.position;
    if (end - restedAt >= PART_LENGTH) {
      restedAt = end;
      yield;
    }
    at = json.skipSpace(end);
    if (text.charCodeAt(at) !== COMMA) return end;
    at = json.skipSpace(at + 1);
    mustBe(text, at, OPEN_BRACE);
  }
}

/** Another character is none of what can be there. */
function mustBe(text: string, at: number, code: number): void {
  if (text.charCodeAt(at) !== code) throw new SyntaxError(`An unexpected character at ${at}`);
}

/** Moves to the value of the object's next member `docs`; false where there is none. */
function moveToDocs(cursor: JsonCursor): boolean {
  while (cursor.nextName()) {
    if (cursor.name === 'docs') return true;
    cursor.skipValue();
  }
  return false;
}

function readAsWhole(text: string): IncomingBulk {
  const request = parseJson(text);
  if (!isObject(request)) throw new DatabaseError('bad_request', 'Request body must be a JSON object');
  const values: unknown = request['docs'];
  if (!Array.isArray(values)) throw new DatabaseError('bad_request', "Missing JSON list of 'docs'");
  return toBulk(request, readValues(text, values));
}

/** Reads the documents of a request, `values` being its `docs`: of the last member of that name, if there are several. */
function readValues(text: string, values: readonly unknown[]): IncomingDocument[] {
  const cursor = new JsonCursor(text);
  cursor.enter();
  let start = -1;
  while (moveToDocs(cursor)) {
    start = cursor.position;
    cursor.skipValue();
  }
  assert(start >= 0, 'a member of the value is in the text');
  cursor.moveTo(start);
  cursor.enter();
  const documents: IncomingDocument[] = [];
  while (cursor.nextElementStart()) documents.push(readDocumentValue(cursor, values[documents.length]));
  return documents;
}
