/** The text of a list of rows, as it is streamed (docs/http.md#row-framing). */

import { CHUNK_UNITS } from '../response/streams.ts';
import { type DocumentList, isLongRow, type RowBatch } from './document-list.ts';
import { isEmptyRange, toRowRange } from './key-range.ts';
import type { ListParameters } from './list-parameters.ts';

const LINE = '\r\n';
const NEXT_LINE = `,${LINE}`;

/** A list as its parameters ask for it. */
interface ListContent {
  /** What stands before the rows. */
  readonly head: Readonly<Record<string, number>>;
  readonly rows: AsyncIterable<RowBatch>;
}

/** Where keys are given, `offset` counts those that were skipped. `updateSeq` is that of the moment that is read. */
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

/** Without a newline at its end. */
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
 * What follows `"rows":[`: one row a line, and what closes the list and the object. Rows come as one piece for each chunk that is sent, made
 * in one go: to copy them once more would take as long.
 */
export async function* framedRows(batches: AsyncIterable<RowBatch>): AsyncGenerator<string, void, void> {
  let lines: string[] = [];
  let units = 0;
  let start = LINE;
  for await (const rows of batches) {
    if (isLongRow(rows)) {
      yield units > 0 ? lines.join(NEXT_LINE) + NEXT_LINE : start;
      yield* rows.pieces;
      start = NEXT_LINE;
      lines = [];
      units = 0;
      continue;
    }
    for (const row of rows) {
      lines.push(units === 0 ? start + row : row);
      units += row.length;
    }
    if (units < CHUNK_UNITS) continue;
    yield lines.join(NEXT_LINE);
    start = NEXT_LINE;
    lines = [];
    units = 0;
  }
  if (units > 0) yield lines.join(NEXT_LINE);
  yield units === 0 && start === LINE ? `${LINE}${LINE}]}` : `${LINE}]}`;
}

/** `descending`, `skip` and `limit` apply to the keys. */
function chooseKeys(keys: readonly unknown[], { descending, skip, limit }: ListParameters): readonly unknown[] {
  const end = limit === undefined ? undefined : skip + limit;
  return (descending ? keys.toReversed() : keys).slice(skip, end);
}
