/** What an end has, compared with every revision that was ever acknowledged at either end. */
import { at } from '../conformance/json.ts';
import type { SeededRandom } from '../seeded-random.ts';
import type { HistoryEnd } from './history-ends.ts';
import {
  ancestors,
  CONTENT_TYPE,
  type Content,
  generationOf,
  type RandomHistories,
  type Revision,
  winnerOf,
} from './random-histories.ts';

export interface Expected {
  readonly histories: RandomHistories;
  /** The lower one of the limits of revisions of both ends. */
  readonly lowLimit: number;
  /** Whether branches of the document are longer than that. */
  isLong(id: string): boolean;
  /** Whether PouchDB may have written tombstones into an end that would have kept their attachments. */
  readonly mayLackAttachmentsOfTombstones: boolean;
}

const SAMPLE = 60;

interface SampledAttachment {
  readonly id: string;
  readonly name: string;
  readonly rev: string;
  readonly content: Content;
}

/** Returns each difference as a line; none if the end has all that it must have, and nothing else. */
export async function differencesAt(end: HistoryEnd, expected: Expected, random: SeededRandom): Promise<string[]> {
  const { histories } = expected;
  const rows = new Map((await end.changes()).map((row) => [String(at(row, 'id')), at(row, 'changes', 0, 'rev')]));
  const found: string[] = [...rows.keys()].filter((id) => !histories.ids.includes(id)).map((id) => `unknown: ${id}`);
  const attachments: SampledAttachment[] = [];
  for (const id of histories.ids) {
    if (!rows.has(id)) {
      found.push(`${id} is missing`);
      continue;
    }
    const leaves = await end.leaves(id);
    const known = leaves.map((leaf) => histories.find(id, String(at(leaf, '_rev'))));
    const revisions = known.filter((one) => one !== undefined);
    const remembered = new Set(revisions.flatMap((leaf) => ancestors(leaf).slice(0, end.revsLimit)));
    const lines = [
      ...differentLeaves(id, revisions, expected),
      ...leaves.flatMap((leaf, index) => differentLeaf({ end, id, remembered }, leaf, known[index], expected)),
    ];
    const winner = winnerOf(revisions);
    if (rows.get(id) !== winner) lines.push(`${rows.get(id)} wins, not ${winner}`);
    found.push(...lines.map((line) => `${id}: ${line}`));
    attachments.push(...attachmentsOf(id, leaves, revisions));
  }
  const sample = Array.from({ length: SAMPLE }, () => random.oneOf(attachments)).filter((one) => one !== undefined);
  for (const { id, name, rev, content } of sample) {
    const bytes = await end.attachment(id, name, rev);
    if (Buffer.compare(bytes, histories.bytes(content)) !== 0) found.push(`${id} ${rev} ${name}: other bytes`);
  }
  return found.map((line) => `${end.name}: ${line}`);
}

/**
 * Every revision that nothing was made of is a leaf. Of other revisions only those that were forgotten may be one: when the two ends have
 * different limits, and one knows only an old revision, a newer one may arrive with an ancestry that is too short to name it. The ancestry
 * of a revision is never shorter than the lower limit, so the distance is at least that.
 */
function differentLeaves(
  id: string,
  present: readonly Revision[],
  { histories, lowLimit, isLong }: Expected,
): string[] {
  const expected = histories.leaves(id);
  const missing = expected.filter((leaf) => !present.includes(leaf)).map(({ rev }) => `no leaf ${rev}`);
  const extra = present.filter((leaf) => !expected.includes(leaf));
  const wrong = extra.filter(({ rev }) => {
    const newer = present.filter((other) => other.rev !== rev && ancestors(other).includes(rev));
    const isForgotten = newer.every((other) => generationOf(other.rev) - generationOf(rev) >= lowLimit);
    return !(isLong(id) && isForgotten);
  });
  return [...missing, ...wrong.map(({ rev }) => `${rev} is a leaf, though it was edited`)];
}

interface Place {
  readonly end: HistoryEnd;
  readonly id: string;
  /** The newest revisions of each branch, as many as the end's limit. One that several branches share is remembered on all of them. */
  readonly remembered: ReadonlySet<string>;
}

function differentLeaf(
  { end, id, remembered }: Place,
  leaf: unknown,
  revision: Revision | undefined,
  expected: Expected,
): string[] {
  const rev = String(at(leaf, '_rev'));
  if (revision === undefined) return [`nobody wrote ${rev}`];
  const { _id, _rev, _revisions, _attachments = {}, ...rest } = Object(leaf);
  const lines: string[] = [];
  const body = revision.isDeleted ? { _deleted: true, n: revision.n } : { n: revision.n };
  if (textOf(rest) !== textOf(body)) lines.push(`${rev} is ${textOf(rest)}, not ${textOf(body)}`);
  const all = ancestors(revision);
  const ids = all.map((one) => one.slice(one.indexOf('-') + 1));
  const firstForgotten = all.findIndex((one) => !remembered.has(one));
  const [length, least, most] = [
    Array.from(Object(at(_revisions, 'ids'))).length,
    Math.min(ids.length, expected.isLong(id) ? expected.lowLimit : ids.length),
    firstForgotten < 0 ? ids.length : firstForgotten,
  ];
  const path = { ids: ids.slice(0, length), start: generationOf(rev) };
  if (textOf(_revisions) !== textOf(path)) lines.push(`${rev} has the ancestry ${textOf(_revisions)}`);
  if (length < least || length > most) lines.push(`${rev} has ${length} known ancestors, not ${least} to ${most}`);
  const stubs = Object.entries(Object(_attachments)).map(([name, stub]) => [
    name,
    [at(stub, 'content_type'), at(stub, 'length'), at(stub, 'digest'), at(stub, 'stub')],
  ]);
  const possible = possibleAttachments(end, revision, expected).map(textOf);
  const actual = textOf(Object.fromEntries(stubs));
  if (!possible.includes(actual)) lines.push(`${rev} has the attachments ${actual}, not ${possible.join(' or ')}`);
  return lines;
}

function possibleAttachments(end: HistoryEnd, { isDeleted, attachments }: Revision, expected: Expected): object[] {
  if (isDeleted && !end.keepsAttachmentsOfTombstones) return [{}];
  const all = Object.entries(attachments).map(([name, content]) => [
    name,
    [CONTENT_TYPE, content.length, expected.histories.digest(content), true],
  ]);
  return isDeleted && expected.mayLackAttachmentsOfTombstones
    ? [Object.fromEntries(all), {}]
    : [Object.fromEntries(all)];
}

/** Those that the end has: of tombstones it may lack them. */
function attachmentsOf(id: string, leaves: readonly unknown[], revisions: readonly Revision[]): SampledAttachment[] {
  return revisions.flatMap(({ rev, attachments }) => {
    const leaf = leaves.find((one) => at(one, '_rev') === rev);
    return Object.entries(attachments)
      .filter(([name]) => at(leaf, '_attachments', name) !== undefined)
      .map(([name, content]) => ({ id, name, rev, content }));
  });
}

/** JSON with the members of the outermost object in order. */
function textOf(value: unknown): string {
  const members = Object.entries(Object(value)).sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify(Object.fromEntries(members));
}
