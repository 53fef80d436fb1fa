/**
 * Documents as clients send them: checked, and their text split into the members that begin with `_`, which the service
 * reads, and the body, which it keeps as it was written (docs/http/documents.md#document-members). Numbers keep all their digits, and escapes their
 * spelling.
 *
 * The document scanner reads most documents, in one walk over their text. The fallback parser reads those that the scanner
 * is not sure of.
 */
import { JsonCursor } from '../../../base/json/json-cursor.ts';
import { JsonScanner } from '../../../base/json/json-scanner.ts';
import { shortenSpaceInSteps } from '../../../base/json/white-space.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import type { IncomingDocument } from '../contract.ts';
import { DocumentScanner } from './document-scanner.ts';
import { parseDocumentValue, parseJson, parseLongDocument } from './fallback-parser.ts';
import { toIncomingDocument } from './reserved-members.ts';

/** Reading a document of this many characters or more is long work. */
const LONG_TEXT = 262_144;

/**
 * Reads one document. Fails with `bad_request` (not JSON, not an object, bad id or rev, not portable) or `doc_validation` (a reserved
 * member that isn't known or has a value it can't have; `_deleted` must be `true` or `false`).
 */
export function readDocument(text: string): IncomingDocument {
  return scanDocument(text) ?? withRevision(parseDocumentValue(new JsonCursor(text), parseJson(text)));
}

/** Returns the document; undefined if the scanner is not sure of it. Errors are those of `readDocument`. */
export function scanDocument(text: string): IncomingDocument | undefined {
  const json = new JsonScanner(text);
  const scanner = new DocumentScanner(json);
  const isSure = scanner.scan(json.skipSpace(0)) && json.skipSpace(scanner.end) === text.length;
  return isSure ? withRevision(toIncomingDocument(scanner, scanner.body)) : undefined;
}

/** Like `readDocument`, but lets other tasks run in the middle of a long document. */
export function* readDocumentInSteps(whole: string): CooperativeTask<IncomingDocument> {
  if (whole.length <= LONG_TEXT) return readDocument(whole);
  const text = yield* shortenSpaceInSteps(whole);
  const json = new JsonScanner(text);
  const scanner = new DocumentScanner(json);
  const isSure = (yield* scanner.scanInSteps(json.skipSpace(0))) && json.skipSpace(scanner.end) === text.length;
  if (isSure) return withRevision(toIncomingDocument(scanner, scanner.body));
  return withRevision(yield* parseLongDocument(text));
}

function withRevision(document: IncomingDocument): IncomingDocument {
  if (document.badRev !== undefined) throw document.badRev.error;
  return document;
}
