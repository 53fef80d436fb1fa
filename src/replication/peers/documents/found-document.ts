import { isObject, type JsonObject } from '../../../base/json/objects.ts';
import { hasLoneSurrogate } from '../../../base/json/portable-values.ts';
import type { FoundDocument, Stub, WantedDocument } from '../contract.ts';
import { descendsFrom, generationOf, type ReadDocument, readDocumentText, revisionsAmong } from './document-text.ts';

/** The attachments of a document that arrived without their content: which of them the target lacks. */
/**
 * Undefined if the document has none. `since`: revisions that the target has. Throws `SyntaxError` if an entry is malformed: the
 * content is checked against it.
 */
function readStubs(document: ReadDocument, since: readonly string[]): readonly Stub[] | undefined {
  const entries = Object.entries(document.attachments ?? {});
  if (entries.length === 0) return undefined;
  const known = Math.max(0, ...since.filter((rev) => descendsFrom(document, rev)).map(generationOf));
  return entries.map(([name, entry]) => readStub(name, entry, known));
}

function readStub(name: string, entry: unknown, known: number): Stub {
  if (!isObject(entry)) throw malformed(name, 'is no object');
  const { content_type: type, revpos, digest, length, encoding, stub } = entry;
  if (!isTextOrNone(type)) throw malformed(name, 'has a content_type that is no text');
  if (!isTextOrNone(digest)) throw malformed(name, 'has a digest that is no text');
  if (hasLoneSurrogate(name) || name === '') throw malformed(name, 'has a name that no request can have');
  // A stub that doesn't say when it was written may be newer than anything. Content that was not requested is not accepted unchecked.
  const isMissing = typeof revpos !== 'number' || revpos > known || stub !== true;
  return {
    name,
    length: lengthOf(name, entry, length),
    digest,
    isEncoded: encoding !== undefined && encoding !== 'identity',
    entry: { content_type: type, revpos: typeof revpos === 'number' ? revpos : undefined, digest },
    isMissing,
  };
}

function isTextOrNone(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

function lengthOf(name: string, { data }: JsonObject, length: unknown): number {
  if (typeof length === 'number' && Number.isSafeInteger(length) && length >= 0) return length;
  // From a peer that sends content instead of stubs.
  if (length === undefined && typeof data === 'string') return Math.floor((data.replace(/=+$/, '').length * 3) / 4);
  throw malformed(name, `has a length of ${JSON.stringify(length)?.slice(0, 100)}`);
}

function malformed(name: string, what: string): SyntaxError {
  return new SyntaxError(`its attachment ${JSON.stringify(name)} ${what}`);
}

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
