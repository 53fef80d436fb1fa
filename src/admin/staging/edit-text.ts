/** What is typed as a document: whether it is one, and whether it is another one than is stored. */
import { isObject, type JsonObject } from '../server/json.ts';

/** Members that documents have beside their own. Any other name that begins with `_` fails the whole request, with all other documents. */
const RESERVED = new Set([
  ...['_id', '_rev', '_attachments', '_deleted', '_revisions', '_revs_info', '_conflicts', '_deleted_conflicts'],
  ...['_local_seq', '_access', '_replication_state', '_replication_state_time', '_replication_state_reason'],
  ...['_replication_id', '_replication_stats'],
]);

/** Why the text can't be stored as the document of that id; undefined if nothing is known against it. */
export function problemOf(text: string, id: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : error}`;
  }
  if (!isObject(value)) return 'A document must be a JSON object.';
  if (value['_id'] !== undefined && value['_id'] !== id) {
    return `The id of a stored document can't be changed: it is ${id}.`;
  }
  const wrong = Object.keys(value).find((name) => name.startsWith('_') && !RESERVED.has(name));
  return wrong === undefined ? undefined : `${wrong} is not a name for a member: those that begin with _ are reserved.`;
}

/** Whether two texts say the same: white space between the values does not count, nor does the id, which can't be changed. */
export function isSameText(one: string | undefined, other: string | undefined): boolean {
  if (one === other) return true;
  if (one === undefined || other === undefined) return false;
  const [members, others] = [membersOf(one), membersOf(other)];
  return members !== undefined && members === others;
}

/** The members in one spelling; undefined if the text is no document. */
function membersOf(text: string): string | undefined {
  try {
    const { _id, _rev, ...members }: JsonObject = JSON.parse(text);
    return JSON.stringify(members);
  } catch {
    return undefined;
  }
}
