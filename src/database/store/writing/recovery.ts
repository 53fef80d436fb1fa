import { assert } from '../../../base/shared/assert.ts';
import type { Crc32 } from '../../../base/shared/crc32.ts';
import { type CooperativeTask, runCooperatively } from '../../../base/shared/turn.ts';
import type { JournalRecord, PageFile, PageNumber } from '../../../storage/page-store.ts';
import { checkRecord } from '../../../storage/paging/checksums.ts';
import { decodeFreeList } from '../../../storage/paging/free-list.ts';
import { damagedRecordError } from '../../../storage/paging/page-errors.ts';
import type { DocId } from '../../documents/contract.ts';
import { pagesOfRuns } from '../state/attachments-tree.ts';
import type { Head } from '../state/head.ts';
import { DEFAULT_REVS_LIMIT, REVS_LIMIT_KEY, settingText } from '../state/locals.ts';
import type { OpenedFile } from '../state/opened-file.ts';
import { decodeJournalEntry, type JournalEntry } from './journal.ts';
import { nextState } from './next-state.ts';
import { WriteBatch } from './write-batch.ts';

/**
 * Revisions that are replayed in one update of the trees. More than a journal usually holds: what is replayed together
 * reads and rewrites each leaf only once.
 */
const REPLAY_GROUP = 50_000;
/** Revisions between two checks of the clock. */
const REVISIONS_PER_STEP = 256;

/** Journal records, checked and decoded. */
interface JournalTail {
  /** What the journal holds that the trees don't. */
  readonly entries: readonly JournalEntry[];
  readonly journalBytes: number;
}

/** What the last owner left, besides the trees that its head leads to. */
interface Remains extends JournalTail {
  /** Pages to be dropped: those that the head lists as free or as not stored yet, … */
  readonly free: readonly PageNumber[];
  /** … and those of an interrupted write: above the head's mark, and named by no journal record. */
  readonly leaked: readonly PageNumber[];
}

/** Decides whether to continue without a damaged record and those after it; throws if not. */
export type OnDamagedRecord = (number: number, behind: readonly JournalRecord[]) => void;

/** Reads the journal after the head. `onDamage`: by default the opening fails with `storage_corrupt`. */
export async function readJournalTail(
  { file, head: { current: head } }: OpenedFile,
  crc32: Crc32,
  onDamage: OnDamagedRecord = (number) => {
    throw damagedRecordError(file.name, number);
  },
): Promise<Remains> {
  const stored = file.opening.journal.filter((record) => record.number >= head.journalFrom);
  const { entries, journalBytes } = await decodeRecords(stored, crc32, onDamage);
  const named = new Set(entries.flatMap((entry) => entry.pages));
  // If the head lists an upload as free, a later commit may have adopted it.
  const free = (await readFreePages(file, head)).filter((page) => !named.has(page));
  const leaked: PageNumber[] = [];
  for await (const numbers of file.pageNumbers(head.pageMark)) {
    for (const page of numbers) if (!named.has(page)) leaked.push(page);
  }
  return { entries, journalBytes, free, leaked };
}

/** Checks and decodes records as they are stored. `onDamage` may throw; if it returns, the damaged one is left out with those after it. */
export async function decodeRecords(
  stored: readonly JournalRecord[],
  crc32: Crc32,
  onDamage: OnDamagedRecord,
): Promise<JournalTail> {
  const records = await runCooperatively(checkedRecords(stored, crc32, onDamage));
  const entries = await runCooperatively(decodeEntries(records));
  return { entries, journalBytes: records.reduce((sum, { text }) => sum + text.length, 0) };
}

function* decodeEntries(records: readonly JournalRecord[]): CooperativeTask<JournalEntry[]> {
  const entries: JournalEntry[] = [];
  for (const record of records) {
    entries.push(yield* decodeJournalEntry(record));
    yield;
  }
  return entries;
}

/** Returns the records without their checksums, up to the first whose checksum is wrong. */
function* checkedRecords(
  stored: readonly JournalRecord[],
  crc32: Crc32,
  onDamage: OnDamagedRecord,
): CooperativeTask<readonly JournalRecord[]> {
  const records: JournalRecord[] = [];
  for (const [index, { number, text: storedText }] of stored.entries()) {
    const text = yield* checkRecord(crc32, number, storedText);
    if (text === undefined) {
      onDamage(number, stored.slice(index + 1));
      break;
    }
    records.push({ number, text });
    yield;
  }
  return records;
}

/** Returns the free pages. The list pages themselves come first, and are dropped last (`FreeList`): until then they name what is left to drop. */
async function readFreePages(file: PageFile, head: Head): Promise<PageNumber[]> {
  const free: PageNumber[] = [...head.garbage, ...head.unstored.map((distance) => head.pageMark - distance)];
  for (const list of head.garbage) {
    const text = await file.read(list, 'text');
    if (text !== undefined) free.push(...decodeFreeList(text));
  }
  return free;
}

