import { isDatabaseError } from '../../../base/errors/database-error.ts';
import { type MaybePromise, whenReady } from '../../../base/shared/maybe-promise.ts';
import { eachInSteps, runCooperatively, TimeSlice } from '../../../base/shared/turn.ts';
import type { TreeChange } from '../../../storage/btree/contract.ts';
import type { SnapshotRegister } from '../../../storage/paging/snapshot-register.ts';
import type { DocId } from '../../documents/contract.ts';
import { mapBodies, stem } from '../../documents/revisions/revision-tree.ts';
import { EMPTY_LOCATION, encodeLocation } from '../bodies/body-location.ts';
import type { StoredNode } from '../contract.ts';
import { digestsIn } from '../state/attachments-tree.ts';
import { decodeInTurns, encodeEntry, encodeEntryInSteps, MANY_LEAVES } from '../state/entry.ts';
import type { OpenedFile } from '../state/opened-file.ts';
import type { State } from '../state/state.ts';
import { TreeUpdates } from '../state/tree-updates.ts';
import { AttachmentChanges } from '../writing/attachment-changes.ts';

interface Look {
  readonly found: readonly DocId[];
  /** The last document that was examined; undefined if there are no more. */
  readonly last: DocId | undefined;
}

/** Entries that are examined while one state is held. */
const ENTRIES_PER_TICKET = 4_096;
/** Documents that are trimmed in one turn of the write queue. */
const DOCUMENTS_PER_STEP = 128;

/**
 * Removes from the documents' entries what a compaction discards without emptying a page: bodies `{}` of replaced revisions, which are in
 * no page, and ancestors beyond the revisions limit, which may have been lowered since the last edit of a document.
 *
 * Not journalled: after a crash the entries are as they were. A later journal record replays the same with both: it names the revisions
 * that it adds, and those that a trimmed entry lacks are not leaves of the former entry.
 */
export class Trimmer {
  readonly #opened: OpenedFile;
  readonly #snapshots: SnapshotRegister;

  constructor(opened: OpenedFile, snapshots: SnapshotRegister) {
    this.#opened = opened;
    this.#snapshots = snapshots;
  }

  /**
   * Yields the documents to trim, in groups of a size for `trim`; a group may be empty, so that the search can be ended. Documents that are
   * added during the search may be left out. Entries that can't be read end it: a verification reports them.
   */
  async *documents(): AsyncGenerator<readonly DocId[], void, void> {
    let after: DocId | undefined;
    do {
      const { found, last } = await this.#look(after).catch(endOfReadable);
      for (let start = 0; start < found.length; start += DOCUMENTS_PER_STEP) {
        yield found.slice(start, start + DOCUMENTS_PER_STEP);
      }
      yield [];
      after = last;
    } while (after !== undefined);
  }

