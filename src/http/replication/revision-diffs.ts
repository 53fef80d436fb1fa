/** What a replicator asks about revisions, and purging, whose requests have the same format (docs/http/bulk.md#missing-revisions). */

import { DatabaseError } from '../../base/errors/database-error.ts';
import {
  type CooperativeTask,
  filterInSteps,
  joinInSteps,
  mapInSteps,
  runCooperatively,
  TimeSlice,
} from '../../base/shared/turn.ts';
import type { DocId, RevId } from '../../database/documents/contract.ts';
import { toDocId } from '../../database/documents/identifiers.ts';
import { findNode, revisionsOf } from '../../database/documents/revisions/revision-tree.ts';
import { parseRevId, toRevision } from '../../database/documents/revisions/revisions.ts';
import type { DocumentRecord, Snapshot } from '../../database/store/contract.ts';
import { readMembers, requireJsonType } from '../request/bodies.ts';
import type { Answer, Context } from '../request/context.ts';
import { commitRight } from '../request/kept-rights.ts';
import { withSnapshotLease } from '../request/snapshot-lease.ts';
import { jsonAnswer, textAnswer } from '../response/responses.ts';
import { streamedBody } from '../response/streams.ts';
import { revOf } from '../shown/document-rendering.ts';

/** How many items are processed between two checks of the clock. */
const BATCH = 200;
/** From this many comparisons on, known revisions are put into a set. Also how many are put into one piece of the response. */
const MANY = 1_000;
/** Memory that is held for the revisions of each document. */
const LIST_BYTES = 256;
const NONE: readonly never[] = [];

/** Answers which of the named revisions are unknown here. One whose body was compacted away is known. */
export function postRevsDiff(context: Context, database: string): Promise<Answer> {
  const piecesOf = ({ id, missing, possibleAncestors: ancestors }: MissingRevisions) => {
    const more = ancestors.length === 0 ? '' : `,"possible_ancestors":${JSON.stringify(ancestors)}`;
    return listPieces(`${JSON.stringify(id)}:{"missing":[`, missing, `]${more}}`);
  };
  return answerMissing(context, database, { before: '{', piecesOf, after: '}\n' });
}

export function postMissingRevs(context: Context, database: string): Promise<Answer> {
  const piecesOf = ({ id, missing }: MissingRevisions) => listPieces(`${JSON.stringify(id)}:[`, missing, ']');
  return answerMissing(context, database, { before: '{"missing_revs":{', piecesOf, after: '}}\n' });
}

/** Purges only leaf revisions; ignores unknown ones. */
export async function postPurge(context: Context, database: string): Promise<Answer> {
  requireJsonType(context);
  const revisions = new Map<DocId, readonly RevId[]>();
  const timeSlice = new TimeSlice();
  for (const { docId, revs } of await readRevisionLists(context)) {
    if (docId !== undefined) revisions.set(docId, revs);
    if (revisions.size % BATCH === 0 && timeSlice.isDue) await timeSlice.rest();
  }
  const outcome = await context.useDatabase(database, (open) => open.purge(revisions, commitRight(context)));
  const textOf = ([id, revs]: readonly [DocId, readonly RevId[]]) => `${JSON.stringify(id)}:${JSON.stringify(revs)}`;
  const members = await runCooperatively(joinInSteps([...outcome.purged], textOf));
  return jsonAnswer(context, 200, `{"purge_seq":${outcome.purgeSeq},"purged":{${members}}}`);
}

interface RevisionList {
  readonly id: string;
  /** Undefined if no document can have that id; then it is handled like the id of any other missing document. */
  readonly docId: DocId | undefined;
  readonly revs: readonly RevId[];
}

interface MissingRevisions {
  readonly id: string;
  /** The revisions that are in none of the document's histories. */
  readonly missing: readonly RevId[];
  /** Leaves below the highest missing generation: the missing revisions may descend from them. */
  readonly possibleAncestors: readonly RevId[];
}

/** The format in which documents with missing revisions are shown. */
interface MissingText {
  readonly before: string;
  readonly piecesOf: (missing: MissingRevisions) => Iterable<string>;
  readonly after: string;
}

async function answerMissing(context: Context, database: string, form: MissingText): Promise<Answer> {
  const lists = await readRevisionLists(context);
  return withSnapshotLease(context, database, async (lease) => {
    const pieces = missingText(lease.snapshot, lists, form);
    return textAnswer(context, 200, await streamedBody(context, pieces, lease.release));
  });
}

async function* missingText(
  snapshot: Snapshot,
  lists: readonly RevisionList[],
  { before, piecesOf, after }: MissingText,
): AsyncGenerator<string, void, void> {
  yield before;
  let separator = '';
  let from = 0;
  for await (const records of snapshot.documentBatches(idsOf(lists))) {
    const batch = lists.slice(from, from + records.length);
    from += records.length;
    for (const [index, { id, revs }] of batch.entries()) {
      const record = records[index];
      const found = runCooperatively(findMissing(record, revs));
      const { missing, possibleAncestors } = found instanceof Promise ? await found : found;
      if (missing.length === 0) continue;
      for (const piece of piecesOf({ id, missing, possibleAncestors })) {
        yield separator + piece;
        separator = '';
      }
      separator = ',';
    }
  }
  yield after;
}

function* idsOf(lists: readonly RevisionList[]): Iterable<DocId | undefined> {
  for (const { docId } of lists) yield docId;
}

/** The list between `before` and `after` may be too long for one piece. */
function* listPieces(before: string, revs: readonly RevId[], after: string): Iterable<string> {
  let start = before;
  let from = 0;
  for (; from + MANY < revs.length; from += MANY) {
    yield `${start}${revs.slice(from, from + MANY).map(quoted)}`;
    start = ',';
  }
  yield `${start}${revs.slice(from).map(quoted)}${after}`;
}

function quoted(rev: RevId): string {
  return JSON.stringify(rev);
}

function* findMissing(
  record: DocumentRecord | undefined,
  revs: readonly RevId[],
): CooperativeTask<Omit<MissingRevisions, 'id'>> {
  if (record === undefined) return { missing: revs, possibleAncestors: NONE };
  const { leaves } = record;
  const known = revs.length * leaves.length < MANY ? undefined : yield* revisionsOf(leaves);
  const missing: RevId[] = [];
  let highest = 0;
  for (const [index, rev] of revs.entries()) {
    if (index % BATCH === BATCH - 1) yield;
    const revision = toRevision(rev);
    if (known === undefined ? findNode(leaves, revision) !== undefined : known.has(rev)) continue;
    missing.push(rev);
    highest = Math.max(highest, revision.generation);
  }
  const lower = yield* filterInSteps(leaves, ({ generation }) => generation < highest);
  return { missing, possibleAncestors: yield* mapInSteps(lower, revOf) };
}

/** Reads the body `{id: [rev…]…}`. Fails with `bad_request`. */
async function readRevisionLists(context: Context): Promise<RevisionList[]> {
  const members = await readMembers(context, { member: LIST_BYTES });
  return runCooperatively(parseRevisionLists(members));
}

function* parseRevisionLists(members: readonly (readonly [string, unknown])[]): CooperativeTask<RevisionList[]> {
  const lists: RevisionList[] = [];
  for (const [id, revs] of members) {
    if (!Array.isArray(revs)) {
      throw new DatabaseError('bad_request', `The revisions of "${id}" must be a JSON list of strings.`);
    }
    lists.push({ id, docId: toDocId(id), revs: yield* mapInSteps(revs, parseRevId) });
    if (lists.length % BATCH === 0) yield;
  }
  return lists;
}
