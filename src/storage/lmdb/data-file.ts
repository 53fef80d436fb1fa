import { open } from 'node:fs/promises';
import { runCooperatively } from '../../base/shared/turn.ts';
import { storageCorrupt } from '../storage-errors.ts';
import { type DataFile, findStructuralDamage } from './data-structure.ts';

/**
 * Checks a data file before LMDB maps it. LMDB trusts what it maps: a file that is cut off or not an LMDB file
 * ends the process with a signal instead of an error. What is checked here is a meta page as lmdb-js 3.5 lays it out
 * (`MDB_meta` in its mdb.c, data version 2): a header of 24 bytes, then the fields below, in the machine's byte order.
 */
const OFFSET = {
  flags: 18,
  magic: 24,
  version: 28,
  pageSize: 48,
  freeTree: 48,
  freeRoot: 88,
  mainTree: 96,
  mainRoot: 136,
  lastPage: 144,
  transaction: 152,
  end: 160,
};
const META_PAGE = 8;
const DATA_VERSION = 2;
const MAGIC = 0xbeefc0de;
const NO_PAGE = 2n ** 64n - 1n;
const MAX_PAGE_SIZE = 65_536;
/** LMDB doesn't write last pages that it allocated and freed within one commit, so a sound file may be shorter. */
const UNWRITTEN_PAGES = 2048;

interface MetaPage {
  readonly pageSize: number;
  readonly lastPage: number;
  readonly roots: readonly number[];
  readonly transaction: bigint;
  readonly trees: DataFile['trees'];
}

/**
 * Fails with `storage_corrupt` if opening `path` as an LMDB file would crash. Its content is checked elsewhere; `isFull` checks
 * the structure of the whole file, which takes as long as reading the file.
 */
export async function checkDataFile(file: string, path: string, isFull = false): Promise<void> {
  const { size, start } = await readStart(path);
  const newest = newestMeta(start);
  if (newest === undefined)
    throw storageCorrupt(file, `${path} is not an LMDB data file, or its first pages are damaged`);
  const { pageSize, lastPage, roots, transaction, trees } = newest;
  const pages = Math.floor(size / pageSize);
  if (roots.some((root) => root >= pages) || pages + UNWRITTEN_PAGES < lastPage + 1) {
    throw storageCorrupt(file, `${path} is cut off after ${size} bytes`);
  }
  const data = { path, pageSize, lastPage, transaction: Number(transaction), trees };
  const damage = await runCooperatively(findStructuralDamage(data, isFull ? 'all' : { tree: 'state' }));
  if (damage !== undefined) throw storageCorrupt(file, `in ${path}, ${damage}`);
}

async function readStart(path: string): Promise<{ readonly size: number; readonly start: DataView }> {
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    const { buffer, bytesRead } = await handle.read(new Uint8Array(MAX_PAGE_SIZE + OFFSET.end), { position: 0 });
    return { size, start: new DataView(buffer.buffer, 0, bytesRead) };
  } finally {
    await handle.close();
  }
}

/**
 * A file begins with two meta pages, which transactions write alternately; the one with the higher transaction id is valid. Both must be sound, and of
 * consecutive transactions, even ones in the first page: LMDB has no checksums, and would silently return to a former state.
 */
function newestMeta(start: DataView): MetaPage | undefined {
  const first = readMeta(start, 0);
  const second = first === undefined ? undefined : readMeta(start, first.pageSize);
  if (first === undefined || second === undefined) return undefined;
  const distance = second.transaction - first.transaction;
  if (first.transaction % 2n !== 0n || (distance !== 1n && distance !== -1n)) return undefined;
  return second.transaction > first.transaction ? second : first;
}

function readMeta(start: DataView, offset: number): MetaPage | undefined {
  if (start.byteLength < offset + OFFSET.end) return undefined;
  if (start.getUint32(offset + OFFSET.magic, true) !== MAGIC) return undefined;
  if (start.getUint32(offset + OFFSET.version, true) !== DATA_VERSION) return undefined;
  if (start.getUint16(offset + OFFSET.flags, true) !== META_PAGE) return undefined;
  const pageSize = start.getUint32(offset + OFFSET.pageSize, true);
  if (pageSize < 256 || pageSize > MAX_PAGE_SIZE) return undefined;
  const roots = [OFFSET.freeRoot, OFFSET.mainRoot].map((field) => start.getBigUint64(offset + field, true));
  return {
    pageSize,
    lastPage: Number(start.getBigUint64(offset + OFFSET.lastPage, true)),
    roots: roots.filter((root) => root !== NO_PAGE).map(Number),
    transaction: start.getBigUint64(offset + OFFSET.transaction, true),
    trees: {
      free: bytesOf(start, offset + OFFSET.freeTree, offset + OFFSET.freeRoot + 8),
      main: bytesOf(start, offset + OFFSET.mainTree, offset + OFFSET.mainRoot + 8),
    },
  };
}

function bytesOf({ buffer, byteOffset }: DataView, from: number, end: number): Buffer {
  return Buffer.from(buffer, byteOffset + from, end - from);
}
