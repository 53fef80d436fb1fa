/** Reads what a replication needs from a document in transit as text. */
import { isDatabaseError } from '../../../base/errors/database-error.ts';
import { BACKSLASH, OPEN_BRACE, UNDERSCORE } from '../../../base/json/characters.ts';
import { JsonCursor } from '../../../base/json/json-cursor.ts';
import { assertShallowInSteps } from '../../../base/json/nesting.ts';
import { isObject, type JsonObject } from '../../../base/json/objects.ts';
import { parseInSteps } from '../../../base/json/parse-in-steps.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import type { DocumentText } from '../contract.ts';

/** A document with the members that a replication uses. */
export interface ReadDocument extends DocumentText {
  /** Undefined if it names no ancestors. */
  readonly ancestry: Ancestry | undefined;
  /** Undefined if it has none. */
  readonly attachments: JsonObject | undefined;
}

/** The hashes of a revision and its ancestors, newest first, with generations that count down from `start`. */
interface Ancestry {
  readonly start: number;
  readonly ids: readonly unknown[];
}

type Special = '_id' | '_rev' | '_revisions' | '_attachments';

const SPECIAL: ReadonlySet<string> = new Set<Special>(['_id', '_rev', '_revisions', '_attachments']);

/**
 * Throws `SyntaxError` if the text is not a document with an id and a revision, if `_revisions` begins with another revision than
 * `_rev`, and if a relevant member occurs twice: one reader would use the first of them, and another one the last.
 */
export function* readDocumentText(text: string): CooperativeTask<ReadDocument> {
  const members = yield* readSpecialMembers(text);
  const id = stringOf(members, '_id');
  const rev = stringOf(members, '_rev');
  const ancestry = readAncestry(yield* parseMember(members.get('_revisions')), rev);
  const attachments = yield* parseMember(members.get('_attachments'));
  if (attachments !== undefined && !isObject(attachments)) throw new SyntaxError('its _attachments are not an object');
  return { id, rev, text, ancestry, attachments };
}

/** Whether the document is that revision, or descends from it. */
export function descendsFrom({ rev, ancestry }: Omit<ReadDocument, 'text'>, ancestor: string): boolean {
  return rev === ancestor || (ancestry !== undefined && hasRevision(ancestry, ancestor));
}

function hasRevision({ start, ids }: Ancestry, rev: string): boolean {
  const hash = ids[start - generationOf(rev)];
  return hash === rev.slice(rev.indexOf('-') + 1);
}

/** Returns the `revs` that the document is, or descends from. The cost depends on its number of ancestors, not on that of `revs`. */
export function revisionsAmong({ rev, ancestry }: ReadDocument, revs: ReadonlySet<string>): readonly string[] {
  const path = ancestry?.ids.map((hash, index) => `${ancestry.start - index}-${hash}`) ?? [rev];
  return path.filter((one) => revs.has(one));
}

/** The number that a revision begins with. */
export function generationOf(rev: string): number {
  return Number.parseInt(rev, 10);
}

/** Returns the names of its attachments in the order of the text; the object may have another order. */
export function* attachmentNames(text: string): CooperativeTask<readonly string[]> {
  const attachments = (yield* readSpecialMembers(text)).get('_attachments') ?? '{}';
  const cursor = new JsonCursor(attachments);
  cursor.enter();
  const names: string[] = [];
  while (cursor.nextMember()) {
    names.push(cursor.name);
    if (names.length % NAMES_PER_STEP === 0) yield;
  }
  return names;
}

/** Names that are read between two checks of the clock. */
const NAMES_PER_STEP = 256;

/** Members of texts up to this length in characters are read in one step. */
const SHORT_TEXT = 65_536;

/** Returns the texts of the members' values. */
function* readSpecialMembers(text: string): CooperativeTask<ReadonlyMap<Special, string>> {
  const members = new Map<Special, string>();
  const cursor = new JsonCursor(text);
  cursor.enter();
  if (text.charCodeAt(cursor.position - 1) !== OPEN_BRACE) throw new SyntaxError('it is not an object');
  const isShort = text.length <= SHORT_TEXT;
  while (isShort ? cursor.nextMember() : yield* cursor.nextMemberInSteps()) {
    const first = text.charCodeAt(cursor.keyStart + 1);
    if (first !== UNDERSCORE && first !== BACKSLASH) continue;
    const { name } = cursor;
    if (!isSpecial(name)) continue;
    if (members.has(name)) throw new SyntaxError(`it has ${name} twice`);
    members.set(name, cursor.valueText);
  }
  return members;
}

function isSpecial(name: string): name is Special {
  return SPECIAL.has(name);
}

/** Returns the value of a member. Throws `SyntaxError` if it is not JSON, or if it is long and nested very deeply. */
function* parseMember(text: string | undefined): CooperativeTask<unknown> {
  if (text === undefined || text.length <= SHORT_TEXT) return parse(text);
  try {
    yield* assertShallowInSteps(text);
    return yield* parseInSteps(text);
  } catch (failure) {
    if (!isDatabaseError(failure)) throw failure;
    throw new SyntaxError(failure.reason, { cause: failure });
  }
}

function parse(text: string | undefined): unknown {
  return text === undefined ? undefined : JSON.parse(text);
}

function stringOf(members: ReadonlyMap<Special, string>, name: Special): string {
  const value = parse(members.get(name));
  if (typeof value === 'string') return value;
  throw new SyntaxError(`it has no ${name}`);
}

function readAncestry(revisions: unknown, rev: string): Ancestry | undefined {
  if (revisions === undefined) return undefined;
  const { start, ids } = isObject(revisions) ? revisions : {};
  if (typeof start !== 'number' || !Array.isArray(ids)) throw new SyntaxError('its _revisions are malformed');
  if (`${start}-${ids[0]}` !== rev) {
    throw new SyntaxError(`its _revisions begin with ${start}-${ids[0]}, and its _rev is ${rev}`);
  }
  return { start, ids };
}
