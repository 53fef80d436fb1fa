/** The text of a list of rows, as it is streamed (completion 9). */

import { CHUNK_UNITS } from '../response/streams.ts';
import { isEmptyRange, toRowRange } from './key-range.ts';
import type { Listing } from './listings.ts';
import type { ListParameters } from './parameters.ts';

/** How many keys are looked up at once. */
const KEYS_BATCH = 200;
const LINE = '\r\n';
const NEXT_LINE = `,${LINE}`;

/** Without a newline at its end. */
export async function* listingText(
  listing: Listing,
  parameters: ListParameters,
  updateSeq: number,
): AsyncGenerator<string, void, void> {
  const { keys } = parameters;
  const range = toRowRange(parameters);
  const total = await listing.total();
  const seq = parameters.updateSeq ? `,"update_seq":${updateSeq}` : '';
  const limit = parameters.limit ?? Number.POSITIVE_INFINITY;
  if (keys !== undefined) {
    yield `{"total_rows":${total}${seq},"rows":[`;
    yield* framedRows(keyedRows(listing, keys, parameters));
  } else if (isEmptyRange(range)) {
    yield `{"total_rows":${total},"offset":${range.beginsBehindAll ? total : 0}${seq},"rows":[${LINE}${LINE}]}`;
  } else {
    yield `{"total_rows":${total},"offset":${await listing.offset(range)}${seq},"rows":[`;
    yield* framedRows(listing.rows(range, limit));
  }
}

/**
 * What follows `"rows":[`: one row a line, and what closes the list and the object. Rows come as one piece for each chunk that is sent, made
 * in one go: to copy them once more would take as long.
 */
export async function* framedRows(batches: AsyncIterable<readonly string[]>): AsyncGenerator<string, void, void> {
  let lines: string[] = [];
  let units = 0;
  let start = LINE;
  for await (const rows of batches) {
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

/** One row per key; `descending`, `skip` and `limit` apply to the keys. */
export async function* keyedRows(
  listing: Listing,
  asked: readonly unknown[],
  parameters: ListParameters,
): AsyncGenerator<readonly string[], void, void> {
  const keys = chooseKeys(asked, parameters);
  for (let start = 0; start < keys.length; start += KEYS_BATCH) {
    yield await listing.keyed(keys.slice(start, start + KEYS_BATCH));
  }
}

function chooseKeys(keys: readonly unknown[], { descending, skip, limit }: ListParameters): readonly unknown[] {
  const end = limit === undefined ? undefined : skip + limit;
  return (descending ? keys.toReversed() : keys).slice(skip, end);
}
