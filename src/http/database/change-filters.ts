/** Which changes a feed is to list (docs/http/changes.md#filters-of-changes). */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import { eachInSteps, runCooperatively } from '../../base/shared/turn.ts';
import type { ChangeFilter, SelectedChange } from '../../database/changes/contract.ts';
import type { DocId } from '../../database/documents/contract.ts';
import { toDocId } from '../../database/documents/identifiers.ts';
import type { ChangeRow, Database, Snapshot } from '../../database/store/contract.ts';
import { parseBody, parseJson, toObject } from '../request/bodies.ts';
import { type BodyBound, QUERY } from '../request/body-bounds.ts';
import type { Context } from '../request/context.ts';
import type { ChangeParameters } from './change-parameters.ts';

/** Makes the filters whose code is loaded on first use. */
export interface DeferredFilters {
  /** The function `name` of the design document's `filters`. Fails with `not_found` if there is none. */
  byFunction(request: FilterRequest, design: string, name: string): MaybePromise<ChangeFilter>;
  /** Passes changes for which that view's map function emits. */
  byView(request: FilterRequest, design: string, view: string): MaybePromise<ChangeFilter>;
  /** Fails with `bad_request` if the object is not a selector. */
  bySelector(selector: JsonObject, allLeaves: boolean): MaybePromise<ChangeFilter>;
}

/** A request for changes, as functions of documents see it. */
export interface FilterRequest {
  readonly context: Context;
  readonly database: Database;
  /** As of the moment at which the feed begins. */
  readonly snapshot: Snapshot;
  /** The request body, as text. */
  readonly body: string;
  readonly allLeaves: boolean;
}

const UNKNOWN = 'unknown builtin filter name';

/** `body` is the request body, empty if there is none. */
export function openChangeFilter(
  request: FilterRequest,
  { filter, view, docIds }: ChangeParameters,
  deferred: DeferredFilters,
): MaybePromise<ChangeFilter> {
  const { allLeaves } = request;
  switch (filter) {
    case undefined:
    case '':
      return everyChange(allLeaves);
    case '_design':
      return matching(allLeaves, ({ id }) => id.startsWith('_design/'));
    case '_doc_ids':
      return openIdFilter(request, docIds);
    case '_selector':
      return openSelectorFilter(request, deferred);
    case '_view': {
      if (view === undefined) throw new DatabaseError('bad_request', '`view` filter parameter is not provided.');
      return deferred.byView(request, ...splitName(view, 'Invalid `view` parameter.'));
    }
    default: {
      if (filter.startsWith('_')) throw new DatabaseError('bad_request', UNKNOWN);
      const form = 'filter parameter must be of the form `designname/filtername`';
      return deferred.byFunction(request, ...splitName(filter, form));
    }
  }
}

/** A change with the revisions that are listed if all of them pass. */
function selectAll(row: ChangeRow, allLeaves: boolean): SelectedChange {
  return { row, revs: allLeaves ? row.revs : row.revs.slice(0, 1) };
}

function everyChange(allLeaves: boolean): ChangeFilter {
  return { select: (rows) => rows.map((row) => selectAll(row, allLeaves)) };
}

function matching(allLeaves: boolean, matches: (row: ChangeRow) => boolean): ChangeFilter {
  return { select: (rows) => rows.filter(matches).map((row) => selectAll(row, allLeaves)) };
}

async function openIdFilter(request: FilterRequest, given: string | undefined): Promise<ChangeFilter> {
  // The list in the body of a POST takes precedence over that of the address.
  const inBody = ownMember(toObject(await bodyValue(request)), 'doc_ids');
  const listed = inBody === undefined && given !== undefined ? parseJson(given) : inBody;
  if (!Array.isArray(listed)) throw new DatabaseError('bad_request', '`doc_ids` filter parameter is not a list.');
  const ids = new Set<DocId>();
  const add = (one: unknown) => {
    const id = toDocId(one);
    if (id !== undefined) ids.add(id);
  };
  await runCooperatively(eachInSteps(listed, add));
  return { ids: [...ids], ...matching(request.allLeaves, ({ id }) => ids.has(id)) };
}

async function openSelectorFilter(request: FilterRequest, deferred: DeferredFilters): Promise<ChangeFilter> {
  const payload = await bodyValue(request, QUERY);
  const selector = isObject(payload) ? ownMember(payload, 'selector') : payload;
  if (selector === undefined) throw new DatabaseError('bad_request', 'Selector must be specified in POST payload');
  if (!isObject(payload) || !isObject(selector)) {
    throw new DatabaseError('bad_request', 'Selector error: expected a JSON object');
  }
  return deferred.bySelector(selector, request.allLeaves);
}

/** A missing body counts as an empty object. */
function bodyValue({ context, body }: FilterRequest, fitting?: BodyBound): MaybePromise<unknown> {
  return body.trim() === '' ? {} : parseBody(context, body, fitting);
}

/** `design/name`. */
function splitName(text: string, reason: string): [design: string, name: string] {
  const [design, name, ...more] = text.replace(/^_design\//, '').split('/');
  if (design !== undefined && design !== '' && name !== undefined && name !== '' && more.length === 0) {
    return [design, name];
  }
  throw new DatabaseError('bad_request', reason);
}
