/** What a replicator asks about revisions, and purging, which has the same form of request (docs/http.md#missing-revisions). */
import type { DocumentRecord, Snapshot } from '../../database/contract.ts';
import type { DocId, RevId } from '../../documents/contract.ts';
import { findNode, revisionsOf } from '../../documents/revisions/revision-tree.ts';
import { parseRevId, toRevision } from '../../documents/revisions/revisions.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import { inTurns, mapInSteps } from '../../shared/turn.ts';
import { revOf } from '../documents/document-rendering.ts';
import { readMembers, requireJsonType } from '../request/bodies.ts';
import type { Answer, Context } from '../request/context.ts';
import { toDocId } from '../request/parameter-values.ts';
import { withSnapshotLease } from '../request/snapshot-lease.ts';
import { jsonAnswer, textAnswer } from '../response/responses.ts';
import { streamedBody } from '../response/streams.ts';

/** How many documents are looked up at once. */
const BATCH = 200;
/** From so many comparisons on, the revisions that are known are put into a set. */
const MANY = 1_000;

/** Which of the named revisions are unknown here. One whose body was compacted away is known. */
export function postRevsDiff(context: Context, database: string): Promise<Answer> {
  const textOf = ({ id, revs, record }: MissingRevisions) => {
    const ancestors = record === undefined ? [] : possibleAncestors(record, revs);
    const more = ancestors.length === 0 ? '' : `,"possible_ancestors":${JSON.stringify(ancestors)}`;
    return `${JSON.stringify(id)}:{"missing":${JSON.stringify(revs)}${more}}`;
  };
  return answerMissing(context, database, { before: '{', textOf, after: '}\n' });
}

export function postMissingRevs(context: Context, database: string): Promise<Answer> {
  const textOf = ({ id, revs }: MissingRevisions) => `${JSON.stringify(id)}:${JSON.stringify(revs)}`;
  return answerMissing(context, database, { before: '{"missing_revs":{', textOf, after: '}}\n' });
}

/** Only leaf revisions go; whatever is unknown is passed over. */
export async function postPurge(context: Context, database: string): Promise<Answer> {
  requireJsonType(context);
  const revisions = new Map<DocId, readonly RevId[]>();
  for (const { docId, revs } of await readRevisionLists(context)) if (docId !== undefined) revisions.set(docId, revs);
  const outcome = await context.services.registry.use(database, (open) => open.purge(revisions));
  const textOf = ([id, revs]: readonly [DocId, readonly RevId[]]) => `${JSON.stringify(id)}:${JSON.stringify(revs)}`;
  const members = await inTurns(mapInSteps(outcome.purged, textOf));
  return jsonAnswer(context, 200, `{"purge_seq":${outcome.purgeSeq},"purged":{${members.join(',')}}}`);
}

interface RevisionList {
  readonly id: string;
  /** Undefined where no document can have that id; it is asked for as any other that isn't there. */
  readonly docId: DocId | undefined;
  readonly revs: readonly RevId[];
}

interface MissingRevisions extends RevisionList {
  readonly record: DocumentRecord | undefined;
}

/** How documents are shown that have missing revisions. */
interface MissingText {
  readonly before: string;
  readonly textOf: (missing: MissingRevisions) => string;
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
  { before, textOf, after }: MissingText,
): AsyncGenerator<string, void, void> {
  yield before;
  let separator = '';
  for (let start = 0; start < lists.length; start += BATCH) {
    const batch = lists.slice(start, start + BATCH);
    const records = await snapshot.documents(batch.flatMap(({ docId }) => (docId === undefined ? [] : [docId])));
    let next = 0;
    for (const list of batch) {
      const record = list.docId === undefined ? undefined : records[next++];
      const revs = unknownRevisions(record, list.revs);
      if (revs.length === 0) continue;
      yield separator + textOf({ ...list, revs, record });
      separator = ',';
    }
  }
  yield after;
}

/** Which of them are in none of the document's histories. */
function unknownRevisions(record: DocumentRecord | undefined, revs: readonly RevId[]): readonly RevId[] {
  if (record === undefined) return revs;
  const { leaves } = record;
  if (revs.length * leaves.length < MANY) return revs.filter((rev) => findNode(leaves, toRevision(rev)) === undefined);
  const known = revisionsOf(leaves);
  return revs.filter((rev) => !known.has(rev));
}

/** Leaves below the highest missing generation: the missing revisions may descend from them. */
function possibleAncestors(record: DocumentRecord, missing: readonly RevId[]): RevId[] {
  let highest = 0;
  for (const rev of missing) highest = Math.max(highest, toRevision(rev).generation);
  return record.leaves.filter(({ generation }) => generation < highest).map(revOf);
}

/** The body `{id: [rev…]…}`. Fails with `bad_request`. */
async function readRevisionLists(context: Context): Promise<RevisionList[]> {
  const members = await readMembers(context);
  return inTurns(
    mapInSteps(members, ([id, revs]) => {
      if (!Array.isArray(revs)) {
        throw new DatabaseError('bad_request', `The revisions of "${id}" must be a JSON list of strings.`);
      }
      return { id, docId: toDocId(id), revs: revs.map(parseRevId) };
    }),
  );
}
