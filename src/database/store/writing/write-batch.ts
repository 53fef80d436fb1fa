import { compareCodePoints } from '../../../base/collation/code-points.ts';
import { must } from '../../../base/shared/assert.ts';
import { sortInSteps } from '../../../base/shared/sort-in-steps.ts';
import { type CooperativeTask, eachInSteps, filterInSteps, mapInSteps, ready } from '../../../base/shared/turn.ts';
import { encodeInSteps } from '../../../base/shared/utf8.ts';
import type { Page } from '../../../storage/page-store.ts';
import type { DocId, RevId, RevisionPath } from '../../documents/contract.ts';
import { EMPTY_BODY, EMPTY_LOCATION } from '../bodies/body-location.ts';
import type { BodyStore, TextArena } from '../bodies/body-store.ts';
import type { BodyLocation, FinishedUpload } from '../contract.ts';
import { digestsIn } from '../state/attachments-tree.ts';
import { decodeEntryInSteps } from '../state/entry.ts';
import type { State } from '../state/state.ts';
import type { SpaceDelta } from '../state/tree-updates.ts';
import { AttachmentChanges } from './attachment-changes.ts';
import type { JournalEntry, LocalChange, PurgeChange, RevisionChange } from './journal.ts';
import { openDocument, openInSteps, type WorkingDocument } from './working-document.ts';

/** A document's body in both forms that are needed. */
interface BodyText {
  readonly text: string;
  readonly bytes: Uint8Array;
}

/** A body that gets its location when all changes of the group are known; `location` is then filled in. */
interface NewBody extends BodyText {
  readonly id: DocId;
  readonly rank: number;
  readonly location: {
    page: number;
    offset: number;
    length: number;
    checksum: number | undefined;
    readonly attachments: readonly string[] | undefined;
  };
}

interface NewRevision {
  readonly change: Omit<RevisionChange, 'body' | 'attachments'>;
  readonly body: NewBody | BodyLocation;
}

/** The content of a group's commit. */
export interface Placed {
  readonly entry: JournalEntry;
  readonly pages: readonly Page[];
}

const NONE: ReadonlySet<DocId> = new Set();

/** A document whose entry has this many characters or more is opened in steps. */
const LONG_ENTRY = 65_536;
/** Documents opened between two checks of the clock. */
const OPENED_PER_STEP = 256;
/** Revisions that get a little work each between two checks of the clock. */
const REVISIONS_PER_STEP = 1_024;

/**
 * What one group commit changes: documents and local keys, loaded from the state and then changed step by step.
 * Nothing of it is visible to anyone until the write queue publishes the state that is made from it.
 */
export class WriteBatch {
  readonly #arena: TextArena;
  readonly #documents = new Map<DocId, WorkingDocument>();
  readonly #locals = new Map<string, string | undefined>();
  readonly #changedLocals = new Map<string, LocalChange>();
  readonly #revisions: NewRevision[] = [];
  readonly #purges: PurgeChange[] = [];
  readonly #released: BodyLocation[] = [];
  readonly attachments = new AttachmentChanges();
  #adopted: readonly FinishedUpload[] = [];
  /** Documents that have a revision with attachments. */
  readonly #attached = new Set<WorkingDocument>();
  /** The number of revisions of a path that are kept. Changes only while a journal is replayed. */
  revsLimit: number;
  updateSeq: number;
  purgeSeq: number;

  constructor(state: State, revsLimit: number, arena: TextArena) {
    this.#arena = arena;
    this.updateSeq = state.updateSeq;
    this.purgeSeq = state.purgeSeq;
    this.revsLimit = revsLimit;
  }

  /** Returns the body's text with its bytes, which hashing and storing share. */
  encode(text: string): BodyText {
    return { text, bytes: this.#arena.encode(text) };
  }

  /** Like `encode`, but lets other tasks run in the middle of a long text. */
  *encodeInSteps(text: string): CooperativeTask<BodyText> {
    return { text, bytes: yield* encodeInSteps(text) };
  }

  /** Loads what the group will touch, in one pass over each tree. The documents `absent` are known not to exist. */
  *load(
    state: State,
    ids: readonly DocId[],
    localKeys: readonly string[],
    absent: ReadonlySet<DocId> = NONE,
    digests: readonly string[] = [],
  ): CooperativeTask<void> {
    const sortedIds = yield* sortedWithoutRepeats(ids);
    const wanted = absent.size === 0 ? sortedIds : yield* filterInSteps(sortedIds, (id) => !absent.has(id));
    const values = yield* ready(state.byId.getMany(wanted));
    let [rank, found] = [0, 0];
    for (const id of sortedIds) {
      const value = id === wanted[found] ? values[found++] : undefined;
      const isLong = value !== undefined && value.length > LONG_ENTRY;
      this.#documents.set(id, isLong ? yield* openInSteps(id, rank, value) : openDocument(id, rank, value));
      rank++;
      if (rank % OPENED_PER_STEP === 0) yield;
    }
    if (state.attachments.count > 0 || digests.length > 0) yield* this.#loadAttachments(state, digests);
    if (localKeys.length === 0) return;
    const sortedKeys = [...new Set(localKeys)].sort(compareCodePoints);
    const locals = yield* ready(state.locals.getMany(sortedKeys));
    for (const [index, key] of sortedKeys.entries()) this.#locals.set(key, locals[index]);
  }

  /** Loads the given digests, and all to which revisions of the loaded documents refer. */
  *#loadAttachments(state: State, digests: readonly string[]): CooperativeTask<void> {
    const known = state.attachments.count === 0 ? [] : this.#documents.values();
    const all = new Set(digests);
    let looked = 0;
    for (const document of known) {
      for (const digest of digestsIn(document.formerValue ?? '')) {
        this.#attached.add(document);
        all.add(digest);
        if (isStepEnd(looked++)) yield;
      }
      if (isStepEnd(looked++)) yield;
    }
    if (all.size > 0) yield* ready(this.attachments.load(state.attachments, all));
  }

