/**
 * The lists of a database's documents: all, the design documents, the local ones (docs/http/bulk.md#other-lists). They differ
 * in where the rows come from; parameters, format and streaming are the same for all.
 */

import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import type { RowRange } from '../../../database/store/contract.ts';
import type { ListParameters } from '../../request/list-parameters.ts';
import type { AttachmentFlags } from '../../shown/inline-attachments.ts';

/** The list parameters that concern its rows. */
export type RowOptions = Pick<ListParameters, 'includeDocs' | 'conflicts' | 'attachments' | 'attEncodingInfo'>;

/** What the rows' documents show of their attachments beyond stubs; undefined if nothing. */
export function contentFlags({ attachments, attEncodingInfo }: RowOptions): AttachmentFlags | undefined {
  if (!attachments && !attEncodingInfo) return undefined;
  return { content: attachments, since: [], encodingInfo: attEncodingInfo };
}

/** A row that is too long to be built as a whole: its JSON text in pieces. */
export interface LongRow {
  readonly pieces: AsyncIterable<string>;
}

/** Consecutive rows: JSON texts, or a single one in pieces. */
export type RowBatch = readonly string[] | LongRow;

export function isLongRow(batch: RowBatch): batch is LongRow {
  return 'pieces' in batch;
}

/** Maximum plain bytes of attachments in one row: a client that reads a list takes a row as a whole. */
export const MAX_ATTACHED_BYTES = 64 * 1024 * 1024;

export interface DocumentList {
  /** Number of rows without any bounds. */
  total(): MaybePromise<number>;
  /** Number of rows before the first of the range, in its direction. */
  offset(range: RowRange): MaybePromise<number>;
  /** The first `limit` rows of the range, in batches. */
  rows(range: RowRange, limit: number): AsyncIterable<RowBatch>;
  /** One row per key, in the order of the keys. */
  keyed(keys: readonly unknown[]): AsyncIterable<RowBatch>;
}
