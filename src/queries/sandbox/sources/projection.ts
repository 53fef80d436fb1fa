/**
 * Leaves out what the map functions of a mapper can't see of a document. Parsing is most of what a map costs inside
 * QuickJS, some ten times what it costs here to pass over a member.
 */
import { JsonCursor } from '../../../base/json/json-cursor.ts';
import { KeptMembers } from '../../../base/json/kept-members.ts';
import { membersUsed } from './source-scan.ts';

/** Returns the members to keep for all of these functions together; undefined: everything. `_id` is always kept, for the log. */
export function membersToKeep(sources: readonly string[]): ReadonlySet<string> | undefined {
  const kept = new Set(['_id']);
  for (const source of sources) {
    const members = membersUsed(source);
    if (members === undefined) return undefined;
    for (const member of members) kept.add(member);
  }
  return kept;
}

/** Returns the text of the same object with these members only, in their order. */
export function project(text: string, members: ReadonlySet<string>): string {
  const cursor = new JsonCursor(text);
  cursor.enter();
  const kept = new KeptMembers(text);
  kept.begin(cursor.position - 1);
  while (cursor.nextMember()) {
    if (members.has(cursor.name)) kept.keep(cursor.keyStart, cursor.valueEnd);
    else kept.leaveOut();
  }
  return kept.objectText(cursor.position);
}
