/** Documents that a former release took, with values that are nested deeper than anything is taken today (docs/limits.md). */
import { JsonCursor } from '../../base/json/json-cursor.ts';
import { isShallowText } from '../../base/json/nesting.ts';

/** The object's text, with `null` as the value of each member that is nested too deeply for a program to read it. Mostly the text itself. */
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
