import type { KeyRange, TreeEntry, WalkOptions } from '../btree/contract.ts';
import { compareCodePoints } from '../collation/code-points.ts';
import type { DocId, RevId } from '../documents/contract.ts';
import { toRevId } from '../documents/revisions.ts';
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
    this.#ticket.release();
    this.#state = this.#source.state;
    this.#ticket = this.#source.take(this.#state.version);
  }

  /** Runs a read, once more on the current state if the snapshot was taken back while it ran. */
  async #read<T>(read: (state: State) => Promise<T>): Promise<T> {
    if (this.#ticket.revoked) this.#renew();
    try {
      return await read(this.#state);
    } catch (error) {
      if (!this.#ticket.revoked) throw error;
      this.#renew();
      return read(this.#state);
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
    return body === undefined ? undefined : this.#read(() => this.#source.bodies.read(body));
  }

  async bodies(nodes: readonly StoredNode[]): Promise<(string | undefined)[]> {
    const { bodies } = this.#source;
    const texts = nodes.map(({ body }) => (body === undefined ? undefined : bodies.readNow(body)));
    const missing = nodes.flatMap(({ body }, index) =>
      body !== undefined && texts[index] === undefined ? [{ body, index }] : [],
    );
    missing.sort((left, right) => compareLocations(left.body, right.body));
    for (const { body, index } of missing) texts[index] = await this.#read(() => bodies.read(body));
    return texts;
  }

  async *rows(range: RowRange): AsyncGenerator<readonly DocumentRow[]> {
    const { descending = false, skip = 0 } = range;
    const walk = { descending, ...(skip > 0 ? { skip, weigh: (counts: { live: number }) => counts.live } : {}) };
    for await (const entries of this.#walk((state) => state.byId, range, walk)) {
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
  async *#walk<K, R>(
    treeOf: (state: State) => WalkedTree<K, R>,
    range: KeyRange<K>,
    options: WalkOptions & { weigh?: (reduction: R) => number },
  ): AsyncGenerator<TreeEntry<K>[]> {
    let rest = range;
    let walk = options;
    for (;;) {
      try {
        for await (const entries of treeOf(this.#state).entries(rest, walk)) {
          if (this.#ticket.revoked) break;
          yield entries;
          const last = must(entries.at(-1)).key;
          rest = options.descending
            ? { ...rest, end: last, endInclusive: false }
            : { ...rest, start: last, startInclusive: false };
          walk = options.descending ? { descending: true } : {};
        }
      } catch (error) {
        if (!this.#ticket.revoked) throw error;
      }
      if (!this.#ticket.revoked) return;
      this.#renew();
    }
  }
}

interface WalkedTree<K, R> {
  entries(
    range: KeyRange<K>,
    options: WalkOptions & { weigh?: (reduction: R) => number },
  ): AsyncIterable<TreeEntry<K>[]>;
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

export function localDocument(id: DocId, value: string): LocalDocument {
  const { count, body } = must(decodeLocal(value));
  return { id, rev: `0-${count}`, body };
}