  /** Examines some entries after the given one. */
  async #look(after: DocId | undefined): Promise<Look> {
    const { current } = this.#opened.state;
    const range = after === undefined ? {} : { start: after, startInclusive: false };
    const limit = this.#opened.settings.revsLimit;
    const found: DocId[] = [];
    const timeSlice = new TimeSlice();
    let seen = 0;
    const ticket = this.#snapshots.take(current.version);
    try {
      for await (const entries of current.byId.entries(range)) {
        for (const { key, value } of entries) {
          const id = key as DocId;
          const trimmed = trimmedLeaves(id, value, limit);
          if ((trimmed instanceof Promise ? await trimmed : trimmed) !== undefined) found.push(id);
          if (timeSlice.isDue) await timeSlice.rest();
        }
        seen += entries.length;
        if (seen >= ENTRIES_PER_TICKET) return { found, last: entries.at(-1)?.key as DocId | undefined };
      }
    } finally {
      ticket.release();
    }
    return { found, last: undefined };
  }

  /** Trims the current state of the documents. In a turn of the write queue. `ids` are in the order of the tree. */
  async trim(ids: readonly DocId[]): Promise<void> {
    const { state, detached, settings } = this.#opened;
    const { current } = state;
    const values = await current.byId.getMany(ids);
    const attachments = await loadAttachments(current, values);
    const changes: TreeChange<DocId>[] = [];
    const timeSlice = new TimeSlice();
    for (const [index, id] of ids.entries()) {
      if (timeSlice.isDue) await timeSlice.rest();
      const value = values[index];
      const next = value === undefined ? undefined : await trimmedLeaves(id, value, settings.revsLimit);
      if (value === undefined || next === undefined) continue;
      const { seq, leaves } = await decodeInTurns(id, value);
      await runCooperatively(attachments.count(leaves, -1));
      await runCooperatively(attachments.count(next, 1));
      const text =
        next.length < MANY_LEAVES ? encodeEntry(seq, next) : await runCooperatively(encodeEntryInSteps(seq, next));
      changes.push({ key: id, value: text });
    }
    if (changes.length === 0) return;
    const updates = new TreeUpdates();
    const byId = await updates.apply(current.byId, changes);
    const attached = await updates.apply(current.attachments, await runCooperatively(attachments.changes()));
    const freed = attachments.freed().flatMap((gone) => detached.remove(gone));
    const next = { ...current, version: current.version + 1, byId, attachments: attached };
    state.publish({ state: next, replaced: updates.replaced }, freed);
  }
}

function endOfReadable(error: unknown): Look {
  if (isDatabaseError(error, 'storage_corrupt')) return { found: [], last: undefined };
  throw error;
}

async function loadAttachments(current: State, values: readonly (string | undefined)[]): Promise<AttachmentChanges> {
  const attachments = new AttachmentChanges();
  if (current.attachments.count === 0) return attachments;
  const digests = new Set<string>();
  for (const value of values)
    await runCooperatively(eachInSteps(digestsIn(value ?? ''), (digest) => digests.add(digest)));
  await attachments.load(current.attachments, digests);
  return attachments;
}

type Leaves = readonly StoredNode[];

const EMPTY_BODY_TEXT = `=${encodeLocation(EMPTY_LOCATION)},`;

/**
 * Returns the entry's leaves without empty bodies of replaced revisions, and without ancestors beyond the limit; undefined if it has neither.
 */
function trimmedLeaves(id: DocId, value: string, limit: number): MaybePromise<Leaves | undefined> {
  const mayHaveEmpty = mayHaveEmptyAncestor(value);
  if (!mayHaveEmpty && !mayBeLong(value, limit)) return undefined;
  return whenReady(decodeInTurns(id, value), ({ leaves }) => trimmed(leaves, limit, mayHaveEmpty));
}

function trimmed(leaves: Leaves, limit: number, mayHaveEmpty: boolean): Leaves | undefined {
  const stemmed = stem(leaves, limit);
  const next = mayHaveEmpty ? withoutEmptyAncestors(stemmed) : stemmed;
  return next === leaves ? undefined : next;
}

function withoutEmptyAncestors(leaves: Leaves): Leaves {
  const kept = new Set(leaves);
  return mapBodies(leaves, (node) =>
    node.body?.page !== EMPTY_LOCATION.page || kept.has(node) ? node.body : undefined,
  );
}

/** Decides from the text, since most documents have none: usually only a leaf, whose body comes first, has an empty body. */
function mayHaveEmptyAncestor(value: string): boolean {
  const first = value.indexOf(EMPTY_BODY_TEXT);
  if (first < 0) return false;
  return first !== value.indexOf('=') || value.includes(EMPTY_BODY_TEXT, first + 1);
}

/** Whether a leaf's generation, which bounds its ancestors, is above the limit. With several leaves, true without a check. */
function mayBeLong(value: string, limit: number): boolean {
  const generation = Number.parseInt(value.slice(value.indexOf(' ') + 1, value.indexOf('-')), 10);
  return Number.isNaN(generation) || generation > limit;
}
