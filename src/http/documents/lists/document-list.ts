/**
 * The lists of documents that a database has: all, its design documents, its local ones (docs/http/bulk.md#other-lists). They differ
 * in where the rows come from; parameters, form and streaming are the same for all.
 */

import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import type { RowRange } from '../../../database/store/contract.ts';
import type { AttachmentFlags } from '../../shown/inline-attachments.ts';
import type { ListParameters } from './list-parameters.ts';

/** What a list's parameters say of its rows. */
export type RowOptions = Pick<ListParameters, 'includeDocs' | 'conflicts' | 'attachments' | 'attEncodingInfo'>;

/** What the rows' documents show of their attachments beyond stubs; undefined where that is nothing. */
export function contentFlags({ attachments, attEncodingInfo }: RowOptions): AttachmentFlags | undefined {
  if (!attachments && !attEncodingInfo) return undefined;
  return { content: attachments, since: [], encodingInfo: attEncodingInfo };
}

/** A row that is too long to be made as a whole: its JSON text in pieces. */
export interface LongRow {
  readonly pieces: AsyncIterable<string>;
}

/** Rows that follow each other: JSON texts, or a single one in pieces. */
export type RowBatch = readonly string[] | LongRow;

export function isLongRow(batch: RowBatch): batch is LongRow {
  return 'pieces' in batch;
}

/** Plain bytes of attachments that one row may have: whoever reads a list takes a row as a whole. */
export const MOST_ATTACHED_BYTES = 64 * 1024 * 1024;

export interface DocumentList {
  /** Rows there are without any bounds. */
  total(): MaybePromise<number>;
  /** Rows before the first of the range, in its direction. */
  offset(range: RowRange): MaybePromise<number>;
  /** The first `limit` rows of the range, in batches. */
  rows(range: RowRange, limit: number): AsyncIterable<RowBatch>;
  /** One row per key, in their order. */
  keyed(keys: readonly unknown[]): AsyncIterable<RowBatch>;
}
