/** lmdb-js encodes a text in one step when it is put: 50 MB would hold the thread for 150 ms. It takes bytes as they are. */
import type { CooperativeTask } from '../../base/shared/turn.ts';
import { encodeInSteps } from '../../base/shared/utf8.ts';
import type { Commit, Page, PageValue } from '../page-store.ts';

/** Number of text units in a commit that are encoded within one turn. */
const MAX_AT_ONCE = 1_048_576;

/** What a commit writes, as it is put into LMDB: as bytes if its texts are long in total. */
export interface PutValues {
  readonly record: PageValue | undefined;
  readonly pages: readonly Page[];
}

export function* encodeLongTexts({ journal, writePages = [] }: Commit): CooperativeTask<PutValues> {
  const record = journal?.text;
  let length = record?.length ?? 0;
  for (const { value } of writePages) if (typeof value === 'string') length += value.length;
  if (length <= MAX_AT_ONCE) return { record, pages: writePages };
  const pages: Page[] = [];
  for (const { number, value } of writePages) {
    pages.push({ number, value: typeof value === 'string' ? yield* encodeInSteps(value) : value });
  }
  return { record: record === undefined ? undefined : yield* encodeInSteps(record, journal?.pieces), pages };
}
