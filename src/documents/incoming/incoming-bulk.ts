/**
 * `_bulk_docs` requests (completion 7): their documents are read one by one from the text. That keeps little in memory
 * beside it, and lets others have a turn in the middle of a large request. Here are requests in which a `DocumentScanner` is sure
 * of every document; the others are `careful-bulk.ts`'s.
 */
import { CLOSE_BRACKET, COMMA } from '../../json/characters.ts';
import { JsonScanner } from '../../json/json-scanner.ts';
import { isObject, type JsonObject } from '../../json/objects.ts';
import type { Steps } from '../../shared/turn.ts';
import type { IncomingDocument } from '../contract.ts';
import { DocumentScanner } from './document-scanner.ts';
import { scannedDocument } from './incoming.ts';

export interface IncomingBulk {
  readonly documents: readonly IncomingDocument[];
  /** False only where the request says so with the literal `false`. */
  readonly newEdits: boolean;
  /** True only where the request says so with the literal `true`. */
  readonly allOrNothing: boolean;
}

/** Characters that are read in one go, at least. */
export const PART_LENGTH = 65_536;

/** Up to the first document of the list. Any number of words before it would take the engine's stack, which has an end. */
const BEGINNING = /^\s*\{(?:\s*"\w+"\s*:\s*(?:true|false)\s*,){0,2}\s*"docs"\s*:\s*\[\s*/;
/** What may be another list of documents, behind the first one. */
const ANOTHER = /docs|\\/;

/** The request, or undefined where it has to be read with care (`readBulk`, whose errors it shares). */
export function* scanBulkInSteps(text: string): Steps<IncomingBulk | undefined> {
  const start = BEGINNING.exec(text)?.[0].length;
  if (start === undefined) return undefined;
  try {
    const documents: IncomingDocument[] = [];
    const end = yield* scanList(text, start, documents);
    return end === undefined ? undefined : readAround(text.slice(0, start), documents, text.slice(end));
  } catch {
    // Which error is told depends on the whole.
    return undefined;
  }
}

/** Reads a list from its first document on. Gives where its bracket is, or undefined where it can't be sure of one. */
function* scanList(text: string, start: number, documents: IncomingDocument[]): Steps<number | undefined> {
  if (text.charCodeAt(start) === CLOSE_BRACKET) return start;
  const json = new JsonScanner(text);
  const scanner = new DocumentScanner(json);
  let restedAt = start;
  for (let at = start; scanner.scan(at); at = json.skipSpace(at + 1)) {
    documents.push(scannedDocument(scanner));
    at = json.skipSpace(scanner.end);
    const code = text.charCodeAt(at);
    if (code === CLOSE_BRACKET) return at;
    if (code !== COMMA) return undefined;
    if (at - restedAt < PART_LENGTH) continue;
    restedAt = at;
    yield;
  }
  return undefined;
}

/** What is around the list is as `JSON.parse` has it; malformed text throws. */
function readAround(before: string, documents: readonly IncomingDocument[], behind: string): IncomingBulk | undefined {
  if (ANOTHER.test(behind)) return undefined;
  const request: unknown = JSON.parse(`${before}${behind}`);
  return isObject(request) ? toBulk(request, documents) : undefined;
}

export function toBulk(request: JsonObject, documents: readonly IncomingDocument[]): IncomingBulk {
  return {
    documents,
    newEdits: request['new_edits'] !== false,
    allOrNothing: request['all_or_nothing'] === true,
  };
}
