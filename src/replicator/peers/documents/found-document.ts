import type { FoundDocument, WantedDocument } from '../contract.ts';
import { readDocumentText } from './document-text.ts';
import { readStubs } from './stubs.ts';

/** Throws `SyntaxError` where the text is no document as a replicator needs it. */
export function foundDocument(text: string, wanted: WantedDocument, hasContent: boolean): FoundDocument {
  const stubs = hasContent ? undefined : readStubs(text, wanted.since);
  return { type: 'document', document: readDocumentText(text), wanted, stubs };
}

export function revOf(found: FoundDocument): string {
  return found.type === 'document' ? found.document.rev : found.refused.rev;
}
