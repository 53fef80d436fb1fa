/** How lists of documents are answered by GET, and by POST with keys (completion 8, 9, 24). */
import type { Database, Snapshot } from '../../database/contract.ts';
import { readObject } from '../request/bodies.ts';
import type { Answer, Context } from '../request/context.ts';
import { type SnapshotLease, withSnapshotLease } from '../request/snapshot-lease.ts';
import { matchesTag, tagOf } from '../response/etags.ts';
import { notModified, textAnswer, withHeader } from '../response/responses.ts';
import { streamedBody } from '../response/streams.ts';
import { useLent } from '../routing/resources.ts';
import { listingText } from './listing-text.ts';
import type { Listing, RowOptions } from './listings.ts';
import { type ListParameters, parseListParameters, parseListQuery, parseQueryValues } from './parameters.ts';

/** One kind of list. */
export interface ListKind {
  open(lease: SnapshotLease, options: RowOptions): Listing;
  /** Whether each change of the list raises the update sequence, so that this can stand for it in a tag. */
  readonly follows: boolean;
}

export function getList(context: Context, database: string, kind: ListKind): Promise<Answer> {
  return answerList(context, database, kind, parseListQuery(context.query.entries()));
}

/** The body's members are parameters as well, `keys` above all. */
export async function postList(context: Context, database: string, kind: ListKind): Promise<Answer> {
  const given = Object.entries(await readObject(context));
  const parameters = parseListParameters([...parseQueryValues(context.query.entries()), ...given]);
  return answerList(context, database, kind, parameters);
}

async function answerList(context: Context, name: string, kind: ListKind, parameters: ListParameters): Promise<Answer> {
  return withSnapshotLease(context, name, async (lease) => {
    // A body is no part of the address that a tag belongs to.
    const tagged = kind.follows && context.method === 'GET';
    const tag = tagged ? await snapshotTag(lease.database, lease.snapshot) : undefined;
    if (tag !== undefined && matchesTag(context.header('if-none-match'), tag)) {
      lease.release();
      return notModified(tag);
    }
    const { includeDocs, conflicts } = parameters;
    const conflictsOf = includeDocs && conflicts ? await useLent(context, (lent) => lent.conflictsOf) : undefined;
    const listing = kind.open(lease, { includeDocs, conflictsOf });
    const pieces = singleText(listingText(listing, parameters, lease.snapshot.updateSeq));
    const answer = textAnswer(context, 200, await streamedBody(context, pieces, lease.release));
    return tag === undefined ? answer : withHeader(answer, 'etag', tag);
  });
}

/** Any change of the database changes it. */
function snapshotTag(database: Database, snapshot: Snapshot): Promise<string> {
  const { uuid, instanceStartTime } = database;
  return tagOf([uuid, instanceStartTime, snapshot.updateSeq, snapshot.purgeSeq]);
}

async function* singleText(list: AsyncGenerator<string, void, void>): AsyncGenerator<string, void, void> {
  yield* list;
  yield '\n';
}