/**
 * Applies the journal's records to the state, in groups. Bodies that the records contain go to pages of this
 * owner, bodies that had pages of their own stay where they are.
 */
export async function replayJournal(opened: OpenedFile, remains: JournalTail & Partial<Remains>): Promise<void> {
  const { entries, journalBytes, leaked = [] } = remains;
  // Before the first body gets a new page.
  for (const { pages } of entries) for (const page of pages) opened.allocator.skip(page);
  for (const page of leaked) opened.allocator.skip(page);
  opened.state.noteReplay(entries.length, journalBytes);
  let group: JournalEntry[] = [];
  let weight = 0;
  for (const entry of entries) {
    group.push(entry);
    weight += entry.revisions.length + 1;
    if (weight < REPLAY_GROUP) continue;
    await replayGroup(opened, group);
    group = [];
    weight = 0;
  }
  if (group.length > 0) await replayGroup(opened, group);
}

async function replayGroup({ state, settings, detached }: OpenedFile, group: readonly JournalEntry[]): Promise<void> {
  const batch = new WriteBatch(state.current, settings.revsLimit, state.bodies.arena);
  const { ids, absent, digests } = await runCooperatively(namedIn(group));
  const localKeys = group.flatMap((entry) => entry.locals.map((change) => change.key));
  await runCooperatively(batch.load(state.current, [...ids], localKeys, absent, digests));
  for (const entry of group) state.free(await runCooperatively(replayEntry(batch, entry)));
  const { pages } = await runCooperatively(batch.place(state.bodies, Number.POSITIVE_INFINITY));
  assert(pages.length === 0, 'a body with pages of its own is in the journal');
  // Opening waits for what reads of single documents need; the rest is made before the first write or walk.
  const next = await runCooperatively(nextState(state.current, batch, true));
  settings.revsLimit = batch.revsLimit;
  state.publish(
    next,
    batch.attachments.freed().flatMap((pages) => detached.remove(pages)),
  );
  state.free(batch.attachments.orphanedPages);
}

/** Returns the documents and attachments that a group changes. `absent`: documents that did not exist before the group. */
function* namedIn(group: readonly JournalEntry[]): CooperativeTask<Named> {
  const ids = new Set<DocId>();
  const absent = new Set<DocId>();
  const digests: string[] = [];
  let looked = 0;
  for (const { revisions, purges, attachments } of group) {
    for (const { digest } of attachments) digests.push(digest);
    for (const { id, isFirst, attachments: attached = [] } of revisions) {
      for (const digest of attached) digests.push(digest);
      // A document whose first revision is in the group was also absent from the state before it.
      if (isFirst && !ids.has(id)) absent.add(id);
      ids.add(id);
      looked += 1;
      if (looked % REVISIONS_PER_STEP === 0) yield;
    }
    for (const { id } of purges) ids.add(id);
  }
  return { ids, absent, digests };
}

interface Named {
  readonly ids: ReadonlySet<DocId>;
  readonly absent: ReadonlySet<DocId>;
  readonly digests: readonly string[];
}

/**
 * Returns pages that nothing refers to: of attachments that were stored again after a repacking, which is not in the journal, had removed the
 * bytes that the trees still have.
 */
function* replayEntry(batch: WriteBatch, entry: JournalEntry): CooperativeTask<PageNumber[]> {
  const spare: PageNumber[] = [];
  for (const stored of entry.attachments) {
    const pages = pagesOfRuns(stored.pages);
    if (!batch.attachments.adopt({ stored, pages })) spare.push(...pages);
  }
  let replayed = 0;
  for (const { id, seq, start, ids, deleted, body, attachments } of entry.revisions) {
    const placed = typeof body === 'string' ? batch.encode(body) : body;
    batch.addRevision(batch.document(id), { start, ids }, deleted, placed, seq, attachments);
    replayed += 1;
    if (replayed % REVISIONS_PER_STEP === 0) yield;
  }
  for (const { key, value } of entry.locals) {
    batch.setLocal(key, value);
    // A changed limit applies from the next commit on, as it did in the first run.
    if (key === REVS_LIMIT_KEY) batch.revsLimit = Number(settingText(value) ?? DEFAULT_REVS_LIMIT);
  }
  for (const { id, seq, purgeSeq, revs } of entry.purges) {
    batch.purgeSeq = purgeSeq;
    yield* batch.purge(batch.document(id), revs, seq);
  }
  batch.updateSeq = Math.max(batch.updateSeq, entry.updateSeq);
  return spare;
}
