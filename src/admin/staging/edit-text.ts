/** What is typed as a document: whether it is one, and whether it is another one than is stored. */
import { JsonMistake, type JsonTree, nameOf, parseJson } from '../json/json-tree.ts';
import { printCompact } from '../json/print-json.ts';

/** Members that documents have beside their own. */
const RESERVED = new Set([
  ...['_id', '_rev', '_attachments', '_deleted', '_revisions', '_revs_info', '_conflicts', '_deleted_conflicts'],
  ...['_local_seq', '_access', '_replication_state', '_replication_state_time', '_replication_state_reason'],
  ...['_replication_id', '_replication_stats'],
]);

/** Whether a member of a document can't have that name. It would fail the whole request, with all other documents. */
export function isReservedName(name: string): boolean {
  return name.startsWith('_') && !RESERVED.has(name);
}

/**
 * Why the text can't be stored as the document of that id; undefined if nothing is known against it. `before`: what is stored; names that it
 * has are the server's own business. It is asked at every key, so it reads the text as fast as possible, and once more only to say where a
 * mistake is.
 */
export function problemOf(text: string, id: string, before?: string): string | undefined {
  const value = parsed(text);
  if (value === undefined) return `This is not JSON: ${mistakeIn(text)}`;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'A document must be a JSON object.';
  if ('_id' in value && value._id !== id) return `The id of a stored document can't be changed: it is ${id}.`;
  const wrong = Object.keys(value).find(isReservedName);
  const stored = wrong === undefined || before === undefined ? {} : Object(parsed(before));
  if (wrong === undefined || wrong in stored) return undefined;
  return `${wrong} is not a name for a member: those that begin with _ are reserved.`;
}

function mistakeIn(text: string): string {
  try {
    parseJson(text);
    return 'it can not be read.';
  } catch (error) {
    return error instanceof JsonMistake ? error.message : `${error}`;
  }
}

/** Undefined: it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Whether two texts say the same, digit for digit: white space between the values does not count, nor does the id, which can't be changed.
 */
export function isSameText(one: string | undefined, other: string | undefined): boolean {
  if (one === other) return true;
  if (one === undefined || other === undefined) return false;
  // The fast comparison finds almost every difference.
  const [members, others] = [roundedMembers(one), roundedMembers(other)];
  return members !== undefined && members === others && exactMembers(one) === exactMembers(other);
}

/** The members in one spelling, numbers as JavaScript reads them; undefined if the text is no document. */
function roundedMembers(text: string): string | undefined {
  const value = parsed(text);
  if (typeof value !== 'object' || value === null) return undefined;
  return JSON.stringify({ ...value, _id: undefined, _rev: undefined });
}

const IDENTITY = new Set(['_id', '_rev']);

function exactMembers(text: string): string {
  const tree: JsonTree = parseJson(text);
  const entries = tree.kind === 'object' ? tree.entries.filter((entry) => !IDENTITY.has(nameOf(entry))) : [];
  return printCompact({ kind: 'object', entries });
}
