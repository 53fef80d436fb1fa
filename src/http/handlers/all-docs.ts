/** `_all_docs`, `_design_docs`, `_local_docs`, each by GET, by POST with keys, and several at once (completion 8, 9, 24). */
import type { Database, Snapshot } from '../../database/contract.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import { isObject, ownMember, readObject, toObject } from '../bodies.ts';
import type { Answer, Context } from '../context.ts';
import { DesignListing, DocumentListing } from '../document-listing.ts';
import { matchesTag, tagOf } from '../etags.ts';
import { listingText } from '../listing-text.ts';
import type { Listing, RowOptions } from '../listings.ts';
import { LocalListing } from '../local-listing.ts';
import { type ListParameters, parseListParameters, parseListQuery } from '../parameters.ts';
import { type Reader, withReader } from '../reader.ts';
import { notModified, textAnswer, withHeader } from '../responses.ts';
import { streamedBody } from '../streams.ts';

/** One kind of list. */
interface Kind {
  open(reader: Reader, options: RowOptions): Listing;
  /** Whether each change of the list raises the update sequence, so that this can stand for it in a tag. */
  readonly follows: boolean;
}

interface ListHandlers {
  readonly get: (context: Context, database: string) => Promise<Answer>;
  readonly post: (context: Context, database: string) => Promise<Answer>;
  readonly postQueries: (context: Context, database: string) => Promise<Answer>;
}

export const allDocs = handlersFor({
  open: ({ snapshot }, options) => new DocumentListing(snapshot, options),
  follows: true,
});

export const designDocs = handlersFor({
  open: ({ snapshot }, options) => new DesignListing(snapshot, options),
  follows: true,
});

export const localDocs = handlersFor({
  open: ({ snapshot, database }, options) => new LocalListing(snapshot, database, options),
  follows: false,
});

function handlersFor(kind: Kind): ListHandlers {
  return {
    get: (context, database) => answerList(context, database, kind, parseListQuery(context.query.entries())),
    post: async (context, database) => answerList(context, database, kind, await readKeys(context)),
    postQueries: async (context, database) => answerQueries(context, database, kind, await readQueries(context)),
  };
}

async function answerList(context: Context, name: string, kind: Kind, parameters: ListParameters): Promise<Answer> {
  return withReader(context, name, async (reader) => {
    // A body is no part of the address that a tag belongs to.
    const tagged = kind.follows && context.method === 'GET';
    const tag = tagged ? await snapshotTag(reader.database, reader.snapshot) : undefined;
    if (tag !== undefined && matchesTag(context.header('if-none-match'), tag)) {
      reader.release();
      return notModified(tag);
    }
    const pieces = singleText(listingText(kind.open(reader, parameters), parameters, reader.snapshot.updateSeq));
    const answer = textAnswer(context, 200, await streamedBody(context, pieces, reader.release));
    return tag === undefined ? answer : withHeader(answer, 'etag', tag);
  });
}

async function answerQueries(
  context: Context,
  name: string,
  kind: Kind,
  queries: readonly ListParameters[],
): Promise<Answer> {
  return withReader(context, name, async (reader) => {
    const pieces = queriesText(reader, kind, queries);
    return textAnswer(context, 200, await streamedBody(context, pieces, reader.release));
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

async function* queriesText(
  reader: Reader,
  kind: Kind,
  queries: readonly ListParameters[],
): AsyncGenerator<string, void, void> {
  yield '{"results":[';
  for (const [index, parameters] of queries.entries()) {
    yield index === 0 ? '\r\n' : ',\r\n';
    yield* listingText(kind.open(reader, parameters), parameters, reader.snapshot.updateSeq);
  }
  yield '\r\n]}\n';
}

/** POST is GET with the keys in the body. */
async function readKeys(context: Context): Promise<ListParameters> {
  return parseListQuery(context.query.entries(), ownMember(await readObject(context), 'keys'));
}

async function readQueries(context: Context): Promise<ListParameters[]> {
  const queries = ownMember(await readObject(context), 'queries');
  if (!Array.isArray(queries) || !queries.every(isObject)) {
    throw new DatabaseError('bad_request', '`queries` must be a JSON list of objects.');
  }
  return queries.map((query) => parseListParameters(Object.entries(toObject(query))));
}
