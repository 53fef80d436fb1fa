/**
 * What the service writes into a document of `_replicator` about the replication that it asks for (docs/http/replication.md#states-of-replication-documents). All
 * other members stay as they were written, including the digits of their numbers.
 */

import { JsonCursor } from '../../base/json/json-cursor.ts';
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';
import { parseInTurns } from '../../base/json/parse-in-steps.ts';
import { withoutDeepMembers } from '../../database/documents/deep-members.ts';
import type { RefusedDocument } from '../contract.ts';
import type { Refusals } from '../jobs/refused-documents.ts';

/** `triggered`: it began, and reached both databases. `error`: the last attempt failed; most attempts are retried. */
export type DocumentState = 'triggered' | 'completed' | 'error';

/** The members that the service writes. Undefined members are omitted. */
export interface StateMembers {
  readonly _replication_state?: DocumentState | undefined;
  /** RFC 3339. */
  readonly _replication_state_time?: string | undefined;
  readonly _replication_state_reason?: string | undefined;
  readonly _replication_id?: string | undefined;
  readonly _replication_stats?: JsonObject | undefined;
}

const NAMES: ReadonlySet<string> = new Set<keyof StateMembers>([
  '_replication_state',
  '_replication_state_time',
  '_replication_state_reason',
  '_replication_id',
  '_replication_stats',
]);

/** Parses a body's members. Values nested too deeply for any program to read, which former releases accepted, become null. */
export async function parseBody(body: string): Promise<JsonObject> {
  const value = await parseInTurns(withoutDeepMembers(body));
  return isObject(value) ? value : {};
}

/** Returns the body with these replication members, and no others. */
export function withState(body: string, state: StateMembers): string {
  return withMembers(body, NAMES, Object.entries(state));
}

/** Returns the body without the members of those names, and with others after its own; undefined members are omitted. */
export function withMembers(
  body: string,
  without: ReadonlySet<string>,
  added: readonly (readonly [name: string, value: unknown])[],
): string {
  const cursor = new JsonCursor(body);
  const members: string[] = [];
  cursor.enter();
  while (cursor.nextMember()) {
    if (!without.has(cursor.name)) members.push(`${body.slice(cursor.keyStart, cursor.keyEnd)}:${cursor.valueText}`);
  }
  for (const [name, value] of added) {
    if (value !== undefined) members.push(`${JSON.stringify(name)}:${JSON.stringify(value)}`);
  }
  return `{${members.join(',')}}`;
}

/** Returns what a document reports of its replication, as far as the service could have written it. */
export function stateOf(document: JsonObject): StateMembers {
  const state = ownMember(document, '_replication_state');
  const stats = ownMember(document, '_replication_stats');
  return {
    _replication_state: state === 'triggered' || state === 'completed' || state === 'error' ? state : undefined,
    _replication_state_time: textOf(document, '_replication_state_time'),
    _replication_state_reason: textOf(document, '_replication_state_reason'),
    _replication_id: textOf(document, '_replication_id'),
    _replication_stats: isObject(stats) ? stats : undefined,
  };
}

function textOf(document: JsonObject, name: string): string | undefined {
  const value = ownMember(document, name);
  return typeof value === 'string' ? value : undefined;
}

/** Returns the refused documents that the document names, and how many it counts. */
export function refusedIn({ _replication_stats: stats = {} }: StateMembers): Refusals {
  const list = ownMember(stats, 'refused');
  const count = ownMember(stats, 'refused_count');
  const documents = Array.isArray(list) ? list.filter(isRefused) : [];
  return { documents, count: Math.max(documents.length, isCount(count) ? count : 0) };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value);
}

function isRefused(value: unknown): value is RefusedDocument {
  return (
    isObject(value) && ['id', 'rev', 'error', 'reason'].every((name) => typeof ownMember(value, name) === 'string')
  );
}
