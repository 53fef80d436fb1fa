import { crc32 } from 'node:zlib';
import type { StoredPage } from '../../file-copy.ts';
import type { PageNumber } from '../../page-store.ts';
import { kindOfPage } from '../../paging/checksums.ts';
import type { Environment } from '../environment.ts';
import { toReadError } from '../lmdb-errors.ts';

const MAX_PAGES = 256;
/** A batch ends with the page that reaches this. */
const BATCH_BYTES = 4 * 2 ** 20;

/**
 * Yields the pages of an environment that no one writes to, ascending, in batches. LMDB does not keep what a page is: its checksum says so, unless
 * the page is damaged or from a release without checksums.
 */
export async function* pagesIn(
  file: string,
  environment: Environment,
  from: PageNumber,
): AsyncGenerator<readonly StoredPage[]> {
  for (let start = from; ; ) {
    const batch = readBatch(file, environment, start);
    const last = batch.at(-1);
    if (last === undefined) return;
    yield batch;
    start = last.number + 1;
  }
}

/** In one turn of the event loop, so that no cursor stays open while the caller works. */
function readBatch(file: string, { bytes }: Environment, start: PageNumber): StoredPage[] {
  const batch: StoredPage[] = [];
  let left = BATCH_BYTES;
  try {
    for (const number of bytes.getKeys({ start, limit: MAX_PAGES })) {
      if (left <= 0) break;
      const value = bytes.get(number);
      if (value === undefined) continue;
      const stored = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
      batch.push({ number, kind: kindOfPage(crc32, number, stored) ?? 'unknown', bytes: stored });
      left -= stored.length;
    }
  } catch (error) {
    throw toReadError(error, file);
  }
  return batch;
}
