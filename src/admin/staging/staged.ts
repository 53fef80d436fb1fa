/** Edits that are not stored yet, of any number of documents: reviewed, undone in any order, and stored together. */
import { computed, signal } from '@preact/signals';
import type { Change } from '../review/review.tsx';
import { ask, type JsonObject, pathOf } from '../server/client.ts';
import { isSameText, problemOf } from './edit-text.ts';

export interface StagedEdit {
  readonly database: string;
  /** The document's id. */
  readonly id: string;
  /** The stored text, with indentation; undefined: the document is new. */
  readonly before: string | undefined;
  /** The text as it was typed; undefined: the document is to be deleted. */
  readonly after: string | undefined;
  /** The stored revision. */
  readonly rev: string | undefined;
  /** Why it can't be stored; undefined if nothing is known against it. */
  readonly problem: string | undefined;
}

/** `isChange`: more than white space differs. What is typed without changing anything stays in the editor, but is not to be stored. */
const edits = signal<ReadonlyMap<string, StagedEdit & { readonly isChange: boolean }>>(new Map());

/** In the order in which they were begun. An edit back to what is stored is not among them. */
export const stagedEdits = computed<readonly StagedEdit[]>(() =>
  [...edits.value.values()].filter((one) => one.isChange),
);

/** What was typed; undefined if it is exactly what is stored. */
export function stagedEdit(database: string, id: string): StagedEdit | undefined {
  return edits.value.get(keyOf({ database, id }));
}

/** Keeps the edit. An edit back to what is stored leaves `stagedEdits`. */
export function stage(edit: Omit<StagedEdit, 'problem'>): void {
  const { before, after, id } = edit;
  if (after === before) {
    unstage(edit);
    return;
  }
  const problem = after === undefined ? undefined : problemOf(after, id);
  edits.value = new Map(edits.value).set(keyOf(edit), { ...edit, problem, isChange: !isSameText(before, after) });
}

export function unstage(edit: Pick<StagedEdit, 'database' | 'id'>): void {
  const next = new Map(edits.value);
  next.delete(keyOf(edit));
  edits.value = next;
}

export function unstageAll(): void {
  edits.value = new Map();
}

/** What an edit changes, for a review. */
export function changeOf({ database, id, before, after }: StagedEdit): Change {
  return { name: `${database}/${id}`, before, after };
}

interface BulkRequest {
  readonly database: string;
  readonly path: string;
  readonly docs: readonly JsonObject[];
}

/** Returns one `_bulk_docs` request for each database. */
export function bulkRequests(all: readonly StagedEdit[]): readonly BulkRequest[] {
  const databases = new Map<string, JsonObject[]>();
  for (const edit of all) databases.set(edit.database, [...(databases.get(edit.database) ?? []), bodyOf(edit)]);
  return [...databases].map(([database, docs]) => ({ database, path: pathOf(database, '_bulk_docs'), docs }));
}

/** What became of the edits that could not be stored. */
export interface RefusedEdit {
  readonly id: string;
  readonly error: string;
  readonly reason: string;
}

/**
 * Stores the edits, database by database. Those that are stored leave the list, the others stay; returns why. Fails if a whole request fails,
 * once the others were sent.
 */
export async function storeEdits(all: readonly StagedEdit[]): Promise<readonly RefusedEdit[]> {
  const sent = await Promise.allSettled(bulkRequests(all).map(storeIn));
  const failed = sent.find((one) => one.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return sent.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
}

async function storeIn({ database, path, docs }: BulkRequest): Promise<readonly RefusedEdit[]> {
  type Row = { readonly id?: string; readonly error?: string; readonly reason?: string };
  const rows = await ask<readonly Row[]>('POST', path, { json: { docs } });
  const refused: RefusedEdit[] = [];
  for (const [index, { error, reason }] of rows.entries()) {
    const id = `${docs[index]?.['_id']}`;
    if (error === undefined) unstage({ database, id });
    else refused.push({ id, error, reason: reason ?? error });
  }
  return refused;
}

function bodyOf({ id, rev, after }: StagedEdit): JsonObject {
  if (after === undefined) return { _id: id, ...(rev !== undefined && { _rev: rev }), _deleted: true };
  const body: JsonObject = JSON.parse(after);
  return { ...body, _id: id, ...(rev !== undefined && { _rev: rev }) };
}

function keyOf({ database, id }: Pick<StagedEdit, 'database' | 'id'>): string {
  return `${database}\n${id}`;
}
