import type { JournalRecord } from '../../../src/storage/page-store.ts';

/** What the file of a `following-process.ts` says: the last number, and the page that the head names. */
export interface CountedState {
  readonly last: number;
  readonly page: number | undefined;
  /** The number in that page. */
  readonly inPage: number;
}

/** `before`: the state after which the records come; without it, they are the whole journal. Fails if a number is missing, or is there twice. */
export function countedOf(
  head: string | undefined,
  records: readonly JournalRecord[],
  before?: CountedState,
): CountedState {
  const [inPage = 0, page] = head?.split(' ').map(Number) ?? [];
  let last = before?.last ?? inPage;
  for (const { number, text } of records) {
    if (text !== `${last + 1}`) throw new Error(`record ${number} is ${text} after ${last}, head ${head}`);
    last += 1;
  }
  return { last, page, inPage };
}
