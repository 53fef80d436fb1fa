/** Edits that are not stored yet, of any number of documents: reviewed, undone in any order, and stored together. */
import { computed, signal } from '@preact/signals';
import type { Change } from '../review/review.tsx';
import { ask, type JsonObject, pathOf } from '../server/client.ts';

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

const edits = signal<ReadonlyMap<string, StagedEdit>>(new Map());

/** In the order in which they were begun. */
export const stagedEdits = computed(() => [...edits.value.values()]);

export function stagedEdit(database: string, id: string): StagedEdit | undefined {
  return edits.value.get(keyOf({ database, id }));
}

/** Keeps the edit. An edit back to the stored text leaves the list. */
export function stage(edit: Omit<StagedEdit, 'problem'>): void {
  if (edit.after === edit.before) {
    unstage(edit);
    return;
  }
  const problem = edit.after === undefined ? undefined : problemOf(edit.after, edit.id);
  edits.value = new Map(edits.value).set(keyOf(edit), { ...edit, problem });
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

/** Returns one `_bulk_docs` request for each database. */
export function bulkRequests(
  all: readonly StagedEdit[],
): readonly { readonly database: string; readonly path: string; readonly docs: readonly JsonObject[] }[] {
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

/** Stores the edits. Those that are stored leave the list, the others stay; returns why. */
export async function storeEdits(all: readonly StagedEdit[]): Promise<readonly RefusedEdit[]> {
  const refused: RefusedEdit[] = [];
  for (const { database, path, docs } of bulkRequests(all)) {
    type Row = { readonly id?: string; readonly error?: string; readonly reason?: string };
    const rows = await ask<readonly Row[]>('POST', path, { json: { docs } });
    for (const [index, { error, reason }] of rows.entries()) {
      const id = `${docs[index]?.['_id']}`;
      if (error === undefined) unstage({ database, id });
      else refused.push({ id, error, reason: reason ?? error });
    }
  }
  return refused;
}

function bodyOf({ id, rev, after }: StagedEdit): JsonObject {
  if (after === undefined) return { _id: id, ...(rev !== undefined && { _rev: rev }), _deleted: true };
  const body: JsonObject = JSON.parse(after);
  return { ...body, _id: id, ...(rev !== undefined && { _rev: rev }) };
}

function problemOf(text: string, id: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'A document must be a JSON object.';
    if ('_id' in value && value._id !== id) return `The id of a stored document can't be changed: it is ${id}.`;
    return undefined;
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : error}`;
  }
}

function keyOf({ database, id }: Pick<StagedEdit, 'database' | 'id'>): string {
  return `${database}\n${id}`;
}
