/**
 * The lists of documents that a database has: all, its design documents, its local ones (completion 8, 24). They differ
 * in where the rows come from; parameters, framing and streaming are the same for all.
 */
import type { DocumentRecord, RowRange } from '../../database/contract.ts';
import type { DocId } from '../../documents/contract.ts';
import { parseDocId } from '../../documents/identifiers.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';

export interface RowOptions {
  readonly includeDocs: boolean;
  /** Gives `_conflicts` for the documents, where they are to have it (`document-meta.ts`). */
  readonly conflictsOf: ((record: DocumentRecord) => string) | undefined;
}

/** Rows are JSON texts. */
export interface Listing {
  /** Rows there are without any bounds. */
  total(): MaybePromise<number>;
  /** Rows before the first of the range, in its direction. */
  offset(range: RowRange): MaybePromise<number>;
  /** The first `limit` rows of the range, in batches. */
  rows(range: RowRange, limit: number): AsyncIterable<readonly string[]>;
  /** One row per key, in their order. */
  keyed(keys: readonly unknown[]): Promise<readonly string[]>;
}

/** The key as an id, or undefined where no document can have it. */
export function toDocId(key: unknown): DocId | undefined {
  try {
    return parseDocId(key);
  } catch {
    return undefined;
  }
}

export function rowText(id: string, rev: string, doc: string | undefined): string {
  return quotedRowText(JSON.stringify(id), JSON.stringify(rev), doc);
}

/** As `rowText`, with an id and a revision that are JSON text already. */
export function quotedRowText(id: string, rev: string, doc: string | undefined): string {
  const docMember = doc === undefined ? '' : `,"doc":${doc}`;
  return `{"id":${id},"key":${id},"value":{"rev":${rev}}${docMember}}`;
}

/** For a key that was asked for and has a tombstone. */
export function deletedRowText(id: string, rev: string, includeDocs: boolean): string {
  const quotedId = JSON.stringify(id);
  const value = `{"rev":${JSON.stringify(rev)},"deleted":true}`;
  return `{"id":${quotedId},"key":${quotedId},"value":${value}${includeDocs ? ',"doc":null' : ''}}`;
}

export function unknownRowText(key: unknown): string {
  return `{"key":${keyText(key)},"error":"not_found"}`;
}

/** `JSON.stringify` can't write what is nested some thousand levels deep. */
function keyText(key: unknown): string {
  try {
    return JSON.stringify(key);
  } catch (cause) {
    throw new DatabaseError('bad_request', 'A key is nested too deeply.', { cause });
  }
}
