/** Documents that a former release accepted, with values that are nested deeper than what is accepted today (docs/limits.md). */
import { JsonCursor } from '../../base/json/json-cursor.ts';
import { isShallowText } from '../../base/json/nesting.ts';

/** Returns the object's text, with `null` for each member that is nested too deeply for a program to read. Usually the text itself. */
export function withoutDeepMembers(body: string): string {
  if (isShallowText(body)) return body;
  const cursor = new JsonCursor(body);
  const members: string[] = [];
  cursor.enter();
  while (cursor.nextMember()) {
    const value = isShallowText(cursor.valueText) ? cursor.valueText : 'null';
    members.push(`${body.slice(cursor.keyStart, cursor.keyEnd)}:${value}`);
  }
  return `{${members.join(',')}}`;
}
