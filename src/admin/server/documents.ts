/** Pages of the list of documents. */
import { ask, type JsonObject, pathOf, withQuery } from './client.ts';

export interface DocumentRow {
  readonly id: string;
  readonly rev: string;
  /** Only if it was asked for. */
  readonly doc: JsonObject | undefined;
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
}

export async function documentPage(database: string, page: PageRequest, signal?: AbortSignal): Promise<DocumentPage> {
  const { includeDocs = false, ...range } = page;
  const path = withQuery(pathOf(database, '_all_docs'), { ...range, include_docs: includeDocs || undefined });
  type Row = { readonly id: string; readonly value: { readonly rev: string }; readonly doc?: JsonObject | null };
  type Page = { readonly total_rows: number; readonly offset: number | null; readonly rows: readonly Row[] };
  const { total_rows, offset, rows } = await ask<Page>('GET', path, { signal });
  return {
    total: total_rows,
    offset: offset ?? undefined,
    rows: rows.map(({ id, value, doc }) => ({ id, rev: value.rev, doc: doc ?? undefined })),
  };
}
