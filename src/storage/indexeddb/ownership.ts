import { must } from '../../base/shared/assert.ts';
import type { JournalRecord } from '../page-store.ts';
import { storageCorrupt, storageFailed, storageFenced } from '../storage-errors.ts';
import { claimFile, type FileClaim, holdFile, mergeJournal, readUnclaimed, type WritableHead } from './file-claim.ts';
import { nameOf } from './indexeddb-errors.ts';
import type { FormerSegments, JournalFiles, LoadJournalFiles } from './journal-files.ts';
import type { FileDatabase } from './schema.ts';

export interface Ownership extends FileClaim {
  /**
   * If there was no room for a claim: tries again, and fails with `storage_fenced` if someone has changed the file meanwhile. Until it
   * succeeds, the file is read-only, and former owners are not fenced.
   */
  readonly claim?: () => Promise<Ownership>;
  /** The journal segments that former owners wrote, if there are any. */
  readonly former?: FormerSegments;
}

interface OwnershipRequest {
  readonly file: string;
  readonly database: FileDatabase;
  readonly journalFiles?: LoadJournalFiles | undefined;
}

const FOLDER_GONE = 'its folder in settee-journals is gone, and with it the last writes';

/** Takes over the file from its former owner: from then on the commits of former owners fail, unless there is no room for a claim. */
export async function takeOwnership(request: OwnershipRequest): Promise<Ownership> {
  try {
    return await claimOwnership(request);
  } catch (error) {
    if (nameOf(error) !== 'QuotaExceededError') throw error;
    return readWithoutClaim(request);
  }
}

async function claimOwnership(request: OwnershipRequest): Promise<Ownership> {
  const claim = await claimFile(request.file, request.database);
  if (typeof claim !== 'string') return claim;
  const files = await request.journalFiles?.();
  if (files === undefined)
    throw storageFailed(request.file, 'opening it', "it has journal files, which this browser can't read");
  return recoverSegments(request, files, claim);
}

/** Returns the file as a claim would find it. Raises no epoch, and seals no segment. */
async function readWithoutClaim(request: OwnershipRequest): Promise<Ownership> {
  const { file, database, journalFiles } = request;
  let found = await readUnclaimed(file, database);
  if (typeof found === 'string') {
    const files = must(await journalFiles?.(), 'the claim that failed would have failed without them');
    const segments = await files.read(database.name, found);
    const read: Parameters<typeof readUnclaimed>[2]['read'] = (numbers, values, floor) =>
      mergeJournal({ floor, numbers, values, found: segments });
    found = await readUnclaimed(file, database, { hasSegments: true, read });
  }
  const { opening } = found;
  const claim = async (): Promise<Ownership> => {
    const claimed = await claimOwnership(request);
    const { epoch, nextJournal, head } = claimed.opening;
    if (epoch === opening.epoch && nextJournal === opening.nextJournal && head === opening.head) return claimed;
    throw storageFenced(file);
  };
  return { ...found, claim };
}

/**
 * Takes over a file whose journal is in segments as well. It raises the epoch first: from then on former owners begin no more segments, so
 * that it finds and seals every segment there will ever be. Only then does it read the journal.
 */
async function recoverSegments(
  { file, database }: OwnershipRequest,
  files: JournalFiles,
  token: string,
): Promise<Ownership> {
  const epoch = await raiseEpoch(file, database);
  const sealed = await files.seal(database.name, token, () => mustBeEpoch(file, database, epoch));
  let unsaved: readonly JournalRecord[] = [];
  const claim = await claimFile(file, database, {
    epoch,
    read: (numbers, values, floor) => {
      const merged = mergeJournal({ floor, numbers, values, found: sealed.records });
      unsaved = merged.unsaved;
      return merged;
    },
  });
  const opening = sealed.isFolderGone ? { ...claim.opening, loss: FOLDER_GONE } : claim.opening;
  return { ...claim, opening, former: { files, token, names: sealed.names, unsaved } };
}

async function raiseEpoch(file: string, database: FileDatabase): Promise<number> {
  const { done, store } = database.transaction('head', 'readwrite', { durability: 'relaxed' });
  const [epoch] = await Promise.all([raiseIn(file, store), done]);
  return epoch;
}

async function raiseIn(file: string, head: WritableHead): Promise<number> {
  const last = await head.get('epoch');
  if (typeof last !== 'number') throw storageCorrupt(file, 'its epoch is missing');
  const epoch = last + 1;
  await Promise.all(holdFile(head, epoch));
  return epoch;
}

/** Checks the epoch: a worker that froze after raising it must not seal segments that now belong to a later owner. */
async function mustBeEpoch(file: string, database: FileDatabase, epoch: number): Promise<void> {
  const { done, store } = database.transaction('head');
  const [current] = await Promise.all([store.get('epoch'), done]);
  if (current !== epoch) throw storageFenced(file);
}
