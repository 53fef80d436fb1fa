import { JsonCursor } from '../../base/json/json-cursor.ts';
import { isObject, type JsonObject } from '../../base/json/objects.ts';

/** Functions on the text of one JSON object, which keep everything that they don't change as it was written. They throw on broken JSON. */

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
export function stringMember(text: string | undefined, name: string): string | null {
  try {
    const member = parseObject(text ?? '')[name];
    return typeof member === 'string' ? member : null;
  } catch {
    return null;
  }
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
