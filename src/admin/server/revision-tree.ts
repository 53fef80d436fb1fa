/** The tree of a document's revisions, as far as the server remembers it. */
import { ask, type JsonObject, pathOf } from './client.ts';

/** `missing`: its body is gone, or was never there. `unknown`: the server didn't say. */
export type RevisionStatus = 'available' | 'missing' | 'deleted' | 'unknown';

/** A revision that nothing has replaced, and what it came from. */
export interface Branch {
  /** The leaf first, then what it replaced, and so on. */
  readonly revs: readonly string[];
  readonly isDeleted: boolean;
}

export interface RevisionTree {
  /** The winner's first. Empty: there is no such document. */
  readonly branches: readonly Branch[];
  readonly statuses: ReadonlyMap<string, RevisionStatus>;
}

/** Reads every branch. Servers that say nothing of bodies in such a response are asked for the winner's branch. */
export async function readRevisionTree(database: string, id: string, signal?: AbortSignal): Promise<RevisionTree> {
  type Row = { readonly ok?: JsonObject };
  const path = pathOf(database, id);
  const rows = await ask<readonly Row[]>('GET', `${path}?open_revs=all&revs=true&revs_info=true`, { signal });
  const leaves = rows.flatMap(({ ok }) => (ok === undefined ? [] : [ok]));
  const statuses = new Map<string, RevisionStatus>(leaves.flatMap(statusesOf));
  for (const leaf of leaves) statuses.set(`${leaf._rev}`, leaf._deleted === true ? 'deleted' : 'available');
  if (leaves.length > 0 && !leaves.some(({ _revs_info }) => Array.isArray(_revs_info))) {
    const winner = await ask('GET', `${path}?revs_info=true`, { signal }).catch(() => ({}));
    for (const [rev, status] of statusesOf(winner)) statuses.set(rev, status);
  }
  return { branches: leaves.map(branchOf).sort(byWinning), statuses };
}

function branchOf(leaf: JsonObject): Branch {
  const isDeleted = leaf._deleted === true;
  const revisions = leaf._revisions;
  if (!isObject(revisions) || !Array.isArray(revisions.ids)) return { revs: [`${leaf._rev}`], isDeleted };
  const start = Number(revisions.start);
  return { revs: revisions.ids.map((hash, age) => `${start - age}-${hash}`), isDeleted };
}

function statusesOf({ _revs_info }: JsonObject): readonly (readonly [string, RevisionStatus])[] {
  if (!Array.isArray(_revs_info)) return [];
  return _revs_info.map((one) => [isObject(one) ? `${one.rev}` : '', isObject(one) ? toStatus(one.status) : 'unknown']);
}

function toStatus(text: unknown): RevisionStatus {
  return text === 'available' || text === 'missing' || text === 'deleted' ? text : 'unknown';
}

/** Live leaves before tombstones, then the higher generation, then the greater hash. */
function byWinning(one: Branch, other: Branch): number {
  if (one.isDeleted !== other.isDeleted) return one.isDeleted ? 1 : -1;
  const [oneRev = '', otherRev = ''] = [one.revs[0], other.revs[0]];
  const generations = generationOf(otherRev) - generationOf(oneRev);
  return generations !== 0 ? generations : oneRev < otherRev ? 1 : -1;
}

export function generationOf(rev: string): number {
  return Number.parseInt(rev, 10);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
