/** Answers selector queries, and requests for their indexes (docs/http/find.md); loaded together with what runs them. */

import { DatabaseError } from '../../../base/errors/database-error.ts';
import type { JsonObject } from '../../../base/json/objects.ts';
import { checkValueInSteps } from '../../../base/json/portable-values.ts';
import { joinInSteps, runCooperatively } from '../../../base/shared/turn.ts';
import type { FindAnswer, Finder, IndexWriter } from '../../../queries/find/contract.ts';
import { durabilityOf } from '../../documents/write-document.ts';
import { readObject, requireJsonType } from '../../request/bodies.ts';
import { QUERY } from '../../request/body-bounds.ts';
import type { Answer, Context } from '../../request/context.ts';
import type { HandlerPart, PartHandlers } from '../../request/handlers.ts';
import { commitRight } from '../../request/kept-rights.ts';
import { parseCount } from '../../request/parameter-values.ts';
import { MethodNotAllowed } from '../../response/error-table.ts';
import { jsonAnswer, okAnswer, textAnswer } from '../../response/responses.ts';
import { streamedBody } from '../../response/streams.ts';
import { answerLiveFind, liveFindOf } from './live-find.ts';
import type { SelectorFilters } from './selector-filter.ts';

/** Sends documents as they are found. */
async function postFind(finder: Finder, context: Context, database: string): Promise<Answer> {
  const body = await readQuery(context);
  const feed = liveFindOf(context);
  if (feed !== undefined) return answerLiveFind(finder, context, database, { feed, body });
  const lease = await context.services.registry.acquire(database);
  let answer: FindAnswer;
  try {
    answer = await finder.find(lease.database, body);
  } catch (error) {
    lease.release();
    throw error;
  }
  const release = () => {
    try {
      answer.release();
    } finally {
      lease.release();
    }
  };
  return textAnswer(context, 200, await streamedBody(context, answer.pieces, release));
}

/** Explains how a query would be run, and why. */
async function postExplain(finder: Finder, context: Context, database: string): Promise<Answer> {
  const body = await readQuery(context);
  const text = await context.useDatabase(database, (open) => finder.explain(open, body));
  return jsonAnswer(context, 200, text);
}

async function getIndexes(
  finder: Finder,
  context: Context,
  database: string,
  rest: readonly string[],
): Promise<Answer> {
  if (rest.length > 0) throw new MethodNotAllowed('DELETE');
  const indexes = await context.useDatabase(database, (open) => finder.indexes(open));
  const skip = parseCount(context.query.get('skip') ?? 0);
  const shown = indexes.slice(skip, skip + parseCount(context.query.get('limit') ?? indexes.length));
  const texts = await runCooperatively(joinInSteps(shown, (index) => JSON.stringify(index)));
  return jsonAnswer(context, 200, `{"total_rows":${indexes.length},"indexes":[${texts}]}`);
}

/** `POST _index` creates an index, `POST _index/_bulk_delete` removes design documents of indexes. */
async function postIndex(finder: Finder, context: Context, database: string, rest: readonly string[]): Promise<Answer> {
  const change = changeOf(rest);
  const body = await readQuery(context);
  // A stored design document has to be one that could be written as such.
  await runCooperatively(checkValueInSteps(body));
  const writer = writerOf(context);
  const text = await context.useDatabase(database, (open) => finder[change](open, body, writer));
  return jsonAnswer(context, 200, text);
}

/** `DELETE _index/{ddoc}/json/{name}`, with the design document's `_design/` or without. */
async function deleteIndex(
  finder: Finder,
  context: Context,
  database: string,
  rest: readonly string[],
): Promise<Answer> {
  const [design = '', type = '', name = '', ...more] = rest[0] === '_design' ? rest.slice(1) : rest;
  if (name === '' || more.length > 0) throw new DatabaseError('not_found', 'missing');
  const writer = writerOf(context);
  await context.useDatabase(database, (open) => finder.deleteIndex(open, { design, type, name }, writer));
  return okAnswer(context, 200);
}

export const findHandlers = {
  deleteIndex,
  getIndexes,
  postExplain,
  postFind,
  postIndex,
} satisfies PartHandlers<Finder>;

export type FindPart = HandlerPart<Finder, keyof typeof findHandlers> & SelectorFilters;

function changeOf(rest: readonly string[]): keyof Pick<Finder, 'createIndex' | 'deleteIndexes'> {
  if (rest.length === 0) return 'createIndex';
  if (rest.length === 1 && rest[0] === '_bulk_delete') return 'deleteIndexes';
  throw new MethodNotAllowed('DELETE');
}

async function readQuery(context: Context): Promise<JsonObject> {
  requireJsonType(context);
  return readObject(context, QUERY);
}

function writerOf(context: Context): IndexWriter {
  return { durability: durabilityOf(context), user: context.user, right: commitRight(context) };
}
