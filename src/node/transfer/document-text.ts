/**
 * What is read from the text of one JSON object, and what is changed in it: everything else stays as it was written. All functions fail on text that is
 * not JSON.
 */
import { JsonCursor } from '../../base/json/json-cursor.ts';
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';

function parseObject(text: string): JsonObject {
  const value: unknown = JSON.parse(text);
  if (isObject(value)) return value;
  throw new SyntaxError('a document must be a JSON object');
}

/** The text of a member's value; undefined if there is no such member. */
export function memberText(text: string, name: string): string | undefined {
  parseObject(text);
  const cursor = new JsonCursor(text);
  cursor.enter();
  let found: string | undefined;
  while (cursor.nextMember()) {
    if (cursor.name === name) found = cursor.valueText;
  }
  return found;
}

/** A member that is a string; null for anything else, and if the text is not a JSON object. */
export function stringMember(text: string, name: string): string | null {
  try {
    return toName(parseObject(text)[name]);
  } catch {
    return null;
  }
}

/** Its `_id` and `_rev`; each null if it is not a string, and if the text is not a JSON object. */
export function namesOf(text: string): { readonly id: string | null; readonly rev: string | null } {
  try {
    const { _id: id, _rev: rev } = parseObject(text);
    return { id: toName(id), rev: toName(rev) };
  } catch {
    return { id: null, rev: null };
  }
}

export function toName(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** Returns the document with its `_id` taken from another member, which must be a string; unchanged if it has an `_id`. */
export function withIdFrom(text: string, member: string): string {
  const document = parseObject(text);
  if (document['_id'] !== undefined) return text;
  const id = document[member];
  if (typeof id !== 'string' || id === '') {
    throw new SyntaxError(
      `its member "${member}", which should become the _id, is ${JSON.stringify(id) ?? 'not there'}`,
    );
  }
  // The object has a member, the one above, so a comma follows.
  return `{"_id":${JSON.stringify(id)},${text.slice(text.indexOf('{') + 1)}`;
}

/** An attachment that a document names without its content (docs/http/attachments.md#attachments-in-documents). */
export interface Stub {
  readonly name: string;
  /** `md5-` and Base64, of the bytes as the server stores them, which may be compressed. */
  readonly digest: string | undefined;
  /** Bytes of the plain content. */
  readonly length: number | undefined;
}

/** A document with its stubs; `rev` is undefined if it has none. */
export interface StubbedDocument {
  readonly id: string | undefined;
  readonly rev: string | undefined;
  readonly stubs: readonly Stub[];
}

const ATTACHMENTS = '_attachments';

/** Undefined if the document has no stubs. Fails with a `SyntaxError` if it has attachments and is not JSON. */
export function readStubs(text: string): StubbedDocument | undefined {
  // Most documents have no attachments, and need not be parsed.
  if (!text.includes(`"${ATTACHMENTS}"`)) return undefined;
  const document: unknown = JSON.parse(text);
  const stubs = attachmentsOf(document).filter(isStub).map(toStub);
  if (stubs.length === 0 || !isObject(document)) return undefined;
  const { _id: id, _rev: rev } = document;
  return { id: typeof id === 'string' ? id : undefined, rev: typeof rev === 'string' ? rev : undefined, stubs };
}

/**
 * The document with each stub announcing that its content follows (docs/http/attachments.md#multipart-uploads), everything else as it was written.
 * These entries are in the order of `readStubs`.
 *
 * @param lengths bytes of the files, by the names of the attachments
 */
export function withFollowing(text: string, lengths: ReadonlyMap<string, number>): string {
  const attachments = attachmentsOf(JSON.parse(text)).map((entry): readonly [string, unknown] => {
    const [name, value] = entry;
    return isStub(entry) ? [name, following(value, lengths.get(name))] : [name, value];
  });
  const cursor = new JsonCursor(text);
  cursor.enter();
  let [start, end] = [0, 0];
  // If a member occurs twice, the last one counts.
  while (cursor.nextMember()) if (cursor.name === ATTACHMENTS) [start, end] = [cursor.valueStart, cursor.valueEnd];
  return `${text.slice(0, start)}${JSON.stringify(Object.fromEntries(attachments))}${text.slice(end)}`;
}

function attachmentsOf(document: unknown): (readonly [string, unknown])[] {
  const attachments = isObject(document) ? ownMember(document, ATTACHMENTS) : undefined;
  return isObject(attachments) ? Object.entries(attachments) : [];
}

function isStub([, entry]: readonly [string, unknown]): boolean {
  return isObject(entry) && entry['stub'] === true;
}

function toStub([name, entry]: readonly [string, unknown]): Stub {
  const { digest, length }: JsonObject = isObject(entry) ? entry : {};
  return {
    name,
    digest: typeof digest === 'string' ? digest : undefined,
    length: typeof length === 'number' ? length : undefined,
  };
}

/** The file has the plain bytes, so the stub's data about stored bytes do not apply to it. */
function following(entry: unknown, length: number | undefined): JsonObject {
  const { stub, digest, encoding, encoded_length, ...kept }: JsonObject = isObject(entry) ? entry : {};
  return { ...kept, follows: true, length };
}
