/**
 * Documents as clients send them, of whatever form: what a `DocumentScanner` is sure of is read by it alone. Of the rest
 * `JSON.parse` decides what is valid and what the reserved members say; the text is walked beside it only to find where members
 * begin and end. Browsers load this on first use.
 */
import { DatabaseError } from '../../errors/database-error.ts';
import { BACKSLASH, OPEN_BRACE, UNDERSCORE } from '../../json/characters.ts';
import { JsonCursor } from '../../json/json-cursor.ts';
import { KeptMembers } from '../../json/kept-members.ts';
import { minify } from '../../json/minify-json.ts';
import { isObject, type JsonObject } from '../../json/objects.ts';
import { checkPortable, mayBeUnportable } from '../../json/portable-values.ts';
import { assert } from '../../shared/assert.ts';
import type { IncomingDocument } from '../contract.ts';
import { parseDocId } from '../identifiers.ts';
import { badMember, parseRevisions, readRev, scanDocument } from './incoming.ts';

/** What becomes of a reserved member: its value is read, it is left out, or it stays in the body. */
type ReservedUse = 'read' | 'dropped' | 'kept';

const RESERVED: ReadonlyMap<string, ReservedUse> = new Map([
  ['_id', 'read'],
  ['_rev', 'read'],
  ['_deleted', 'read'],
  ['_attachments', 'read'],
  ['_revisions', 'read'],
  ['_revs_info', 'dropped'],
  ['_conflicts', 'dropped'],
  ['_deleted_conflicts', 'dropped'],
  ['_local_seq', 'dropped'],
  ['_replication_state', 'kept'],
  ['_replication_state_time', 'kept'],
  ['_replication_state_reason', 'kept'],
  ['_replication_id', 'kept'],
  ['_replication_stats', 'kept'],
]);

/**
 * Reads one document. Fails with `bad_request` (not JSON, not an object, bad id or rev, what is not portable) or `doc_validation` (a reserved
 * member that isn't known or has a value it can't have; `_deleted` must be `true` or `false`).
 */
export function readDocument(text: string): IncomingDocument {
  return scanDocument(text) ?? readDocumentValue(new JsonCursor(text), parseJson(text));
}

/**
 * Reads the document that begins at the cursor, `value` being what `JSON.parse` made of it, and leaves the cursor behind
 * it. Errors are those of `readDocument`.
 */
export function readDocumentValue(cursor: JsonCursor, value: unknown): IncomingDocument {
  if (!isObject(value)) throw new DatabaseError('bad_request', 'Document must be a JSON object');
  return toDocument(cursor.text, cutBody(cursor), value);
}

/** Reads the document that begins at the cursor by `JSON.parse`, and leaves the cursor behind it. */
export function parseDocument(cursor: JsonCursor): IncomingDocument {
  const { text } = cursor;
  const cut = cutBody(cursor);
  return toDocument(text, cut, parseJson(text.slice(cut.start, cursor.position)));
}

/** The document of a text that was cut, `value` being what `JSON.parse` makes of it. */
function toDocument(text: string, cut: CutBody, value: unknown): IncomingDocument {
  if (!isObject(value)) throw new DatabaseError('bad_request', 'Document must be a JSON object');
  if (mayBeUnportable(cut.body)) checkPortable(value);
  const body = wholeBody(text, cut, value);
  const { _id, _rev, _deleted, _attachments, _revisions } = value;
  const id = _id === undefined ? undefined : parseDocId(_id);
  const revisions = _revisions === undefined ? undefined : parseRevisions(_revisions);
  return {
    id,
    rev: readRev(_rev, id, revisions),
    deleted: _deleted === undefined ? false : parseDeleted(_deleted),
    revisions,
    hasAttachments: _attachments === undefined ? false : parseAttachments(_attachments),
    body,
  };
}

/** An object's text without its reserved members, right if none of its members is there twice. */
interface CutBody {
  /** Where the object begins in the whole text. */
  readonly start: number;
  readonly members: number;
  readonly body: string;
  /** Whether there is white space in it, outside of strings. */
  readonly hasSpace: boolean;
}

/** Cuts the reserved members out of the object's text. */
function cutBody(cursor: JsonCursor): CutBody {
  const { text } = cursor;
  cursor.enter();
  cursor.sawSpace = false;
  const start = cursor.position - 1;
  assert(text.charCodeAt(start) === OPEN_BRACE, 'the text of an object begins with a brace');
  const kept = new KeptMembers(text);
  kept.begin(start);
  let members = 0;
  while (cursor.nextMember()) {
    members++;
    if (staysInBody(cursor)) kept.keep(cursor.keyStart, cursor.valueEnd);
    else kept.leaveOut();
  }
  return { start, members, body: kept.objectText(cursor.position), hasSpace: cursor.sawSpace };
}

function wholeBody(text: string, { start, members, body, hasSpace }: CutBody, value: JsonObject): string {
  const distinct = members === countMembers(value) ? body : readDistinctMembers(text, start);
  return hasSpace ? minify(distinct) : distinct;
}

/** The body of an object that has a member twice: as in `JSON.parse`, the last value counts, in the first one's place. */
function readDistinctMembers(text: string, start: number): string {
  const members = new Map<string, string>();
  const cursor = new JsonCursor(text, start);
  cursor.enter();
  while (cursor.nextMember()) {
    if (!staysInBody(cursor)) continue;
    members.set(cursor.name, text.slice(cursor.keyStart, cursor.valueEnd));
  }
  return `{${[...members.values()].join(',')}}`;
}

/** Whether the cursor's member is part of the body. Fails where its name is reserved and unknown. */
function staysInBody(cursor: JsonCursor): boolean {
  const first = cursor.text.charCodeAt(cursor.keyStart + 1);
  if (first !== UNDERSCORE && first !== BACKSLASH) return true;
  const { name } = cursor;
  if (name.charCodeAt(0) !== UNDERSCORE) return true;
  const use = RESERVED.get(name);
  if (use === undefined) throw badMember(name);
  return use === 'kept';
}

/** As `Object.keys(value).length`, without the list. Too high where somebody added to all objects: then it is checked. */
function countMembers(value: JsonObject): number {
  let count = 0;
  for (const _ in value) count++;
  return count;
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new DatabaseError('bad_request', 'invalid_json', { cause });
  }
}

function parseDeleted(value: unknown): boolean {
  if (typeof value !== 'boolean') throw badMember('_deleted');
  return value;
}

function parseAttachments(value: unknown): boolean {
  if (!isObject(value)) throw badMember('_attachments');
  return Object.keys(value).length > 0;
}
