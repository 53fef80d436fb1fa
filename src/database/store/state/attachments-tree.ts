import { storageDamage } from '../../../base/errors/database-error.ts';
import type { EntryList, TreeSpec } from '../../../storage/btree/contract.ts';
import type { PageNumber } from '../../../storage/page-store.ts';
import type { PageRun, StoredBytes } from '../contract.ts';

/**
 * The tree of attachments' bytes, by the MD5 of the stored bytes (32 hexadecimal digits): how many kept revisions refer to them, and their
 * location. The same bytes are stored once, however many documents have them, and also if they are one attachment's gzip and another's content:
 * an entry has an encoding if the bytes are any attachment's gzip, and then describes the decoded form. The length tells which one is meant.
 *
 * Text of an entry: `references leaves storedLength length pageBytes encoding plainDigest pages`, separated by spaces; numbers in base 36, `-` if
 * there is no encoding or no digest of the plain bytes; pages are runs `first+count`, separated by commas.
 */

/** What the tree knows of a range: stored bytes. */
export interface AttachmentSpace {
  readonly bytes: number;
  /** Bytes that a leaf revision refers to. The next compaction removes the others. */
  readonly live: number;
}

export interface AttachmentEntry extends StoredBytes {
  /** The number of revisions with kept bodies that refer to it. */
  readonly references: number;
  /** The number of those revisions that are leaves. */
  readonly leaves: number;
}

const NOTHING = '-';

/** Returns the entry's bytes as attachments with that length (without the encoding) have them; undefined if none can. */
export function bytesOfLength(entry: StoredBytes, length: number): StoredBytes | undefined {
  if (length === entry.length) return entry;
  if (length !== entry.storedLength) return undefined;
  return { ...entry, length, encoding: undefined, plainDigest: undefined, isGzipOfOther: true };
}

export function encodeAttachment(entry: AttachmentEntry): string {
  const { references, leaves, storedLength, length, pageBytes, encoding, plainDigest, pages } = entry;
  const numbers = [references, leaves, storedLength, length, pageBytes].map((number) => number.toString(36));
  const runs = pages.map(({ first, count }) => `${first.toString(36)}+${count.toString(36)}`);
  return [...numbers, encoding ?? NOTHING, plainDigest ?? NOTHING, runs.join(',')].join(' ');
}

export function decodeAttachment(digest: string, text: string): AttachmentEntry {
  const [
    references = '',
    leaves = '',
    storedLength = '',
    length = '',
    pageBytes = '',
    encoding,
    plainDigest,
    runs = '',
  ] = text.split(' ');
  const pages = runs === '' ? [] : runs.split(',').map(decodeRun);
  const entry: AttachmentEntry = {
    digest,
    references: Number.parseInt(references, 36),
    leaves: Number.parseInt(leaves, 36),
    storedLength: Number.parseInt(storedLength, 36),
    length: Number.parseInt(length, 36),
    pageBytes: Number.parseInt(pageBytes, 36),
    encoding: encoding === 'gzip' ? 'gzip' : undefined,
    plainDigest: plainDigest === NOTHING ? undefined : plainDigest,
    pages,
  };
  const sum = pages.reduce((total, { first, count }) => total + first + count, entry.length + entry.storedLength);
  if (Number.isNaN(sum + entry.references + entry.leaves + entry.pageBytes)) {
    throw storageDamage(`The entry of attachment ${digest} can't be read.`);
  }
  return entry;
}

function decodeRun(text: string): PageRun {
  const plus = text.indexOf('+');
  return { first: Number.parseInt(text.slice(0, plus), 36), count: Number.parseInt(text.slice(plus + 1), 36) };
}

/** Returns the runs' page numbers, in their order. */
export function pagesOfRuns(runs: readonly PageRun[]): PageNumber[] {
  return runs.flatMap(({ first, count }) => Array.from({ length: count }, (_unused, index) => first + index));
}

/** Returns page numbers, in their order, as runs. */
export function toRuns(pages: readonly PageNumber[]): PageRun[] {
  const runs: { first: PageNumber; count: number }[] = [];
  for (const page of pages) {
    const last = runs.at(-1);
    if (last !== undefined && last.first + last.count === page) last.count++;
    else runs.push({ first: page, count: 1 });
  }
  return runs;
}

/** Adds the size of an entry, without reading all of it. */
function addSpace(space: { bytes: number; live: number }, value: string): void {
  const [, leaves, stored = ''] = value.split(' ', 3);
  const bytes = Number.parseInt(stored, 36);
  space.bytes += bytes;
  if (leaves !== '0') space.live += bytes;
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

export const attachmentsSpec: TreeSpec<string, AttachmentSpace> = {
  compare,
  encodeKey: (digest) => digest,
  decodeKey: (text) => text,
  reduce(entries: EntryList<string>): AttachmentSpace {
    const space = { bytes: 0, live: 0 };
    for (let index = 0; index < entries.length; index++) addSpace(space, entries.value(index));
    return space;
  },
  rereduce(reductions) {
    const sum = { bytes: 0, live: 0 };
    for (const { bytes, live } of reductions) {
      sum.bytes += bytes;
      sum.live += live;
    }
    return sum;
  },
  encodeReduction: ({ bytes, live }) => `${bytes},${live}`,
  decodeReduction(text) {
    const comma = text.indexOf(',');
    return { bytes: Number(text.slice(0, comma)), live: Number(text.slice(comma + 1)) };
  },
};

const REFERENCE = /\.([0-9a-f]{32})/g;

/** Yields the digests to which a document's revisions refer, from its by-id entry: only there 32 such digits follow a point. */
export function* digestsIn(entry: string): Generator<string, void, void> {
  for (const [, digest = ''] of entry.matchAll(REFERENCE)) yield digest;
}
