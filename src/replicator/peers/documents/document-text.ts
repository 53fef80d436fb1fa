/** What has to be known of a document that is on its way as text. */
import { JsonCursor } from '../../../json/json-cursor.ts';
import type { DocumentText } from '../contract.ts';

/** Throws `SyntaxError` where the text is no document with an id and a revision. */
export function readDocumentText(text: string): DocumentText {
  const cursor = new JsonCursor(text);
  cursor.enter();
  let id: string | undefined;
  let rev: string | undefined;
  // Both come first, as nearly all write them.
  while ((id === undefined || rev === undefined) && cursor.nextMember()) {
    const { name } = cursor;
    if (name === '_id') id = stringOf(cursor);
    else if (name === '_rev') rev = stringOf(cursor);
  }
  if (id === undefined || rev === undefined) throw new SyntaxError('A document has no _id or no _rev');
  return { id, rev, text };
}

/** The text of a member's value; undefined where the object has none of that name. */
export function memberText(text: string, name: string): string | undefined {
  const cursor = new JsonCursor(text);
  cursor.enter();
  while (cursor.nextMember()) if (cursor.name === name) return cursor.valueText;
  return undefined;
}

function stringOf(cursor: JsonCursor): string {
  const value: unknown = JSON.parse(cursor.valueText);
  if (typeof value === 'string') return value;
  throw new SyntaxError(`A document's ${cursor.name} is no string`);
}
