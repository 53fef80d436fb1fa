/** Goes through all rows of a list, a page at a time, without keeping any. */

export interface Step<Row> {
  readonly rows: readonly Row[];
  /** Where the next page begins; undefined: this was the last one. */
  readonly next: string | undefined;
}

/** Ends after the last page, or fails when it is aborted. */
export async function* walk<Row>(
  read: (cursor: string | undefined) => Promise<Step<Row>>,
  signal: AbortSignal,
): AsyncGenerator<readonly Row[], void, void> {
  let cursor: string | undefined;
  do {
    signal.throwIfAborted();
    const { rows, next } = await read(cursor);
    if (rows.length > 0) yield rows;
    cursor = next;
  } while (cursor !== undefined);
}

/** Returns the number of all rows. `tell` is told how many are counted so far. */
export async function countAll(
  pages: AsyncIterable<readonly unknown[]>,
  tell: (soFar: number) => void,
): Promise<number> {
  let count = 0;
  for await (const { length } of pages) {
    count += length;
    tell(count);
  }
  return count;
}
