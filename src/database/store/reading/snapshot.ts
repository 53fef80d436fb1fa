import { compareCodePoints } from '../../../base/collation/code-points.ts';
import { DatabaseError, isDatabaseError } from '../../../base/errors/database-error.ts';
import { must } from '../../../base/shared/assert.ts';
import { type MaybePromise, orElse, whenReady } from '../../../base/shared/maybe-promise.ts';
import type { KeyRange, TreeEntry, WalkOptions } from '../../../storage/btree/contract.ts';
import type { PageFile } from '../../../storage/page-store.ts';
import type { SnapshotRegister, SnapshotTicket } from '../../../storage/paging/snapshot-register.ts';
import type { DocId } from '../../documents/contract.ts';
import { PageAttachment } from '../attachment-pages.ts';
import type { BodyReader } from '../bodies/body-reader.ts';
import type {
  AttachmentBytes,
  AttachmentReader,
  BodyLocation,
  ChangeRow,
  DocumentRecord,
  DocumentRow,
  LocalDocument,
  RowRange,
  Snapshot,
  StoredBytes,
  StoredNode,
} from '../contract.ts';
import { bytesOfLength, decodeAttachment } from '../state/attachments-tree.ts';
import type { DetachedPages } from '../state/detached-pages.ts';
import { decodeChange } from '../state/entry.ts';
import { LOCAL_END, LOCAL_START, settingText, toLocalDocument } from '../state/locals.ts';
import type { State } from '../state/state.ts';
import { isLiveEntry } from '../state/trees.ts';
import { type RecordDecoder, StoredRow } from './record-decoder.ts';
import { entriesToSkip } from './skipped-entries.ts';

/** The most documents that are looked up at once. */
const BATCH_DOCUMENTS = 200;
/** The most characters that the entries of one such look-up have, except if one entry alone has more. */
const BATCH_UNITS = 2 ** 20;

/** Bodies that are prefetched while the previous batch is read, where that saves time. */
const BODIES_AHEAD = 100;

/** How long a body's pages are kept for a reader in pieces: a slow reader can't continue with another state in the middle of a body. */
const LONG_BODY_MS = 600_000;

/** The source of snapshots. */
export interface SnapshotSource {
  readonly bodies: BodyReader;
  readonly file: PageFile;
  readonly detached: DetachedPages;
  /** Counts the documents whose body is read. */
  readonly reads: { value: number };
  readonly records: RecordDecoder;
  /** Provides the current state on each access. */
  readonly state: { readonly current: State };
  /** Returns the source that has taken this one's place, and the register of its readers; undefined while none has. */
  readonly successor?:
    | (() => { readonly source: SnapshotSource; readonly register: SnapshotRegister } | undefined)
    | undefined;
}

/**
 * A view of one state. When it is revoked for its age it continues with the current state: lists resume after the
 * last row that they returned, so a reader that takes minutes gets every document that existed all the time, each once.
 */
export class StateSnapshot implements Snapshot {
  #source: SnapshotSource;
  #register: SnapshotRegister;
  #state: State;
  #ticket: SnapshotTicket;
  /** If true, body locations that were returned before may be invalid. */
  #wasRenewed = false;

  constructor(source: SnapshotSource, register: SnapshotRegister) {
    this.#source = source;
    this.#register = register;
    this.#state = source.state.current;
    this.#ticket = register.take(this.#state.version);
  }

  get updateSeq(): number {
    return this.#state.updateSeq;
  }

  get purgeSeq(): number {
    return this.#state.purgeSeq;
  }

  get docCount(): number {
    return this.#state.docCount;
  }

  get docDelCount(): number {
    return this.#state.docDelCount;
  }

  release(): void {
    this.#ticket.release();
  }

