/** One query of a view: its parameters, the state of the index that it reads, and what its response depends on. */

import { isObject, type JsonObject, ownMember } from '../../../base/json/objects.ts';
import { eachInSteps, runCooperatively } from '../../../base/shared/turn.ts';
import { parseBody, toObject } from '../../request/bodies.ts';
import type { Context } from '../../request/context.ts';
import { readQueryValues } from '../../request/list-parameters.ts';
import type { ViewGroupLease } from './view-group-lease.ts';
import { parseViewParameters, type ViewParameters } from './view-parameters.ts';
import type { ViewSource } from './view-text.ts';

/** What a request asks of one view. */
export interface ViewQuery {
  readonly view: string;
  readonly parameters: ViewParameters;
  /** The request's own text of the parameters, which is part of the tag. */
  readonly asked: readonly string[];
}

type Entries = readonly (readonly [string, unknown])[];

/** `body` is the text of a POST, whose members are parameters as well, most importantly `keys`. */
export async function readViewQuery(
  context: Context,
  lease: ViewGroupLease,
  view: string,
  body?: string,
): Promise<ViewQuery> {
  const given = body === undefined ? [] : Object.entries(toObject(await parseBody(context, body)));
  const values = readQueryValues(context);
  const shared = values instanceof Promise ? await values : values;
  const parameters = parseViewParameters([...shared, ...given], lease.traitsOf(view));
  return { view, parameters, asked: body === undefined ? [context.search] : [context.search, body] };
}

/** Uses only the keys of a body that contains more than parameters. */
export async function readKeysOnly(
  context: Context,
  lease: ViewGroupLease,
  view: string,
  body: string,
): Promise<ViewParameters> {
  const keys = ownMember(toObject(await parseBody(context, body)), 'keys');
  const given: Entries = keys === undefined ? [] : [['keys', keys]];
  return parseViewParameters([...(await readQueryValues(context)), ...given], lease.traitsOf(view));
}

/** What a query needs of its source. */
type SourceOptions = Pick<ViewParameters, 'update' | 'includeDocs'>;

/** Several queries of one view. */
export interface ViewQueries {
  readonly queries: readonly JsonObject[];
  /** For all of them together. */
  readonly options: SourceOptions;
  /** Called just before a query runs: the parameters of all queries would take ten times the memory of the request. */
  parametersOf(query: JsonObject): ViewParameters;
}

/**
 * The parameters of the address are defaults for each of the queries. Returns undefined if there are no queries. Fails as `parseViewParameters`
 * does if one of them can't be answered.
 */
export async function readViewQueries(
  context: Context,
  lease: ViewGroupLease,
  view: string,
  body: string,
): Promise<ViewQueries | undefined> {
  const queries = ownMember(toObject(await parseBody(context, body)), 'queries');
  if (!Array.isArray(queries) || !queries.every(isObject)) return undefined;
  const shared = await readQueryValues(context);
  const traits = lease.traitsOf(view);
  const parametersOf = (query: JsonObject) => parseViewParameters([...shared, ...Object.entries(query)], traits);
  let options: SourceOptions = { update: 'never', includeDocs: false };
  const look = (query: JsonObject) => {
    options = bothOf(options, parametersOf(query));
  };
  await runCooperatively(eachInSteps(queries, look));
  return { queries, options, parametersOf };
}

function bothOf(one: SourceOptions, other: SourceOptions): SourceOptions {
  const updates = [one.update, other.update];
  const update = updates.includes('before') ? 'before' : updates.includes('after') ? 'after' : 'never';
  return { update, includeDocs: one.includeDocs || other.includeDocs };
}

/** Opens one state of the index, brought up to date if requested. */
export async function openSource(
  lease: ViewGroupLease,
  view: string,
  { update, includeDocs }: SourceOptions,
): Promise<ViewSource> {
  const reader = await lease.read(update);
  return { reader, view, snapshot: includeDocs ? lease.snapshot() : undefined };
}

/** They change when the view's own rows do, and with the database if documents are shown (docs/http/views.md#view-etags). */
export function tagInputs(
  { database, group }: ViewGroupLease,
  { reader, view, snapshot }: ViewSource,
  { parameters, asked }: ViewQuery,
): (string | number)[] {
  const lastChange = reader.lastChange(view);
  return [
    database.uuid,
    database.instanceStartTime,
    group.signature,
    view,
    lastChange.seq,
    lastChange.purgeSeq,
    parameters.updateSeq ? reader.updateSeq : -1,
    snapshot?.updateSeq ?? -1,
    ...asked,
  ];
}
