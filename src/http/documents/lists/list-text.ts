/** The text of a list of rows, as streamed (docs/http/bulk.md#row-framing). */

import { DatabaseError } from '../../../base/errors/database-error.ts';
import { isEmptyRange, type ListParameters, toRowRange } from '../../request/list-parameters.ts';
import { CHUNK_UNITS } from '../../response/streams.ts';
import { type DocumentList, isLongRow, type RowBatch } from './document-list.ts';

const LINE = '\r\n';
const NEXT_LINE = `,${LINE}`;

/** A list as its parameters request it. */
interface ListContent {
  /** What precedes the rows. */
  readonly head: Readonly<Record<string, number>>;
  readonly rows: AsyncIterable<RowBatch>;
}

/** If keys are given, `offset` counts the skipped ones. `updateSeq` is that of the snapshot. */
export async function readList(
  list: DocumentList,
  parameters: ListParameters,
  updateSeq: number,
): Promise<ListContent> {
  const { keys, limit = Number.POSITIVE_INFINITY } = parameters;
  const total = await list.total();
  const seq = parameters.updateSeq ? { update_seq: updateSeq } : {};
  if (keys !== undefined) {
    const offset = Math.min(parameters.skip, keys.length);
    return { head: { total_rows: total, offset, ...seq }, rows: list.keyed(chooseKeys(keys, parameters)) };
  }
  const range = toRowRange(parameters);
  if (isEmptyRange(range)) {
    const offset = range.beginsBehindAll ? total : 0;
    return { head: { total_rows: total, offset, ...seq }, rows: list.keyed([]) };
  }
  const offset = await list.offset(range);
  return { head: { total_rows: total, offset, ...seq }, rows: list.rows(range, limit) };
}

/** Has no newline at its end. */
export async function* listText(
  list: DocumentList,
  parameters: ListParameters,
  updateSeq: number,
): AsyncGenerator<string, void, void> {
  const { head, rows } = await readList(list, parameters, updateSeq);
  yield `${JSON.stringify(head).slice(0, -1)},"rows":[`;
  yield* framedRows(rows);
}

/**
 * What follows `"rows":[`: one row a line, and what closes the list and the object. Rows come as one piece for each chunk that is sent, built
 * in one go: copying them once more would take as long. While a piece waits to be sent, the rows that it was built from are not kept.
 */
export async function* framedRows(batches: AsyncIterable<RowBatch>): AsyncGenerator<string, void, void> {
  const iterator = batches[Symbol.asyncIterator]();
  const lines = new Lines();
  try {
    for (;;) {
      const pieces = lines.add(await iterator.next());
      if (pieces === 'end') break;
      if (pieces !== undefined) {
        yield lines.takeBeforeLong();
        yield* pieces;
      } else if (lines.units >= CHUNK_UNITS) yield lines.take();
    }
  } finally {
    await iterator.return?.();
  }
  if (lines.units > 0) yield lines.take();
  yield lines.isEmpty ? `${LINE}${LINE}]}` : `${LINE}]}`;
}

/** Rows that were not sent yet. */
class Lines {
  units = 0;
  #lines: string[] = [];
  #start = LINE;

  /** Adds a batch, and returns the pieces if it is a long row. */
  add(step: IteratorResult<RowBatch, unknown>): AsyncIterable<string> | 'end' | undefined {
    if (step.done === true) return 'end';
    if (isLongRow(step.value)) return step.value.pieces;
    for (const row of step.value) {
      this.#lines.push(this.units === 0 ? this.#start + row : row);
      this.units += row.length;
    }
    return undefined;
  }

  /** Whether there was no row. */
  get isEmpty(): boolean {
    return this.#start === LINE;
  }

  take(): string {
    const text = this.#lines.join(NEXT_LINE);
    this.#start = NEXT_LINE;
    this.#lines = [];
    this.units = 0;
    return text;
  }

  takeBeforeLong(): string {
    const text = this.units > 0 ? this.take() + NEXT_LINE : this.#start;
    this.#start = NEXT_LINE;
    return text;
  }
}

/** Applies `descending`, `skip` and `limit` to the keys. */
function chooseKeys(keys: readonly unknown[], { descending, skip, limit }: ListParameters): readonly unknown[] {
  const end = limit === undefined ? undefined : skip + limit;
  return (descending ? keys.toReversed() : keys).slice(skip, end);
}

export function rowText(id: string, rev: string, doc: string | undefined): string {
  return quotedRowText(JSON.stringify(id), JSON.stringify(rev), doc);
}

/** Like `rowText`, with an id and a revision that are JSON text already. */
export function quotedRowText(id: string, rev: string, doc: string | undefined): string {
  const docMember = doc === undefined ? '' : `,"doc":${doc}`;
  return `{"id":${id},"key":${id},"value":{"rev":${rev}}${docMember}}`;
}

/** The row of a requested key that has a tombstone. */
export function deletedRowText(id: string, rev: string, includeDocs: boolean): string {
  const quotedId = JSON.stringify(id);
  const value = `{"rev":${JSON.stringify(rev)},"deleted":true}`;
  return `{"id":${quotedId},"key":${quotedId},"value":${value}${includeDocs ? ',"doc":null' : ''}}`;
}

/** Like `quotedRowText`, for a document in pieces. */
export async function* rowPieces(
  id: string,
  rev: string,
  doc: AsyncIterable<string>,
): AsyncGenerator<string, void, void> {
  yield `{"id":${id},"key":${id},"value":{"rev":${rev}},"doc":`;
  yield* doc;
  yield '}';
}

export function unknownRowText(key: unknown): string {
  return `{"key":${keyText(key)},"error":"not_found"}`;
}

/** `JSON.stringify` can't write values that are nested some thousand levels deep. */
function keyText(key: unknown): string {
  try {
    return JSON.stringify(key);
  } catch (cause) {
    throw new DatabaseError('bad_request', 'A key is nested too deeply.', { cause });
  }
}
