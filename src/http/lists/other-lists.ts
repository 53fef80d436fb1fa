/** `_design_docs` and `_local_docs`, and several lists at once of each kind (completion 8, 9, 24). */
import { DatabaseError } from '../../errors/database-error.ts';
import { rowOptions } from '../documents/document-meta.ts';
import { isObject, readObject, toObject } from '../request/bodies.ts';
import type { Answer, Context } from '../request/context.ts';
import { ownMember } from '../request/own-member.ts';
import { type SnapshotLease, withSnapshotLease } from '../request/snapshot-lease.ts';
import { textAnswer } from '../response/responses.ts';
import { streamedBody } from '../response/streams.ts';
import { allDocs } from './all-docs.ts';
import { DesignListing } from './design-listing.ts';
import { getList, type ListKind, postList } from './document-lists.ts';
import { listingText } from './listing-text.ts';
import { LocalListing } from './local-listing.ts';
import { type ListParameters, parseListParameters } from './parameters.ts';

type ListHandler = (context: Context, database: string) => Promise<Answer>;

interface ListHandlers {
  readonly get: ListHandler;
  readonly post: ListHandler;
  readonly postQueries: ListHandler;
}

export const allDocsQueries = queriesOf(allDocs);

export const designDocs = handlersFor({
  open: ({ snapshot }, options) => new DesignListing(snapshot, options),
  follows: true,
});

export const localDocs = handlersFor({
  open: ({ snapshot, database }, options) => new LocalListing(snapshot, database, options),
  follows: false,
});

function handlersFor(kind: ListKind): ListHandlers {
  return {
    get: (context, database) => getList(context, database, kind),
    post: (context, database) => postList(context, database, kind),
    postQueries: queriesOf(kind),
  };
}

function queriesOf(kind: ListKind): ListHandler {
  return async (context, database) => answerQueries(context, database, kind, await readQueries(context));
}

async function answerQueries(
  context: Context,
  name: string,
  kind: ListKind,
  queries: readonly ListParameters[],
): Promise<Answer> {
  return withSnapshotLease(context, name, async (lease) => {
    const pieces = queriesText(lease, kind, queries);
    return textAnswer(context, 200, await streamedBody(context, pieces, lease.release));
  });
}

async function* queriesText(
  lease: SnapshotLease,
  kind: ListKind,
  queries: readonly ListParameters[],
): AsyncGenerator<string, void, void> {
  yield '{"results":[';
  for (const [index, parameters] of queries.entries()) {
    yield index === 0 ? '\r\n' : ',\r\n';
    yield* listingText(kind.open(lease, rowOptions(parameters)), parameters, lease.snapshot.updateSeq);
  }
  yield '\r\n]}\n';
}

async function readQueries(context: Context): Promise<ListParameters[]> {
  const queries = ownMember(await readObject(context), 'queries');
  if (!Array.isArray(queries) || !queries.every(isObject)) {
    throw new DatabaseError('bad_request', '`queries` must be a JSON list of objects.');
  }
  return queries.map((query) => parseListParameters(Object.entries(toObject(query))));
}
