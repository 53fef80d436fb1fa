/** One query of a view: its parameters, the moment of the index that it reads, and what its answer depends on. */

import { isObject, type JsonObject, ownMember } from '../../json/objects.ts';
import { inTurns, mapInSteps } from '../../shared/turn.ts';
import { parseQueryValues } from '../lists/list-parameters.ts';
import { parseBody, toObject } from '../request/bodies.ts';
import type { Context } from '../request/context.ts';
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

/** Memory that is held for each query of several: its parameters. */
const QUERY_BYTES = 512;

type Entries = readonly (readonly [string, unknown])[];

/** `body` is the text of a POST, whose members are parameters as well, `keys` above all. */
export async function readViewQuery(
  context: Context,
  lease: ViewGroupLease,
  view: string,
  body?: string,
): Promise<ViewQuery> {
  const given = body === undefined ? [] : Object.entries(toObject(await parseBody(context, body)));
  const parameters = parseViewParameters([...queryValues(context), ...given], lease.traitsOf(view));
  return { view, parameters, asked: body === undefined ? [context.search] : [context.search, body] };
}

/** Of a body that says more than parameters only the keys count. */
export async function readKeysOnly(
  context: Context,
  lease: ViewGroupLease,
  view: string,
  body: string,
): Promise<ViewParameters> {
  const keys = ownMember(toObject(await parseBody(context, body)), 'keys');
  const given: Entries = keys === undefined ? [] : [['keys', keys]];
  return parseViewParameters([...queryValues(context), ...given], lease.traitsOf(view));
}

/** What the address says holds for each of the queries that does not say otherwise. Undefined where there are none. */
export async function readViewQueries(
  context: Context,
  lease: ViewGroupLease,
  view: string,
  body: string,
): Promise<readonly ViewParameters[] | undefined> {
  const queries = ownMember(toObject(await parseBody(context, body, undefined, { container: QUERY_BYTES })), 'queries');
  if (!Array.isArray(queries) || !queries.every(isObject)) return undefined;
  const shared = queryValues(context);
  const traits = lease.traitsOf(view);
  const parse = (query: JsonObject) => parseViewParameters([...shared, ...Object.entries(query)], traits);
  return inTurns(mapInSteps(queries, parse));
}

function queryValues(context: Context): Entries {
  return context.query.isEmpty ? [] : parseQueryValues(context.query.entries());
}

/** One moment for all of the queries, brought up to date where one of them wants that. */
export async function openSource(
  lease: ViewGroupLease,
  view: string,
  all: readonly ViewParameters[],
): Promise<ViewSource> {
  const modes = all.map(({ update }) => update);
  const mode = modes.includes('before') ? 'before' : modes.includes('after') ? 'after' : 'never';
  const reader = await lease.read(mode);
  return { reader, view, snapshot: all.some(({ includeDocs }) => includeDocs) ? lease.snapshot() : undefined };
}

/** They change when the view's own rows do, and with the database where documents are shown (docs/http.md#view-etags). */
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
