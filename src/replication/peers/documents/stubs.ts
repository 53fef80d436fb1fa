/** The attachments of a document that arrived without their content: which of them the target lacks. */

import { isObject, type JsonObject } from '../../../base/json/objects.ts';
import { hasLoneSurrogate } from '../../../base/json/portable-values.ts';
import type { Stub } from '../contract.ts';
import { descendsFrom, generationOf, type ReadDocument } from './document-text.ts';

/**
 * Undefined if the document has none. `since`: revisions that the target has. Throws `SyntaxError` if an entry is malformed: the
 * content is checked against it.
 */
export function readStubs(document: ReadDocument, since: readonly string[]): readonly Stub[] | undefined {
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
