import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { PlainParts } from '../../../../src/database/attachments/outgoing.ts';
import type { AttachmentReader } from '../../../../src/database/store/contract.ts';

const PAGE = 65_536;
/** Incompressible, so that the gzip has many pages. */
const PLAIN = new Uint8Array(8 * 1024 * 1024);
let state = 7;
for (let index = 0; index < PLAIN.length; index++) {
  state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
  PLAIN[index] = state >>> 24;
}
const GZIP = gzipSync(PLAIN, { level: 1 });

interface WatchedReader extends AttachmentReader {
  /** Pages that were given out, of all reads. */
  pagesRead: number;
  /** How often the gzip was begun. */
  reads: number;
}

function watchedReader(): WatchedReader {
  return {
    stored: {
      digest: '0'.repeat(32),
      storedLength: GZIP.length,
      length: PLAIN.length,
      encoding: 'gzip',
      plainDigest: undefined,
      pageBytes: PAGE,
      pages: [],
    },
    pagesRead: 0,
    reads: 0,
    async *read(from, to) {
      this.reads++;
      for (let at = from; at < to; at += PAGE) {
        this.pagesRead++;
        yield GZIP.subarray(at, Math.min(at + PAGE, to));
      }
    },
    release: () => undefined,
  };
}

/** Comparing them member by member would take seconds. */
function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return new Uint8Array(Buffer.concat(parts));
}

describe('ranges of compressed attachments', () => {
  test('read nothing after the last requested byte', async () => {
    const reader = watchedReader();
    const parts = new PlainParts(reader);
    expect(await bytesOf(parts.read(10, 20))).toEqual(PLAIN.slice(10, 20));
    await parts.stop();
    // The platform's stream takes some pages before they are asked for.
    expect(reader.pagesRead).toBeLessThan(16);
  });

  test('in ascending order are read in one pass, also if they touch, and an earlier one starts another pass', async () => {
    const reader = watchedReader();
    const parts = new PlainParts(reader);
    for (const [from, to] of [
      [1, 100_000],
      [100_000, 100_001],
      [5_000_000, 5_300_000],
      [PLAIN.length - 1, PLAIN.length],
    ] as const) {
      expect(isSame(await bytesOf(parts.read(from, to)), PLAIN.slice(from, to))).toBe(true);
    }
    expect(reader.reads).toBe(1);
    expect(await bytesOf(parts.read(7, 9))).toEqual(PLAIN.slice(7, 9));
    expect(reader.reads).toBe(2);
    await parts.stop();
  });

  test('stop skipping bytes when their reader is gone', async () => {
    const reader = watchedReader();
    const parts = new PlainParts(reader);
    const last = parts.read(PLAIN.length - 1, PLAIN.length);
    const step = last.next();
    await parts.stop();
    expect((await step).done).toBe(true);
    expect(reader.pagesRead).toBeLessThan(GZIP.length / PAGE / 2);
  });
});
