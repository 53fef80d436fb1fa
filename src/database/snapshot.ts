import type { KeyRange, TreeEntry, WalkOptions } from '../btree/contract.ts';
import { compareCodePoints } from '../collation/code-points.ts';
import type { DocId, RevId } from '../documents/contract.ts';
import { toRevId } from '../documents/revisions.ts';
import { DatabaseError, isDatabaseError } from '../errors/database-error.ts';
import { must } from '../shared/assert.ts';
import type { BodyStore } from './body-store.ts';
import type {
  BodyLocation,
  ChangeRow,
  DocumentRecord,
  DocumentRow,
  LocalDocument,
  RowRange,
  Snapshot,
  StoredNode,
} from './contract.ts';
import { decodeChange, decodeEntry } from './entry.ts';
import { decodeLocal } from './jobs.ts';
import type { SnapshotTicket } from './snapshot-register.ts';
import type { State } from './state.ts';
import { isLiveEntry } from './trees.ts';

/** Where local documents begin in the locals tree; keys before and after it are settings. */
export const LOCAL_PREFIX = '_local/';
const LOCAL_END = '_local0';

export interface SnapshotSource {
  readonly bodies: BodyStore;
  readonly state: State;
  take(version: number): SnapshotTicket;
}

/**
 * A view of one state. When it is taken back for its age it goes on with the current state: lists resume behind the
 * last row they gave, so a reader that takes minutes gets every document that was there all the time, each once.
 */
export class StateSnapshot implements Snapshot {
  readonly #source: SnapshotSource;
  #state: State;
  #ticket: SnapshotTicket;
  /** Locations of bodies that were given out before may lead nowhere then. */
  #wasRenewed = false;

  constructor(source: SnapshotSource) {
    this.#source = source;
    this.#state = source.state;
    this.#ticket = source.take(source.state.version);
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
    this.#state = this.#source.state;
    this.#ticket = this.#source.take(this.#state.version);
  }

  /** The state to read now. */
  #current(): State {
    if (this.#ticket.revoked) this.#renew();
    return this.#state;
  }