  #renew(): void {
    this.#wasRenewed = true;
    this.#ticket.release();
    const successor = this.#source.successor?.();
    if (successor !== undefined) {
      this.#source = successor.source;
      this.#register = successor.register;
    }
    this.#state = this.#source.state.current;
    this.#ticket = this.#register.take(this.#state.version);
  }

  /** Returns the state to read now. */
  #current(): State {
    if (this.#ticket.revoked) this.#renew();
    return this.#state;
  }

  /** Whether pages of `state` may be gone: also if another reader of this snapshot moved on to a newer state. */
  #isLost(state: State): boolean {
    return this.#ticket.revoked || this.#state !== state;
  }

  /** Runs a read, once more on the current state if the snapshot was revoked while it ran. */
  #read<T>(read: (state: State) => MaybePromise<T>): MaybePromise<T> {
    const state = this.#current();
    return orElse(
      () => read(state),
      (failure) => {
        if (!this.#isLost(state)) throw failure;
        return this.#read(read);
      },
    );
  }

  #readBody(read: () => MaybePromise<string>): MaybePromise<string> {
    return orElse(read, (cause) => {
      throw this.#failureOfBody(cause);
    });
  }

  #failureOfBody(cause: unknown): unknown {
    const isGone = (this.#wasRenewed || this.#ticket.revoked) && isDatabaseError(cause, 'storage_corrupt');
    if (!isGone) return cause;
    const reason = 'The read took so long that its data was replaced meanwhile. Send the request again.';
    return new DatabaseError('cancelled', reason, { cause });
  }

  document(id: DocId): MaybePromise<DocumentRecord | undefined> {
    const value = this.#read((state) => state.byId.get(id));
    return whenReady(value, (text) => (text === undefined ? undefined : this.#source.records.of(id, text)));
  }

  async documents(ids: readonly DocId[]): Promise<(DocumentRecord | undefined)[]> {
    return must(await this.#documentsWithin(ids, Number.POSITIVE_INFINITY));
  }

  async *documentBatches(ids: Iterable<DocId | undefined>): AsyncGenerator<readonly (DocumentRecord | undefined)[]> {
    let most = BATCH_DOCUMENTS;
    const left = ids[Symbol.iterator]();
    /** The ids that were taken out of `left`. */
    let next: (DocId | undefined)[] = [];
    for (;;) {
      while (next.length < most) {
        const { done, value } = left.next();
        if (done === true) break;
        next.push(value);
      }
      if (next.length === 0) return;
      const some = next.slice(0, most);
      const records = await this.#documentsWithin(some, some.length === 1 ? Number.POSITIVE_INFINITY : BATCH_UNITS);
      most = records === undefined ? Math.ceil(most / 4) : Math.min(most * 2, BATCH_DOCUMENTS);
      if (records === undefined) continue;
      yield records;
      next = next.slice(some.length);
    }
  }

  /** Returns the documents; undefined if their entries together have more than that many characters. */
  async #documentsWithin(
    ids: readonly (DocId | undefined)[],
    mostUnits: number,
  ): Promise<(DocumentRecord | undefined)[] | undefined> {
    const sorted = [...new Set(ids)].filter((id) => id !== undefined).sort(compareCodePoints);
    const values = await this.#read((state) => state.byId.getManyWithin(sorted, mostUnits));
    if (values === undefined) return undefined;
    const found = new Map<DocId, DocumentRecord>();
    let units = 0;
    for (const [index, id] of sorted.entries()) {
      const value = values[index];
      if (value === undefined) continue;
      units += value.length;
      if (units > mostUnits) return undefined;
      const record = this.#source.records.of(id, value);
      found.set(id, record instanceof Promise ? await record : record);
    }
    return ids.map((id) => (id === undefined ? undefined : found.get(id)));
  }

  body({ body }: StoredNode): MaybePromise<string | undefined> {
    if (body === undefined) return undefined;
    this.#source.reads.value += 1;
    return this.#readBody(() => this.#source.bodies.read(body));
  }

  async *bodyPieces({ body }: StoredNode): AsyncGenerator<string, void, void> {
    if (body === undefined) return;
    this.#source.reads.value += 1;
    const ticket = this.#register.take(this.#state.version, LONG_BODY_MS);
    try {
      yield* this.#source.bodies.pieces(body);
    } catch (cause) {
      throw this.#failureOfBody(cause);
    } finally {
      ticket.release();
    }
  }

  attachment({ digest, length }: AttachmentBytes): MaybePromise<StoredBytes | undefined> {
    const value = this.#read((state) => state.attachments.get(digest));
    return whenReady(value, (text) =>
      text === undefined ? undefined : bytesOfLength(decodeAttachment(digest, text), length),
    );
  }

  /**
   * The pages are kept for the reader alone, however long it reads. If a later state has already removed them the reader holds its own
   * snapshot, which is revoked after its maximum age.
   */
  async openAttachment(attachment: AttachmentBytes): Promise<AttachmentReader | undefined> {
    const { file, detached, state } = this.#source;
    const { digest } = attachment;
    const stored = await this.attachment(attachment);
    const first = stored?.pages[0]?.first;
    if (stored === undefined || first === undefined) return stored && new PageAttachment(stored, file, () => undefined);
    const endLease = detached.lease(first);
    const current = await state.current.attachments.get(digest);
    const isCurrent = current !== undefined && decodeAttachment(digest, current).pages[0]?.first === first;
    if (isCurrent) return new PageAttachment(stored, file, endLease);
    endLease();
    const ticket = this.#register.take(this.#state.version);
    return new PageAttachment(stored, file, () => ticket.release());
  }

  async bodies(nodes: readonly StoredNode[]): Promise<(string | undefined)[]> {
    const { bodies, reads } = this.#source;
    reads.value += nodes.length;
    const texts = nodes.map(({ body }) => (body === undefined ? undefined : bodies.readInMemory(body)));
    const missing = nodes.flatMap(({ body }, index) =>
      body !== undefined && texts[index] === undefined ? [{ body, index }] : [],
    );
    missing.sort((left, right) => compareLocations(left.body, right.body));
    const locations = missing.map(({ body }) => body);
    for (const [at, { index }] of missing.entries()) {
      if (at % BODIES_AHEAD === 0) bodies.readAhead(locations, at, at + 2 * BODIES_AHEAD);
      texts[index] = await this.#readBody(() => bodies.readOneOf(locations, at));
    }
    return texts;
  }

  async *rows(range: RowRange): AsyncGenerator<readonly DocumentRow[]> {
    const { descending = false } = range;
    const skip = await this.#read((state) => entriesToSkip(state, range));
    for await (const entries of this.#walk((state) => state.byId, range, { descending, skip })) {
      const rows: DocumentRow[] = [];
      const { records } = this.#source;
      for (const { key, value } of entries) if (isLiveEntry(value)) rows.push(new StoredRow(key, value, records));
      if (rows.length > 0) yield rows;
    }
  }

  async offset(range: RowRange): Promise<number> {
    const { descending = false, skip = 0, start, end, startInclusive = true, endInclusive = true } = range;
    const edge = descending ? end : start;
    const inclusive = descending ? endInclusive : startInclusive;
    const before = edge === undefined ? 0 : await this.#countBefore(edge, inclusive, descending);
    return Math.min(before + skip, this.docCount);
  }

  async #countBefore(edge: string, inclusive: boolean, descending: boolean): Promise<number> {
    const outside: KeyRange<string> = descending
      ? { start: edge, startInclusive: !inclusive }
      : { end: edge, endInclusive: !inclusive };
    const counts = await this.#read((state) => state.byId.reduceRange(outside));
    return counts?.live ?? 0;
  }

  async *changes(options: { readonly since: number; readonly descending?: boolean }): AsyncGenerator<ChangeRow[]> {
    const { since, descending = false } = options;
    const range = { start: since, startInclusive: false };
    const guard = descending ? new RestOfChanges() : undefined;
    for await (const entries of this.#walk((state) => state.bySeq, range, { descending }, guard)) {
      guard?.note(entries.length);
      yield entries.map(({ key, value }) => decodeChange(key, value));
    }
  }

  changeCount(since: number): MaybePromise<number> {
    return this.#read((state) => state.bySeq.countRange({ start: since, startInclusive: false }));
  }

  local(id: DocId): MaybePromise<LocalDocument | undefined> {
    const value = this.#read((state) => state.locals.get(id));
    return whenReady(value, (text) => (text === undefined ? undefined : toLocalDocument(id, text)));
  }

  /** Returns the text that the file keeps under that key of its own. */
  setting(key: string): MaybePromise<string | undefined> {
    return whenReady(
      this.#read((state) => state.locals.get(key)),
      settingText,
    );
  }

  async *locals(range: RowRange): AsyncGenerator<readonly LocalDocument[]> {
    const { descending = false, skip = 0 } = range;
    const start = range.start === undefined || range.start < LOCAL_START ? LOCAL_START : range.start;
    const end = range.end === undefined || range.end > LOCAL_END ? LOCAL_END : range.end;
    const bounds = { start, end, startInclusive: range.startInclusive, endInclusive: range.endInclusive };
    for await (const entries of this.#walk((state) => state.locals, bounds, { descending, skip })) {
      yield entries.map(({ key, value }) => toLocalDocument(key as DocId, value));
    }
  }

  async localCount(): Promise<number> {
    return this.#read((state) => state.locals.countRange({ start: LOCAL_START, end: LOCAL_END }));
  }

  /**
   * Walks a tree of the state, and continues in the current state when this one was taken back. `guard` is called
   * each time before the walk begins.
   */
  async *#walk<K>(
    treeOf: (state: State) => WalkedTree<K>,
    range: KeyRange<K>,
    options: WalkOptions,
    guard?: WalkGuard<K>,
  ): AsyncGenerator<TreeEntry<K>[]> {
    let rest = range;
    let walk = options;
    for (;;) {
      const state = this.#current();
      try {
        await guard?.check(treeOf(state), rest);
        for await (const entries of treeOf(state).entries(rest, walk)) {
          if (this.#isLost(state)) break;
          yield entries;
          const last = must(entries.at(-1)).key;
          rest = options.descending
            ? { ...rest, end: last, endInclusive: false }
            : { ...rest, start: last, startInclusive: false };
          walk = options.descending ? { descending: true } : {};
        }
      } catch (error) {
        if (!this.#isLost(state)) throw error;
      }
      if (!this.#isLost(state)) return;
    }
  }
}

interface WalkedTree<K> {
  entries(range: KeyRange<K>, options: WalkOptions): AsyncIterable<TreeEntry<K>[]>;
  countRange(range: KeyRange<K>): MaybePromise<number>;
}

interface WalkGuard<K> {
  /** Fails if a walk must not continue with `range` of that tree. */
  check(tree: WalkedTree<K>, range: KeyRange<K>): Promise<void>;
}

/**
 * Guards a list of changes from the newest down. It shows one moment: what changes meanwhile moves up, out of the
 * rest of the list, and a later state no longer has its former place. So such a list may continue in a later state
 * only if none of the rest has moved. Since nothing ever moves into the rest, none has moved if the count is the same.
 */
class RestOfChanges implements WalkGuard<number> {
  #count: number | undefined;

  /** Subtracts the number of changes that were listed. */
  note(listed: number): void {
    this.#count = must(this.#count) - listed;
  }

  async check(tree: WalkedTree<number>, range: KeyRange<number>): Promise<void> {
    const count = await tree.countRange(range);
    this.#count ??= count;
    if (count === this.#count) return;
    const reason = 'Changes moved while they were read from the newest down. Send the request again.';
    throw new DatabaseError('cancelled', reason);
  }
}

function compareLocations(left: BodyLocation, right: BodyLocation): number {
  return left.page - right.page || left.offset - right.offset;
}
