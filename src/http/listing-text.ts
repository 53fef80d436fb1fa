/** The text of a list of rows, as it is streamed (completion 9). */
import { isEmptyRange, toRowRange } from './key-range.ts';
import type { Listing } from './listings.ts';
import type { ListParameters } from './parameters.ts';

/** How many keys are looked up at once. */
const KEYS_BATCH = 200;
const LINE = '\r\n';

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

/** What follows `"rows":[`: one row a line, and what closes the list and the object. */
export async function* framedRows(batches: AsyncIterable<readonly string[]>): AsyncGenerator<string, void, void> {
  let separator = LINE;
  for await (const rows of batches) {
    yield separator + rows.join(`,${LINE}`);
    separator = `,${LINE}`;
  }
  yield separator === LINE ? `${LINE}${LINE}]}` : `${LINE}]}`;
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