  document(id: DocId): WorkingDocument {
    return must(this.#documents.get(id), 'a document of the group was not loaded');
  }

  /** Returns the documents that changed, in the order of their ids. */
  changedDocuments(): CooperativeTask<WorkingDocument[]> {
    return filterInSteps(this.#documents.values(), ({ changed }) => changed);
  }

  local(key: string): string | undefined {
    return this.#locals.get(key);
  }

  setLocal(key: string, value: string | undefined): void {
    this.#locals.set(key, value);
    this.#changedLocals.set(key, { key, value });
  }

  /**
   * Merges a revision into its document. Returns false, and changes nothing, if the revision is known already and its
   * path names no further ancestor that would be kept; if it does, the ancestry is the change, and the given body is
   * ignored. `seq` is passed when a journal record is replayed.
   */
  addRevision(
    document: WorkingDocument,
    givenPath: RevisionPath,
    deleted: boolean,
    body: BodyText | BodyLocation,
    seq?: number,
    attachments?: readonly string[],
  ): boolean {
    const placed = 'text' in body ? placeBody(document, body, attachments) : withAttachments(body, attachments);
    const location = 'location' in placed ? placed.location : placed;
    const isFirst = document.formerSeq === undefined && !document.changed;
    const growth = document.tree.merge(givenPath, deleted, location, this.revsLimit);
    if (growth === undefined) return false;
    const { path, isKnown, released } = growth;
    this.#release(released);
    if (attachments !== undefined) this.#attached.add(document);
    this.#advance(document, seq);
    const { id } = document;
    this.#revisions.push({
      change: { id, seq: document.seq, start: path.start, ids: path.ids, deleted, isFirst },
      body: isKnown ? EMPTY_LOCATION : placed,
    });
    return true;
  }

