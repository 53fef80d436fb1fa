/** Edits that are not stored yet, of any number of documents: reviewed, undone in any order, and stored together. */
import { computed, signal } from '@preact/signals';
import { parseJson } from '../json/json-tree.ts';
import { printCompact } from '../json/print-json.ts';
import type { Change } from '../review/review.tsx';
import { exchange, parseResponse, pathOf, ServerError, type ServerRequest } from '../server/client.ts';
import { membersWithout } from '../server/document.ts';
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
  /** What the server said when it was to be stored; undefined once the edit is changed. */
  readonly refusal: Refusal | undefined;
}

export interface Refusal {
  /** `conflict`, `forbidden`, … */
  readonly error: string;
  readonly reason: string;
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

/**
 * Keeps the edit. An edit back to what is stored leaves `stagedEdits`. `problem`: what else is known against it, besides what the text itself
 * shows.
 */
export function stage(edit: Omit<StagedEdit, 'problem' | 'refusal'>, problem?: string): void {
  const { before, after, id } = edit;
  if (after === before) {
    unstage(edit);
    return;
  }
  const known = problem ?? (after === undefined ? undefined : problemOf(after, id, before));
  const next = { ...edit, problem: known, refusal: undefined, isChange: !isSameText(before, after) };
  edits.value = new Map(edits.value).set(keyOf(edit), next);
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

/** Edits of one database, and the request that stores them. */
interface Batch {
  readonly edits: readonly StagedEdit[];
  readonly request: ServerRequest;
}

/** Returns one `_bulk_docs` request for each database. Numbers are sent digit for digit. */
export function bulkRequests(all: readonly StagedEdit[]): readonly Batch[] {
  const databases = new Map<string, StagedEdit[]>();
  for (const edit of all) databases.set(edit.database, [...(databases.get(edit.database) ?? []), edit]);
  return [...databases].map(([database, own]) => ({
    edits: own,
    request: {
      method: 'POST',
      path: pathOf(database, '_bulk_docs'),
      json: `{"docs":[${own.map(bodyOf).join(',')}]}`,
    },
  }));
}

/** What became of the edits that could not be stored. */
export interface RefusedEdit extends Refusal {
  readonly id: string;
}

/**
 * Stores the edits, database by database. Those that are stored leave the list, the others stay, with the reason. Fails if a whole request
 * fails, once the others were sent.
 */
export async function storeEdits(all: readonly StagedEdit[]): Promise<readonly RefusedEdit[]> {
  const sent = await Promise.allSettled(bulkRequests(all).map(storeIn));
  const failed = sent.find((one) => one.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return sent.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
}

async function storeIn({ edits: sent, request }: Batch): Promise<readonly RefusedEdit[]> {
  type Row = { readonly error?: string; readonly reason?: string };
  const rows = await exchange(request)
    .then((response) => parseResponse<readonly Row[]>(response, request))
    .catch((error: unknown) => {
      if (error instanceof ServerError)
        for (const edit of sent) refuse(edit, { error: error.code, reason: error.reason });
      throw error;
    });
  const refused: RefusedEdit[] = [];
  for (const [index, edit] of sent.entries()) {
    const { error, reason = error } = rows[index] ?? {};
    if (error === undefined || reason === undefined) unstage(edit);
    else {
      refuse(edit, { error, reason });
      refused.push({ id: edit.id, error, reason });
    }
  }
  return refused;
}

/** Keeps why the edit was refused, unless it was changed since it was sent. */
function refuse(edit: StagedEdit, refusal: Refusal): void {
  const now = edits.value.get(keyOf(edit));
  if (now === edit) edits.value = new Map(edits.value).set(keyOf(edit), { ...now, refusal });
}

const IDENTITY = new Set(['_id', '_rev']);

/** The text of what is sent for one document. */
function bodyOf({ id, rev, after }: StagedEdit): string {
  const identity = [`"_id":${JSON.stringify(id)}`, ...(rev === undefined ? [] : [`"_rev":${JSON.stringify(rev)}`])];
  if (after === undefined) return `{${[...identity, '"_deleted":true'].join(',')}}`;
  const members = membersWithout(parseJson(after), IDENTITY).map(
    ({ nameText, value }) => `${nameText}:${printCompact(value)}`,
  );
  return `{${[...identity, ...members].join(',')}}`;
}

function keyOf({ database, id }: Pick<StagedEdit, 'database' | 'id'>): string {
  return `${database}\n${id}`;
}
