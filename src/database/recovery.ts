import { assert } from '../shared/assert.ts';
import type { PageFile, PageNumber } from '../storage/page-store.ts';
import type { Head } from './head.ts';
import { decodeJournalEntry, type JournalEntry } from './journal.ts';
import { nextState } from './next-state.ts';
import { DEFAULT_REVS_LIMIT, REVS_LIMIT_KEY, settingText } from './stored-database.ts';
import { Workspace } from './workspace.ts';
import type { DatabaseCore } from './writer.ts';

/** Revisions that are replayed in one update of the trees. */
const REPLAY_GROUP = 2_000;

/**
 * Works the journal's records into the state, in groups. Bodies that travelled in the records go to pages of this
 * owner, bodies that had pages of their own stay where they are.
 */
export async function replayJournal(core: DatabaseCore, head: Head): Promise<void> {
  const records = core.file.opening.journal.filter((record) => record.number >= head.journalFrom);
  const entries = records.map(decodeJournalEntry);
  // Before the first body gets a new page.
  for (const { pages } of entries) for (const page of pages) core.allocator.skip(page);
  for (const { text } of records) core.journalBytes += text.length;
  core.journalRecords += records.length;
  let group: JournalEntry[] = [];
  let weight = 0;
  for (const entry of entries) {
    group.push(entry);
    weight += entry.revisions.length + 1;
    if (weight < REPLAY_GROUP) continue;
    await replayGroup(core, group);
    group = [];
    weight = 0;
  }
  if (group.length > 0) await replayGroup(core, group);
}

async function replayGroup(core: DatabaseCore, group: readonly JournalEntry[]): Promise<void> {
  const workspace = new Workspace(core.state, core.revsLimit, core.bodies.arena);
  const ids = group.flatMap((entry) => [...entry.revisions, ...entry.purges].map((change) => change.id));
  const localKeys = group.flatMap((entry) => entry.locals.map((change) => change.key));
  await workspace.load(core.state, ids, localKeys);
  for (const entry of group) replayEntry(workspace, entry);
  const { pages } = workspace.place(core.bodies, Number.POSITIVE_INFINITY);
  assert(pages.length === 0, 'a body that needs pages of its own travelled in the journal');
  const next = await nextState(core.state, workspace);
  core.revsLimit = workspace.revsLimit;
  core.state = next.state;
  core.replaced.push(...next.replaced);
}

function replayEntry(workspace: Workspace, entry: JournalEntry): void {
  for (const { id, seq, start, ids, deleted, body } of entry.revisions) {
    const placed = typeof body === 'string' ? workspace.encode(body) : body;
    workspace.addRevision(workspace.document(id), { start, ids }, deleted, placed, seq);
  }
  for (const { key, value } of entry.locals) {
    workspace.setLocal(key, value);
    // A changed limit holds from the next commit on, as it did in the first run.
    if (key === REVS_LIMIT_KEY) workspace.revsLimit = Number(settingText(value) ?? DEFAULT_REVS_LIMIT);
  }
  for (const { id, seq, purgeSeq, revs } of entry.purges) {
    workspace.purgeSeq = purgeSeq;
    workspace.purge(workspace.document(id), revs, seq);
  }
  workspace.updateSeq = Math.max(workspace.updateSeq, entry.updateSeq);
}

/**
 * Drops pages that an interrupted owner left behind: those that the head lists as garbage or as not stored yet, and
 * those above its mark that no journal record names. Gives how many of the latter there were.
 */
export async function dropLeakedPages(file: PageFile, head: Head): Promise<number> {
  const garbage: PageNumber[] = head.unstored.map((distance) => head.pageMark - distance);
  for (const list of head.garbage) {
    const text = await file.read(list, 'text');
    if (text !== undefined) garbage.push(...(JSON.parse(text) as PageNumber[]), list);
  }
  await dropPages(file, garbage);
  const named = new Set<PageNumber>();
  for (const record of file.opening.journal) {
    if (record.number < head.journalFrom) continue;
    for (const page of decodeJournalEntry(record).pages) named.add(page);
  }
  const leaked: PageNumber[] = [];
  for await (const numbers of file.pageNumbers(head.pageMark)) {
    for (const page of numbers) if (!named.has(page)) leaked.push(page);
  }
  await dropPages(file, leaked);
  return leaked.length;
}

const DROP_SLICE = 1_000;

async function dropPages(file: PageFile, pages: readonly PageNumber[]): Promise<void> {
  for (let from = 0; from < pages.length; from += DROP_SLICE) {
    await file.commit({ durability: 'relaxed', dropPages: pages.slice(from, from + DROP_SLICE) });
  }
}
