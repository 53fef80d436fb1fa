import type { FoundDocument, WantedDocument } from '../contract.ts';
import { readDocumentText, revisionsAmong } from './document-text.ts';
import { readStubs } from './stubs.ts';

/** What was requested, and its revisions as a set: there may be very many. */
interface Asked {
  readonly wanted: WantedDocument;
  readonly revs: ReadonlySet<string>;
}

/**
 * Checks a document in a peer's response against the request. Throws `SyntaxError`, which says why, if it is another document, a
 * revision that was not requested and descends from none that was, or not a document that a replicator can use.
 */
export function foundDocument(text: string, { wanted, revs }: Asked, hasContent: boolean): FoundDocument {
  const document = readDocumentText(text);
  const { id, rev } = document;
  if (id !== wanted.id) throw new SyntaxError(`it is the document ${JSON.stringify(id)}`);
  const settles = revisionsAmong(document, revs);
  if (settles.length === 0) throw new SyntaxError(`it is revision ${rev}, which descends from none that was asked for`);
  const stubs = hasContent ? undefined : readStubs(document, wanted.since);
  return { type: 'document', document: { id, rev, text }, wanted, settles, stubs };
}

/** Returns a revision that the peer says it lacks, or can't return. */
export function refusedDocument(id: string, rev: string, error: string, reason: string): FoundDocument {
  return { type: 'refused', refused: { id, rev, error, reason }, settles: [rev] };
}
