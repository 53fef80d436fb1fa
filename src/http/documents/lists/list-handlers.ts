/** `_all_docs`, `_design_docs` and `_local_docs`: by GET, by POST with keys, and several at once (docs/http/bulk.md#list-of-all-documents). */

import { DatabaseError } from '../../../base/errors/database-error.ts';
import { isObject, type JsonObject, ownMember } from '../../../base/json/objects.ts';
import { eachInSteps, runCooperatively } from '../../../base/shared/turn.ts';
import { parseBody, readObject, readText, toObject } from '../../request/bodies.ts';
import type { Answer, Context } from '../../request/context.ts';
import {
  type ListParameters,
  parseListParameters,
  readListQuery,
  readQueryValues,
} from '../../request/list-parameters.ts';
import { type SnapshotLease, withSnapshotLease } from '../../request/snapshot-lease.ts';
import { matchesTag, momentTag, notModified, readerTag, textAnswer, withHeader } from '../../response/responses.ts';
import { streamedBody } from '../../response/streams.ts';
import { AllDocuments, DesignDocuments } from './all-documents.ts';
import type { DocumentList, RowOptions } from './document-list.ts';
import { listText } from './list-text.ts';
import { LocalDocuments } from './local-documents.ts';

interface ListKind {
  open(lease: SnapshotLease, options: RowOptions, context: Context): DocumentList;
  /** Whether each change of the list raises the update sequence, so that the sequence can represent it in a tag. */
  readonly raisesSequence: boolean;
}

type ListHandler = (context: Context, database: string) => Promise<Answer>;

interface ListHandlers {
  readonly get: ListHandler;
  /** The members of the request body are parameters as well, most importantly `keys`. */
  readonly post: ListHandler;
  /** `…/queries`: returns a list for each of the body's `queries`. */
  readonly postQueries: ListHandler;
}

export const allDocs = handlersFor({
  open: ({ snapshot }, options, { restriction }) => new AllDocuments(snapshot, options, restriction),
  raisesSequence: true,
});

export const designDocs = handlersFor({
  open: ({ snapshot }, options) => new DesignDocuments(snapshot, options),
  raisesSequence: true,
});

export const localDocs = handlersFor({
  open: (lease, options, context) => new LocalDocuments(lease, options, context),
  raisesSequence: false,
});

function handlersFor(kind: ListKind): ListHandlers {
  return {
    get: async (context, database) => answerList(context, database, kind, await readListQuery(context)),
    post: async (context, database) => {
      const body = await readText(context);
      const given = Object.entries(toObject(await parseBody(context, body)));
      const parameters = parseListParameters([...(await readQueryValues(context)), ...given]);
      return answerList(context, database, kind, parameters, body);
    },
    postQueries: async (context, database) => answerQueries(context, database, kind, await readQueries(context)),
  };
}

/** `body`: the text of the request's, if it has one. */
async function answerList(
  context: Context,
  name: string,
  kind: ListKind,
  parameters: ListParameters,
  body?: string,
): Promise<Answer> {
  return withSnapshotLease(context, name, async (lease) => {
    // A tag belongs to an address, which says nothing of the body: a POST has none, and that of a QUERY depends on its body.
    const isTagged = kind.raisesSequence && context.method !== 'POST';
    const asked = body === undefined ? [] : [body];
    const tag = isTagged
      ? await momentTag(lease.database, lease.snapshot, [...readerTag(context, lease.database), ...asked])
      : undefined;
    if (tag !== undefined && matchesTag(context.header('if-none-match'), tag)) {
      lease.release();
      return notModified(tag);
    }
    const text = listText(kind.open(lease, parameters, context), parameters, lease.snapshot.updateSeq);
    const answer = textAnswer(context, 200, await streamedBody(context, withNewline(text), lease.release));
    return tag === undefined ? answer : withHeader(answer, 'etag', tag);
  });
}

async function* withNewline(text: AsyncGenerator<string, void, void>): AsyncGenerator<string, void, void> {
  yield* text;
  yield '\n';
}

async function readQueries(context: Context): Promise<readonly JsonObject[]> {
  const queries = ownMember(await readObject(context), 'queries');
  if (!Array.isArray(queries) || !queries.every(isObject)) {
    throw new DatabaseError('bad_request', '`queries` must be a JSON list of objects.');
  }
  await runCooperatively(eachInSteps(queries, parametersOf));
  return queries;
}

/** Builds the parameters of one list just before it is sent: those of all would take ten times the memory of the request. */
function parametersOf(query: JsonObject): ListParameters {
  return parseListParameters(Object.entries(query));
}

async function answerQueries(
  context: Context,
  name: string,
  kind: ListKind,
  queries: readonly JsonObject[],
): Promise<Answer> {
  return withSnapshotLease(context, name, async (lease) => {
    const pieces = queriesText(context, lease, kind, queries);
    return textAnswer(context, 200, await streamedBody(context, pieces, lease.release));
  });
}

async function* queriesText(
  context: Context,
  lease: SnapshotLease,
  kind: ListKind,
  queries: readonly JsonObject[],
): AsyncGenerator<string, void, void> {
  yield '{"results":[';
  for (const [index, query] of queries.entries()) {
    const parameters = parametersOf(query);
    yield index === 0 ? '\r\n' : ',\r\n';
    yield* listText(kind.open(lease, parameters, context), parameters, lease.snapshot.updateSeq);
  }
  yield '\r\n]}\n';
}
