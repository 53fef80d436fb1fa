/** Pages of the list of documents. */
import { ask, type JsonObject, pathOf, withQuery } from './client.ts';

export interface DocumentRow {
  readonly id: string;
  readonly rev: string;
  /** Only if it was asked for. */
  readonly doc: JsonObject | undefined;
  /** Whether other live revisions are there beside this one; undefined if that was not asked for. */
  readonly isInConflict: boolean | undefined;
}

export interface DocumentPage {
  /** Documents in the database. */
  readonly total: number;
  /** How many come before the first row; undefined if the server does not say. */
  readonly offset: number | undefined;
  readonly rows: readonly DocumentRow[];
}

export interface PageRequest {
  readonly skip?: number;
  readonly limit: number;
  readonly startkey?: string;
  readonly endkey?: string;
  readonly includeDocs?: boolean;
  /** With `includeDocs`: also asks which documents are in conflict. */
  readonly withConflicts?: boolean;
}

export async function documentPage(database: string, page: PageRequest, signal?: AbortSignal): Promise<DocumentPage> {
  const { includeDocs = false, withConflicts = false, ...range } = page;
  const documents = { include_docs: includeDocs || undefined, conflicts: withConflicts || undefined };
  const path = withQuery(pathOf(database, '_all_docs'), { ...range, ...documents });
  type Row = { readonly id: string; readonly value: { readonly rev: string }; readonly doc?: JsonObject | null };
  type Page = { readonly total_rows: number; readonly offset: number | null; readonly rows: readonly Row[] };
  const { total_rows, offset, rows } = await ask<Page>('GET', path, { signal });
  return {
    total: total_rows,
    offset: offset ?? undefined,
    rows: rows.map(({ id, value, doc }) => ({ id, rev: value.rev, ...toRead(doc ?? undefined, withConflicts) })),
  };
}

/** What a row has of a document that was read, with `conflicts=true` if `withConflicts`: what the server adds about conflicts is no member of it. */
export function toRead(doc: JsonObject | undefined, withConflicts: boolean): Pick<DocumentRow, 'doc' | 'isInConflict'> {
  if (!withConflicts || doc === undefined) return { doc, isInConflict: undefined };
  const { _conflicts, ...members } = doc;
  return _conflicts === undefined ? { doc, isInConflict: false } : { doc: members, isInConflict: true };
}
