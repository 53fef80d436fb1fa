import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import { randomHex } from '../../base/shared/bytes.ts';
import type { RandomBytes } from '../../base/shared/clock.ts';
import { atOnce } from '../../base/shared/turn.ts';
import type { Log } from '../../base/system/contract.ts';
import type { JournalRecord } from '../../storage/page-store.ts';
import { PAGE_OVERHEAD } from '../../storage/paging/checksums.ts';
import { type DatabaseOptions, defaultSettings } from './settings.ts';
import type { DatabaseState } from './state/database-state.ts';
import { DISK_FORMAT_VERSION, decodeHead, encodeHead, type Head } from './state/head.ts';
import { decodeLineage, encodeLineage, LINEAGE_KEY } from './state/locals.ts';
import { type OpenedFile, openFile } from './state/opened-file.ts';
import { CEILING_STEP, holdsNothing } from './state/stored-head.ts';
import { StoredDatabase } from './stored-database.ts';
import { decodeJournalEntry } from './writing/journal.ts';
import { readJournalTail, replayJournal } from './writing/recovery.ts';

interface OpenOptions extends DatabaseOptions {
  readonly random: RandomBytes;
  /**
   * If given, a journal record whose checksum is wrong is dropped with those after it, instead of ending the opening with
   * `storage_corrupt`; it receives the file, the record's number, and those after it.
   */
  readonly onDamagedRecord?: ((file: string, number: number, behind: readonly JournalRecord[]) => void) | undefined;
}

/**
 * Opens the database in a page file, or begins one in a file that has no head yet: replays the journal and, if the file
 * was not closed in order, continues numbering above every sequence number that may have been seen. The remaining work,
 * storing what was replayed and dropping the pages that an interrupted owner left, comes after the first
 * responses.
 */
export async function openDatabase(options: OpenOptions): Promise<StoredDatabase> {
  const { file, supports } = options;
  const { crc32 } = supports;
  if (file.opening.head === undefined) {
    // A file with content was not just begun: its head is lost, and to begin it again would lose the rest.
    if (file.opening.epoch > 1 && !(await holdsNothing(file, crc32))) {
      throw new DatabaseError(
        'storage_corrupt',
        `The head of ${file.name} is missing. Restore the file from a backup.`,
      );
    }
    const head = newHead(options);
    await file.commit({ durability: 'strict', head: encodeHead(head, crc32) });
    const database = new StoredDatabase(options, openFileOf(options, head));
    database.endOpening([]);
    return database;
  }
  const stored = decodeHead(file.opening.head, file.name, crc32);
  const head = stored.clean ? stored : { ...stored, instanceStartTime: laterTime(options, stored.instanceStartTime) };
  const opened = openFileOf(options, head);
  const { state, settings } = opened;
  if (file.opening.loss !== undefined) options.log.error(`${options.name}: ${file.opening.loss}`);
  // Replaying needs the settings as they were before the journal.
  await settings.load(state.current);
  const { onDamagedRecord } = options;
  const remains = await readJournalTail(
    opened,
    crc32,
    onDamagedRecord && ((number, behind) => onDamagedRecord(file.name, number, behind)),
  );
  await replayJournal(opened, remains);
  const leaked = remains.leaked.length;
  if (leaked > 0) options.log.info(`${options.name}: dropping ${leaked} pages that an interrupted write left behind`);
  await settings.load(state.current);
  const database = new StoredDatabase(options, opened);
  if (!stored.clean) await continueLineage(database, opened, options.log);
  database.endOpening([...remains.free, ...remains.leaked]);
  return database;
}

function openFileOf({ file, settings, cache, supports }: OpenOptions, head: Head): OpenedFile {
  const budget = cache ?? settings?.cacheBytes ?? defaultSettings.cacheBytes;
  return openFile({ file, head, cache: budget, supports });
}

function newHead({ clock, random, supports }: OpenOptions): Head {
  return {
    format: DISK_FORMAT_VERSION,
    uuid: randomHex(random, 16),
    updateSeq: 0,
    purgeSeq: 0,
    seqCeiling: CEILING_STEP,
    docCount: 0,
    docDelCount: 0,
    roots: { byId: null, bySeq: null, locals: null, space: null, attachments: null },
    checkedFrom: 0,
    journalFrom: 0,
    pageMark: 0,
    unstored: [],
    bodyPageBytes: supports.bodyPageBytes,
    maxPageBytes: supports.maxPageBytes - PAGE_OVERHEAD,
    garbage: [],
    // So that the first write need not record it.
    clean: false,
    instanceStartTime: String(clock.now() * 1000),
  };
}

/** Returns the time in microseconds, or just after `former` if the clock was set back. */
function laterTime({ clock }: OpenOptions, former: string): string {
  return String(Math.max(Math.round(clock.now() * 1000), Number(former) + 1));
}

/** Continues numbering above what may have been seen, and notes the end of the former stretch: in memory at once, in the file soon after. */
async function continueLineage(database: StoredDatabase, { file, head, state }: OpenedFile, log: Log): Promise<void> {
  const formerEnd = state.current.updateSeq;
  const firstSeq = Math.max(formerEnd, head.current.seqCeiling) + 1;
  state.skipTo(firstSeq - 1);
  const lineage = decodeLineage(await state.current.locals.get(LINEAGE_KEY));
  lineage.push({ epoch: file.opening.epoch, firstSeq, formerEnd });
  const value = encodeLineage(lineage);
  await noteInMemory(state, value);
  // There is no need to wait: until it is in the file, each record includes it. The database reports other failures itself.
  database.setLineage(value).catch((error: unknown) => {
    if (!isDatabaseError(error, 'storage_full')) return;
    log.error(
      `${database.name}: storage is full, so the file does not say yet that the database was not closed cleanly`,
      error,
    );
  });
}

/** Notes the lineage in memory, so that indexes that have seen what was lost notice it from now on. */
async function noteInMemory(state: DatabaseState, lineage: string): Promise<void> {
  const { current } = state;
  const { tree, replaced } = await current.locals.update([{ key: LINEAGE_KEY, value: lineage }]);
  state.publishUnnoted({ state: { ...current, version: current.version + 1, locals: tree }, replaced }, lineage);
}

/** Ids that a report names for one record; large bulks have thousands. */
const MAX_IDS = 20;

/** Returns a sentence, for a person who repairs a database, on what is lost if the journal ends before the damaged record `number`. */
export function describeLoss(number: number, place: string, behind: readonly JournalRecord[]): string {
  const damaged = `record ${number} (${place}), which is damaged`;
  if (behind.length === 0) return `dropped from its journal: ${damaged}.`;
  return `dropped from its journal: ${damaged}, and ${behind.length} after it, which need it: ${behind.map(describeRecord).join('; ')}.`;
}

/** Describes a record. `text`: without a checksum, or preceded by one of eight digits. */
function describeRecord({ number, text }: JournalRecord): string {
  return `record ${number} with ${describeChanges({ number, text: text.slice(text.indexOf('{')) })}`;
}

function describeChanges(record: JournalRecord): string {
  try {
    const { revisions, locals, purges } = atOnce(decodeJournalEntry(record));
    const ids = [...revisions.map(({ id }) => id), ...locals.map(({ key }) => key), ...purges.map(({ id }) => id)];
    const more = ids.length > MAX_IDS ? ` and ${ids.length - MAX_IDS} more` : '';
    return ids.length === 0 ? 'no document' : ids.slice(0, MAX_IDS).join(', ') + more;
  } catch {
    return 'unreadable content';
  }
}
