/**
 * Documents as clients send them: checked, and their text cut into the members that begin with `_`, which the service
 * reads, and the body, which it keeps as it was written (completion 5, 5.2, 7). Numbers keep all their digits, and escapes their
 * spelling.
 *
 * Here are those that a `DocumentScanner` is sure of, which are most; the others are `careful-document.ts`'s.
 */
import { DatabaseError } from '../../errors/database-error.ts';
import { JsonScanner } from '../../json/json-scanner.ts';
import { isObject } from '../../json/objects.ts';
import type { DocId, IncomingDocument, RevId, RevisionPath } from '../contract.ts';
import { isLocalId, parseDocId } from '../identifiers.ts';
import { checkHash, isLocalRev, parseRevId, toRevId } from '../revisions/revisions.ts';
import { DocumentScanner } from './document-scanner.ts';

/** The document, or undefined where it has to be read with care (`readDocument`, whose errors it shares). */
export function scanDocument(text: string): IncomingDocument | undefined {
  const json = new JsonScanner(text);
  const scanner = new DocumentScanner(json);
  const isSure = scanner.scan(json.skipSpace(0)) && json.skipSpace(scanner.end) === text.length;
  return isSure ? scannedDocument(scanner) : undefined;
}

/** The document that was scanned last. Errors are those of `readDocument`. */
export function scannedDocument(scanner: DocumentScanner): IncomingDocument {
  const id = scanner.id === undefined ? undefined : parseDocId(scanner.id);
  const revisions = scanner.revisions === undefined ? undefined : parseRevisions(scanner.revisions);
  const rev = readRev(scanner.rev, id, revisions);
  return { id, rev, deleted: scanner.deleted, revisions, hasAttachments: false, body: scanner.body };
}

/**
 * The revision that the document names: the newest of `_revisions`, which decides where `_rev` differs, or `_rev`. A local
 * document's `0-<n>` passes where the id may be a local one.
 */
export function readRev(value: unknown, id: DocId | undefined, revisions: RevisionPath | undefined): RevId | undefined {
  const newest = revisions?.ids[0];
  const told = revisions === undefined || newest === undefined ? undefined : toRevId(revisions.start, newest);
  if (value === undefined) return told;
  const mayBeLocal = id === undefined || isLocalId(id);
  const rev = mayBeLocal && typeof value === 'string' && isLocalRev(value) ? value : parseRevId(value);
  return told ?? rev;
}

/** The path, or undefined where it is empty or a local document's (generation 0), which has no history. */
export function parseRevisions(value: unknown): RevisionPath | undefined {
  if (!isObject(value)) throw badMember('_revisions');
  const { start, ids } = value;
  if (typeof start !== 'number' || !Number.isSafeInteger(start)) {
    throw new DatabaseError('doc_validation', "_revisions.start isn't an integer.");
  }
  if (!Array.isArray(ids)) throw new DatabaseError('doc_validation', "_revisions.ids isn't a array.");
  const hashes = ids.map(parseHash);
  if (start === 0 || hashes.length === 0) return undefined;
  if (start < hashes.length) {
    throw new DatabaseError('doc_validation', `_revisions.start is ${start}, but _revisions.ids has ${hashes.length}`);
  }
  return { start, ids: hashes };
}

function parseHash(value: unknown): string {
  if (typeof value !== 'string') throw new DatabaseError('doc_validation', "RevId isn't a string");
  checkHash(value);
  return value;
}

export function badMember(name: string): DatabaseError {
  return new DatabaseError('doc_validation', `Bad special document member: ${name}`);
}
