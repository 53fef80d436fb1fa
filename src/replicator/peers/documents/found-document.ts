import type { FoundDocument, WantedDocument } from '../contract.ts';
import { descendsFrom, readDocumentText } from './document-text.ts';
import { readStubs } from './stubs.ts';

/**
 * A document as a peer answered it, held against what was asked for. Throws `SyntaxError`, which says why, where it is another document, a
 * revision that was not asked for and descends from none that was, or no document as a replicator needs it.
 */
export function foundDocument(text: string, wanted: WantedDocument, hasContent: boolean): FoundDocument {
  const document = readDocumentText(text);
  const { id, rev } = document;
  if (id !== wanted.id) throw new SyntaxError(`it is the document ${JSON.stringify(id)}`);
  const settles = wanted.revs.filter((one) => descendsFrom(document, one));
  if (settles.length === 0) throw new SyntaxError(`it is revision ${rev}, which descends from none that was asked for`);
  const stubs = hasContent ? undefined : readStubs(document, wanted.since);
  return { type: 'document', document: { id, rev, text }, wanted, settles, stubs };
}

/** A revision that the peer says it has not, or can't give. */
export function refusedDocument(id: string, rev: string, error: string, reason: string): FoundDocument {
  return { type: 'refused', refused: { id, rev, error, reason }, settles: [rev] };
}
