/** The revisions of a document that nothing has replaced: its winner and its conflicts. */
import { ask, type JsonObject, pathOf } from './client.ts';

export interface Leaf {
  readonly rev: string;
  /** The members except `_id`, `_rev` and `_attachments`. */
  readonly members: JsonObject;
  readonly attachments: readonly string[];
}

/** Returns the leaves that are not deleted, the winner first. `winner`: its revision. */
export async function readLeaves(
  database: string,
  id: string,
  winner: string,
  signal?: AbortSignal,
): Promise<readonly Leaf[]> {
  type Row = { readonly ok?: JsonObject };
  const rows = await ask<readonly Row[]>('GET', `${pathOf(database, id)}?open_revs=all`, { signal });
  const leaves = rows.flatMap(({ ok }) => (ok === undefined || ok['_deleted'] === true ? [] : [toLeaf(ok)]));
  return leaves.sort((one, other) => Number(other.rev === winner) - Number(one.rev === winner));
}

function toLeaf({ _id, _rev, _attachments, ...members }: JsonObject): Leaf {
  const attachments = typeof _attachments === 'object' && _attachments !== null ? Object.keys(_attachments) : [];
  return { rev: `${_rev}`, members, attachments };
}

/** Where the leaves differ, and where they are the same. */
export function comparedFields(leaves: readonly Leaf[]): {
  readonly different: readonly string[];
  readonly same: readonly string[];
} {
  const names = [...new Set(leaves.flatMap(({ members }) => Object.keys(members)))];
  const isSame = (name: string) => new Set(leaves.map(({ members }) => JSON.stringify(members[name]))).size === 1;
  return { different: names.filter((name) => !isSame(name)), same: names.filter(isSame) };
}

/** Returns the members of the first leaf, with those of `choices` (by name, the number of a leaf) instead. */
export function mergedMembers(leaves: readonly Leaf[], choices: ReadonlyMap<string, number>): JsonObject {
  const merged: Record<string, JsonObject[string]> = { ...leaves[0]?.members };
  for (const [name, number] of choices) {
    const value = leaves[number]?.members[name];
    if (value === undefined) delete merged[name];
    else merged[name] = value;
  }
  return merged;
}
