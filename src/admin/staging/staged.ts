/** Edits that are not stored yet, of any number of documents: reviewed, undone in any order, and stored together. */
import { computed, signal } from '@preact/signals';
import { JsonMistake, parseJson } from '../json/json-tree.ts';
import { printCompact } from '../json/print-json.ts';
import type { Change } from '../review/review.tsx';
import { exchange, parseResponse, pathOf, ServerError, type ServerRequest } from '../server/client.ts';
import { membersWithout } from '../server/document.ts';
import { isReservedName } from './reserved-names.ts';

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

const edits = signal<ReadonlyMap<string, StagedEdit>>(new Map());

/** In the order in which they were begun. */
export const stagedEdits = computed(() => [...edits.value.values()]);

export function stagedEdit(database: string, id: string): StagedEdit | undefined {
  return edits.value.get(keyOf({ database, id }));
}

/**
 * Keeps the edit. An edit back to the stored text leaves the list. `problem`: what else is known against it, besides what the text itself
 * shows.
 */
export function stage(edit: Omit<StagedEdit, 'problem' | 'refusal'>, problem?: string): void {
  if (edit.after === edit.before) {
    unstage(edit);
    return;
  }
  const next = { ...edit, problem: problem ?? problemOf(edit), refusal: undefined };
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

/** Stores the edits. Those that are stored leave the list, the others stay, with the reason. */
export async function storeEdits(all: readonly StagedEdit[]): Promise<readonly RefusedEdit[]> {
  const refused: RefusedEdit[] = [];
  for (const { edits: sent, request } of bulkRequests(all)) {
    type Row = { readonly error?: string; readonly reason?: string };
    const rows = await exchange(request)
      .then((response) => parseResponse<readonly Row[]>(response, request))
      .catch((error: unknown) => {
        if (error instanceof ServerError)
          for (const edit of sent) refuse(edit, { error: error.code, reason: error.reason });
        throw error;
      });
    for (const [index, edit] of sent.entries()) {
      const { error, reason = error } = rows[index] ?? {};
      if (error === undefined || reason === undefined) unstage(edit);
      else {
        refuse(edit, { error, reason });
        refused.push({ id: edit.id, error, reason });
      }
    }
  }
  return refused;
}

/** Keeps why the edit was refused, unless it was changed since it was sent. */
function refuse(edit: StagedEdit, refusal: Refusal): void {
  const key = keyOf(edit);
  if (edits.value.get(key) === edit) edits.value = new Map(edits.value).set(key, { ...edit, refusal });
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

/** At every key: it reads the text as fast as possible, and once more only to say where a mistake is. */
function problemOf({ after, before, id }: Pick<StagedEdit, 'after' | 'before' | 'id'>): string | undefined {
  if (after === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(after);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'A document must be a JSON object.';
    if ('_id' in value && value._id !== id) return `The id of a stored document can't be changed: it is ${id}.`;
    const reserved = Object.keys(value).find(isReservedName);
    // What the stored document has already is the server's own business.
    if (reserved === undefined || (before !== undefined && reserved in JSON.parse(before))) return undefined;
    return `Names that begin with _ are reserved: rename ${reserved}.`;
  } catch (error) {
    return `This is not JSON: ${mistakeIn(after) ?? error}`;
  }
}

function mistakeIn(text: string): string | undefined {
  try {
    parseJson(text);
    return undefined;
  } catch (error) {
    return error instanceof JsonMistake ? error.message : undefined;
  }
}

function keyOf({ database, id }: Pick<StagedEdit, 'database' | 'id'>): string {
  return `${database}\n${id}`;
}
