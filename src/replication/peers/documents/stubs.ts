/** The attachments of a document that came without their content: which of them the target lacks. */

import { isObject, type JsonObject } from '../../../base/json/objects.ts';
import { hasLoneSurrogate } from '../../../base/json/portable-values.ts';
import type { Stub } from '../contract.ts';
import { descendsFrom, generationOf, type ReadDocument } from './document-text.ts';

/**
 * Undefined where the document has none. `since`: revisions that the target has. Throws `SyntaxError` where an entry is malformed: what it
 * says of the content is what the content is held against.
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
  // One that doesn't say when it was written may be newer than anything. Content that was not asked for is not taken unseen.
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
  // Of a peer that sends content where stubs were asked for.
  if (length === undefined && typeof data === 'string') return Math.floor((data.replace(/=+$/, '').length * 3) / 4);
  throw malformed(name, `has a length of ${JSON.stringify(length)?.slice(0, 100)}`);
}

function malformed(name: string, what: string): SyntaxError {
  return new SyntaxError(`its attachment ${JSON.stringify(name)} ${what}`);
}
