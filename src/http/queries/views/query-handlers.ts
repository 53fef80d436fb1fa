/** Queries of views, several at once, and temporary ones (docs/http/views.md). */

import { DatabaseError, isDatabaseError } from '../../../base/errors/database-error.ts';
import { ownMember } from '../../../base/json/objects.ts';
import type { Database } from '../../../database/store/contract.ts';
import type { ViewIndexes } from '../../../queries/views/contract.ts';
import { parseBody, readText, requireJsonType, toObject } from '../../request/bodies.ts';
import type { Answer, Context } from '../../request/context.ts';
import { matchesTag, notModified, tagOf, textAnswer, withHeader } from '../../response/responses.ts';
import { streamedBody } from '../../response/streams.ts';
import { answerLive, liveFeedOf } from './live-view.ts';
import { type ViewGroupLease, withDesignGroup, withGroup } from './view-group-lease.ts';
import type { ViewParameters } from './view-parameters.ts';
import {
  openSource,
  readKeysOnly,
  readViewQueries,
  readViewQuery,
  tagInputs,
  type ViewQueries,
  type ViewQuery,
} from './view-query.ts';
import { type ViewSource, viewText } from './view-text.ts';

interface ViewPath {
  readonly design: string;
  readonly view: string;
}

const TEMPORARY = 'temporary';
const QUERIES = 'queries';

export function getView(
  views: ViewIndexes,
  context: Context,
  database: string,
  rest: readonly string[],
): Promise<Answer> {
  const { design, view } = viewPath(rest);
  return countedRead(context, () =>
    withDesignGroup(views, context, database, design, async (lease) => {
      return answerQuery(views, context, lease, { design, query: await readViewQuery(context, lease, view) });
    }),
  );
}

/** The members of the request body are parameters as well, most importantly `keys`. `…/queries` asks several at once. */
export async function postView(
  views: ViewIndexes,
  context: Context,
  database: string,
  rest: readonly string[],
): Promise<Answer> {
  if (rest.length === 3 && rest[2] === QUERIES)
    return postQueries(views, context, database, viewPath(rest.slice(0, 2)));
  const { design, view } = viewPath(rest);
  const body = await readText(context);
  return countedRead(context, () =>
    withDesignGroup(views, context, database, design, async (lease) => {
      return answerQuery(views, context, lease, { design, query: await readViewQuery(context, lease, view, body) });
    }),
  );
}

async function postQueries(
  views: ViewIndexes,
  context: Context,
  database: string,
  { design, view }: ViewPath,
): Promise<Answer> {
  const body = await readText(context);
  return countedRead(context, () =>
    withDesignGroup(views, context, database, design, async (lease) => {
      const asked = await readViewQueries(context, lease, view, body);
      if (asked === undefined) throw new DatabaseError('bad_request', '`queries` must be a JSON list of objects.');
      const source = await openSource(lease, view, asked.options);
      return textAnswer(context, 200, await streamedBody(context, queriesText(source, asked), lease.release));
    }),
  );
}

/** Counts a read of a view, unless another process does it. */
async function countedRead(context: Context, answer: () => Promise<Answer>): Promise<Answer> {
  const { viewReads } = context.services.statistics.counters;
  try {
    const made = await answer();
    viewReads.value += 1;
    return made;
  } catch (error) {
    if (!isDatabaseError(error, 'not_owner')) viewReads.value += 1;
    throw error;
  }
}

/** Answers as a stored view does (docs/http/views.md#temporary-views). */
export async function postTemporaryView(views: ViewIndexes, context: Context, database: string): Promise<Answer> {
  requireJsonType(context);
  context.services.statistics.counters.temporaryViewReads.value += 1;
  const definition = await readText(context);
  await checkDefinition(context, definition);
  const open = (opened: Database) => views.temporary(opened, definition);
  return withGroup(context, database, open, async (lease) => {
    const parameters = await readKeysOnly(context, lease, TEMPORARY, definition);
    const source = await openSource(lease, TEMPORARY, parameters);
    return textAnswer(context, 200, await streamedBody(context, single(source, parameters), lease.release));
  });
}

/** Answers once, or with a feed. */
async function answerQuery(
  views: ViewIndexes,
  context: Context,
  lease: ViewGroupLease,
  asked: { readonly design: string; readonly query: ViewQuery },
): Promise<Answer> {
  if (liveFeedOf(context) === undefined) return answerRows(context, lease, asked.query);
  return answerLive(views, context, lease, asked);
}

async function answerRows(context: Context, lease: ViewGroupLease, query: ViewQuery): Promise<Answer> {
  const { view, parameters } = query;
  const source = await openSource(lease, view, parameters);
  const tag = await tagOf(tagInputs(lease, source, query));
  if (matchesTag(context.header('if-none-match'), tag)) {
    lease.release();
    return notModified(tag);
  }
  const answer = textAnswer(context, 200, await streamedBody(context, single(source, parameters), lease.release));
  return withHeader(answer, 'etag', tag);
}

async function* single(source: ViewSource, parameters: ViewParameters): AsyncGenerator<string, void, void> {
  yield* viewText(source, parameters);
  yield '\n';
}

async function* queriesText(
  source: ViewSource,
  { queries, parametersOf }: ViewQueries,
): AsyncGenerator<string, void, void> {
  yield '{"results":[';
  for (const [index, query] of queries.entries()) {
    yield index === 0 ? '\r\n' : ',\r\n';
    yield* viewText(source, parametersOf(query));
  }
  yield '\r\n]}\n';
}

async function checkDefinition(context: Context, body: string): Promise<void> {
  if (typeof ownMember(toObject(await parseBody(context, body)), 'map') === 'string') return;
  throw new DatabaseError('bad_request', 'A temporary view needs a member "map" with the source of a function.');
}

/** `rest` is the design document's name and what follows `_view`. */
function viewPath(rest: readonly string[]): ViewPath {
  const [design = '', view, ...others] = rest;
  if (view === undefined || others.length > 0) throw new DatabaseError('not_found', 'missing_named_view');
  return { design, view };
}