  /** Whether pages of `state` may be gone: also when another reader of this snapshot went on to a newer state. */
  #isLost(state: State): boolean {
    return this.#ticket.revoked || this.#state !== state;
  }

  /** Runs a read, once more on the current state if the snapshot was taken back while it ran. */
  async #read<T>(read: (state: State) => Promise<T>): Promise<T> {
    for (;;) {
      const state = this.#current();
      try {
        return await read(state);
      } catch (error) {
        if (!this.#isLost(state)) throw error;
      }
    }
  }

  async #readBody(location: BodyLocation, isOneOfMany: boolean): Promise<string> {
    const { bodies } = this.#source;
    try {
      return await (isOneOfMany ? bodies.readWithPage(location) : bodies.read(location));
    } catch (cause) {
      const isGone = (this.#wasRenewed || this.#ticket.revoked) && isDatabaseError(cause, 'storage_corrupt');
      if (!isGone) throw cause;
      const reason = 'The read took so long that what it began with was replaced meanwhile. Send the request again.';
      throw new DatabaseError('cancelled', reason, { cause });
    }
  }

  async document(id: DocId): Promise<DocumentRecord | undefined> {
    const value = await this.#read((state) => state.byId.get(id));
    return value === undefined ? undefined : decodeEntry(id, value);
  }

  async documents(ids: readonly DocId[]): Promise<(DocumentRecord | undefined)[]> {
    const sorted = [...new Set(ids)].sort(compareCodePoints);
    const values = await this.#read((state) => state.byId.getMany(sorted));
    const found = new Map(sorted.map((id, index) => [id, values[index]]));
    return ids.map((id) => {
      const value = found.get(id);
      return value === undefined ? undefined : decodeEntry(id, value);
    });
  }

  async body(node: StoredNode): Promise<string | undefined> {
    const { body } = node;
    return body === undefined ? undefined : this.#readBody(body, false);
  }

  async bodies(nodes: readonly StoredNode[]): Promise<(string | undefined)[]> {
    const { bodies } = this.#source;
    const texts = nodes.map(({ body }) => (body === undefined ? undefined : bodies.readNow(body)));
    const missing = nodes.flatMap(({ body }, index) =>
      body !== undefined && texts[index] === undefined ? [{ body, index }] : [],
    );
    missing.sort((left, right) => compareLocations(left.body, right.body));
    for (const { body, index } of missing) texts[index] = await this.#readBody(body, true);
    return texts;
  }

  async *rows(range: RowRange): AsyncGenerator<readonly DocumentRow[]> {
    const { descending = false } = range;
    const skip = await this.#read((state) => entriesToSkip(state, range));
    for await (const entries of this.#walk((state) => state.byId, range, { descending, skip })) {
      const rows: DocumentRow[] = [];
      for (const { key, value } of entries) if (isLiveEntry(value)) rows.push(documentRow(key, value));
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
    for await (const entries of this.#walk((state) => state.bySeq, range, { descending })) {
      yield entries.map(({ key, value }) => decodeChange(key, value));
    }
  }

  async local(id: DocId): Promise<LocalDocument | undefined> {
    const value = await this.#read((state) => state.locals.get(id));
    return value === undefined ? undefined : localDocument(id, value);
  }

  async *locals(range: RowRange): AsyncGenerator<readonly LocalDocument[]> {
    const { descending = false, skip = 0 } = range;
    const start = range.start === undefined || range.start < LOCAL_PREFIX ? LOCAL_PREFIX : range.start;
    const end = range.end === undefined || range.end > LOCAL_END ? LOCAL_END : range.end;
    const bounds = { start, end, startInclusive: range.startInclusive, endInclusive: range.endInclusive };
    for await (const entries of this.#walk((state) => state.locals, bounds, { descending, skip })) {
      yield entries.map(({ key, value }) => localDocument(key as DocId, value));
    }
  }

  async localCount(): Promise<number> {
    return this.#read((state) => state.locals.countRange({ start: LOCAL_PREFIX, end: LOCAL_END }));
  }

  /** Walks a tree of the state, and goes on in the current state when this one was taken back. */
  async *#walk<K>(
    treeOf: (state: State) => WalkedTree<K>,
    range: KeyRange<K>,
    options: WalkOptions,
  ): AsyncGenerator<TreeEntry<K>[]> {
    let rest = range;
    let walk = options;
    for (;;) {
      const state = this.#current();
      try {
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
}

/**
 * How many entries of by-id, deleted documents among them, have to be passed over so that `range.skip` live ones are.
 * Found by halving: O(log² n).
 */
async function entriesToSkip(state: State, range: RowRange): Promise<number> {
  const { skip = 0 } = range;
  if (skip === 0 || state.docDelCount === 0) return skip;
  let low = skip;
  let high = skip + state.docDelCount;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((await liveAmongFirst(state, range, middle)) >= skip) high = middle;
    else low = middle + 1;
  }
  return low;
}

async function liveAmongFirst({ byId }: State, range: RowRange, count: number): Promise<number> {
  const { start, end, startInclusive, endInclusive, descending = false } = range;
  let part: KeyRange<string> = { start, end, startInclusive, endInclusive };
  for await (const [entry] of byId.entries(part, { descending, skip: count })) {
    const edge = must(entry).key;
    part = descending ? { ...part, start: edge, startInclusive: false } : { ...part, end: edge, endInclusive: false };
    break;
  }
  return (await byId.reduceRange(part))?.live ?? 0;
}

function compareLocations(left: BodyLocation, right: BodyLocation): number {
  return left.page - right.page || left.offset - right.offset;
}

function documentRow(key: string, value: string): DocumentRow {
  const id = key as DocId;
  let decoded: DocumentRecord | undefined;
  const record = () => {
    decoded ??= decodeEntry(id, value);
    return decoded;
  };
  return {
    id,
    get rev(): RevId {
      const winner = must(record().leaves[0]);
      return toRevId(winner.generation, winner.hash);
    },
    record,
  };
}

function localDocument(id: DocId, value: string): LocalDocument {
  const { count, body } = must(decodeLocal(value));
  return { id, rev: `0-${count}`, body };
}
