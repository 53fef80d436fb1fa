/** What happens to a conflict by default. */
import type { Draft } from '../../interface/documents.ts';
import type { ConflictingChange, Resolution } from './contract.ts';

/** What TanStack DB adds to rows, and the database to documents that are read. */
const ADDED =
  /^(\$(synced|origin|key|collectionId|hasPendingWrites)|_(conflicts|deleted_conflicts|revs_info|local_seq|revisions))$/;

/** A row as it is written. */
export function toDraft<T extends object>(row: object): Draft<T> {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !ADDED.test(name))) as Draft<T>;
}

/**
 * The stored document with the members that the change has changed. Undefined if one of these was changed otherwise in the database since, or if one side
 * has deleted the document and the other one has changed it.
 */
export function mergeChange<T extends object>(change: ConflictingChange<T>): Resolution<T> {
  const { type, stored } = change;
  if (stored === undefined) return type === 'delete' ? { _deleted: true } : undefined;
  const original = contentOf(change.original ?? {});
  const current = contentOf(stored);
  if (type === 'delete') return isSame(original, current) ? { _deleted: true } : undefined;
  const modified = contentOf(change.modified);
  const merged = { ...toDraft<T>(stored) } as Record<string, unknown>;
  for (const name of new Set([...Object.keys(original), ...Object.keys(modified)])) {
    const [before, after, now] = [original[name], modified[name], current[name]];
    if (isSame(before, after) || isSame(now, after)) continue;
    if (!isSame(before, now)) return undefined;
    if (after === undefined) delete merged[name];
    else merged[name] = after;
  }
  return merged as Draft<T>;
}

/** Whether two JSON values are the same, whatever the order of members. */
export function isSame(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  // Their contents can't be compared at once.
  if (left instanceof Blob || right instanceof Blob) return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const names = Object.keys(left);
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => Object.hasOwn(right, name) && isSame(Reflect.get(left, name), Reflect.get(right, name)))
  );
}

function contentOf(row: object): Record<string, unknown> {
  const { _id, _rev, ...content } = toDraft<Record<string, unknown>>(row);
  return content;
}
