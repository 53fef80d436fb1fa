/** What a replicator asks about revisions, and purging, which has the same form of request (docs/http.md#missing-revisions). */
import type { DocumentRecord } from '../../database/contract.ts';
import type { DocId, RevId } from '../../documents/contract.ts';
import { findNode } from '../../documents/revisions/revision-tree.ts';
import { parseRevId, toRevision } from '../../documents/revisions/revisions.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import { revOf } from '../documents/document-rendering.ts';
import { readObject, requireJsonType } from '../request/bodies.ts';
import type { Answer, Context } from '../request/context.ts';
import { toDocId } from '../request/parameter-values.ts';
import { withSnapshot } from '../request/snapshot-lease.ts';
import { jsonAnswer } from '../response/responses.ts';

/** Which of the named revisions are unknown here. One whose body was compacted away is known. */
export async function postRevsDiff(context: Context, database: string): Promise<Answer> {
  const members = (await missingRevisions(context, database)).map(({ id, revs, record }) => {
    const ancestors = record === undefined ? [] : possibleAncestors(record, revs);
    const more = ancestors.length === 0 ? '' : `,"possible_ancestors":${JSON.stringify(ancestors)}`;
    return `${JSON.stringify(id)}:{"missing":${JSON.stringify(revs)}${more}}`;
  });
  return jsonAnswer(context, 200, `{${members.join(',')}}`);
}

export async function postMissingRevs(context: Context, database: string): Promise<Answer> {
  const missing = await missingRevisions(context, database);
  const members = missing.map(({ id, revs }) => `${JSON.stringify(id)}:${JSON.stringify(revs)}`);
  return jsonAnswer(context, 200, `{"missing_revs":{${members.join(',')}}}`);
}

/** Only leaf revisions go; whatever is unknown is passed over. */
export async function postPurge(context: Context, database: string): Promise<Answer> {
  requireJsonType(context);
  const revisions = new Map<DocId, readonly RevId[]>();
  for (const { docId, revs } of await readRevisionLists(context)) if (docId !== undefined) revisions.set(docId, revs);
  const outcome = await context.services.registry.use(database, (open) => open.purge(revisions));
  const members = [...outcome.purged].map(([id, revs]) => `${JSON.stringify(id)}:${JSON.stringify(revs)}`);
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

async function missingRevisions(context: Context, database: string): Promise<MissingRevisions[]> {
  const lists = await readRevisionLists(context);
  const ids = lists.flatMap(({ docId }) => (docId === undefined ? [] : [docId]));
  const records = await withSnapshot(context, database, (snapshot) => snapshot.documents(ids));
  let next = 0;
  return lists.flatMap((list) => {
    const record = list.docId === undefined ? undefined : records[next++];
    const revs = list.revs.filter((rev) => findNode(record?.leaves ?? [], toRevision(rev)) === undefined);
    return revs.length === 0 ? [] : [{ ...list, revs, record }];
  });
}

/** Leaves below the highest missing generation: the missing revisions may descend from them. */
function possibleAncestors(record: DocumentRecord, missing: readonly RevId[]): RevId[] {
  let highest = 0;
  for (const rev of missing) highest = Math.max(highest, toRevision(rev).generation);
  return record.leaves.filter(({ generation }) => generation < highest).map(revOf);
}

/** The body `{id: [rev…]…}`. Fails with `bad_request`. */
async function readRevisionLists(context: Context): Promise<RevisionList[]> {
  return Object.entries(await readObject(context)).map(([id, revs]) => {
    if (!Array.isArray(revs)) {
      throw new DatabaseError('bad_request', `The revisions of "${id}" must be a JSON list of strings.`);
    }
    return { id, docId: toDocId(id), revs: revs.map(parseRevId) };
  });
}