  #advance(document: WorkingDocument, seq: number | undefined): void {
    this.updateSeq = seq ?? this.updateSeq + 1;
    document.seq = this.updateSeq;
    document.changed = true;
  }

  /** Counts bodies as garbage when their revisions are no longer leaves. */
  #release(bodies: readonly BodyLocation[]): void {
    for (const body of bodies) if (body.page !== 0) this.#released.push(body);
  }

  /**
   * Removes leaf revisions for good; returns those that existed. A document that keeps a leaf moves to a new sequence
   * number, one that keeps none is removed.
   */
  *purge(document: WorkingDocument, revs: readonly RevId[], seq?: number): CooperativeTask<readonly RevId[]> {
    const { tree } = document;
    const { removed, released } = yield* tree.remove(revs);
    if (removed.length === 0) return removed;
    this.#release(released);
    if (tree.leaves.length > 0) this.#advance(document, seq);
    document.changed = true;
    this.#purges.push({ id: document.id, seq: document.seq, purgeSeq: this.purgeSeq, revs: removed });
    return removed;
  }

  /** Ends a purge of several documents: it counts one step of the update sequence even if all of them vanished. */
  endPurge(updateSeqBefore: number): void {
    if (this.updateSeq === updateSeqBefore) this.updateSeq++;
  }

  /** The uploads whose bytes the group keeps; known after `place`. */
  get adopted(): readonly FinishedUpload[] {
    return this.#adopted;
  }

  get isUnchanged(): boolean {
    return this.#revisions.length === 0 && this.#changedLocals.size === 0 && this.#purges.length === 0;
  }

  /** Returns the bytes of new bodies. */
  *#bodyBytes(): CooperativeTask<number> {
    let bytes = 0;
    for (const [index, { body }] of this.#revisions.entries()) {
      if ('bytes' in body) bytes += body.bytes.length;
      if (isStepEnd(index)) yield;
    }
    return bytes;
  }

  /** Returns the local keys that changed, in order. */
  changedLocals(): LocalChange[] {
    return [...this.#changedLocals.values()].sort((left, right) => compareCodePoints(left.key, right.key));
  }

  /**
   * Assigns every new body its location: in separate pages if there are many bytes (sorted by id, so that
   * neighbours in by-id are neighbours on disk), else in the page that waits for the next checkpoint. Returns the
   * journal entry, and the pages that belong to the commit.
   */
  *place(store: BodyStore, packFrom: number): CooperativeTask<Placed> {
    yield* this.#settleTrees();
    for (const document of this.#attached) yield* this.#countAttachments(document);
    const packAll = (yield* this.#bodyBytes()) >= packFrom;
    const isPacked = (body: NewBody) => packAll || store.reader.isLarge(body.bytes.length);
    const unsorted: NewBody[] = [];
    for (const [index, { body }] of this.#revisions.entries()) {
      if (isStepEnd(index)) yield;
      if (!('bytes' in body)) continue;
      if (isPacked(body)) unsorted.push(body);
      else moveTo(body.location, store.append(body.id, body.bytes));
    }
    const packed =
      unsorted.length < 2 ? unsorted : yield* sortInSteps(unsorted, (left, right) => left.rank - right.rank);
    const pages = yield* packInSteps(store, packed);
    const placed = ({ change: { id, seq, start, ids, deleted, isFirst }, body }: NewRevision) => {
      const place = 'bytes' in body ? (isPacked(body) ? body.location : body.text) : body;
      const { attachments } = 'bytes' in body ? body.location : body;
      return { id, seq, start, ids, deleted, isFirst, body: place, attachments };
    };
    const revisions = yield* mapInSteps(this.#revisions, placed);
    const recorded = this.attachments.isEmpty ? [] : yield* this.attachments.recorded();
    if (recorded.length > 0) this.#adopted = yield* this.attachments.adopted();
    const entry: JournalEntry = {
      revisions,
      locals: [...this.#changedLocals.values()],
      purges: this.#purges,
      attachments: recorded,
      pages: [...pages.map((page) => page.number), ...this.#adopted.flatMap((upload) => upload.pages)],
      updateSeq: this.updateSeq,
    };
    return { entry, pages };
  }

  /** Counts how the group changes the number of the document's revisions that refer to each attachment. */
  *#countAttachments({ id, formerValue, tree, changed }: WorkingDocument): CooperativeTask<void> {
    if (!changed) return;
    const former = formerValue === undefined ? [] : (yield* decodeEntryInSteps(id, formerValue)).leaves;
    yield* this.attachments.count(former, -1);
    yield* this.attachments.count(tree.leaves, 1);
    yield;
  }

  *#settleTrees(): CooperativeTask<void> {
    let settled = 0;
    for (const { tree } of this.#documents.values()) {
      yield* tree.settle();
      if (isStepEnd(settled++)) yield;
    }
  }

  /** Returns how the bytes in body pages change; call it after `place`. */
  *spaceDeltas(): CooperativeTask<Map<number, SpaceDelta>> {
    const deltas = new Map<number, SpaceDelta>();
    const deltaOf = (page: number): SpaceDelta => {
      const delta = deltas.get(page) ?? { total: 0, live: 0 };
      deltas.set(page, delta);
      return delta;
    };
    yield* eachInSteps(this.#revisions, ({ body }) => {
      const location = 'location' in body ? body.location : body;
      if (location.page === 0) return;
      const delta = deltaOf(location.page);
      delta.total += location.length;
      delta.live += location.length;
    });
    yield* eachInSteps(this.#released, ({ page, length }) => {
      deltaOf(page).live -= length;
    });
    return deltas;
  }
}

function isStepEnd(index: number): boolean {
  return index % REVISIONS_PER_STEP === REVISIONS_PER_STEP - 1;
}

/** Returns the ids in the order of the trees, without repeats. */
function* sortedWithoutRepeats(ids: readonly DocId[]): CooperativeTask<readonly DocId[]> {
  if (ids.length < 2) return ids;
  const distinct: DocId[] = [];
  for (const [index, id] of (yield* sortInSteps(ids, compareCodePoints)).entries()) {
    if (id !== distinct.at(-1)) distinct.push(id);
    if (isStepEnd(index)) yield;
  }
  return distinct;
}

function moveTo(location: NewBody['location'], { page, offset, length, checksum }: BodyLocation): void {
  location.page = page;
  location.offset = offset;
  location.length = length;
  location.checksum = checksum;
}

/** Assigns bodies their locations, in the given order; returns the pages that hold them. */
function* packInSteps(store: BodyStore, bodies: readonly NewBody[]): CooperativeTask<readonly Page[]> {
  const { locations, pages } = yield* store.pack(bodies);
  yield* eachInSteps(bodies, ({ location }, index) => moveTo(location, must(locations[index])));
  return pages;
}

function placeBody(
  { id, rank }: WorkingDocument,
  { text, bytes }: BodyText,
  attachments: readonly string[] | undefined,
): NewBody | BodyLocation {
  if (text === EMPTY_BODY) return EMPTY_LOCATION;
  return {
    id,
    rank,
    bytes,
    text,
    location: { page: -1, offset: 0, length: bytes.length, checksum: undefined, attachments },
  };
}

function withAttachments(body: BodyLocation, attachments: readonly string[] | undefined): BodyLocation {
  return attachments === undefined ? body : { ...body, attachments };
}
