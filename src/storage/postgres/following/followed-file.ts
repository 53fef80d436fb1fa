import { createHash } from 'node:crypto';
import { FileLife } from '../../open-files.ts';
import type { FollowedFile, FollowedPoint, FollowedState, JournalRecord, PageNumber } from '../../page-store.ts';
import { storageClosed, storageDeleted, storageNewerFormat } from '../../storage-errors.ts';
import type { ConnectionPool } from '../connection-pool.ts';
import type { DurableHistory } from '../durable-history.ts';
import { FileReads } from '../file-reads.ts';
import { storageUnreachable } from '../postgres-errors.ts';
import type { ReadAheadRoom } from '../read-ahead.ts';
import { FILE_FORMAT } from '../schema.ts';
import type { FileStatements } from '../statements.ts';
import { numberOf } from '../values.ts';
import type { Follower } from './follower.ts';
import type { Polled, Polls } from './polls.ts';
import type { Hold, Registration } from './registration.ts';

/** How often a state is read again that was not held: the follower was silent for too long meanwhile. */
const MAX_ATTEMPTS = 3;
const NOTHING: FollowedPoint = { epoch: 0, head: undefined, record: 0 };

interface PostgresFollowedFileOptions {
  readonly name: string;
  readonly id: string;
  readonly pool: ConnectionPool;
  readonly statements: FileStatements;
  readonly room: ReadAheadRoom;
  readonly history: DurableHistory;
  readonly follower: Follower;
  readonly polls: Polls;
  readonly onClosed: (file: PostgresFollowedFile) => void;
}

interface SeenOwner {
  readonly epoch: number;
  /** See `Ownership.owner`. */
  readonly owner: string | undefined;
}

/** What a poll has read. */
interface ReadState {
  readonly point: FollowedPoint;
  readonly continues: boolean;
  readonly records: readonly JournalRecord[];
  readonly generation: number;
}

/** A file that another store owns. All that it does is reading; the row of its `Follower` is the only thing that it writes. */
export class PostgresFollowedFile implements FollowedFile {
  readonly name: string;
  readonly #options: PostgresFollowedFileOptions;
  readonly #life = new FileLife();
  readonly #reads: FileReads;
  /** With the states that they hold; undefined while these are being read. */
  readonly #holds = new Map<Hold, FollowedPoint | undefined>();
  /** Where the last state is held. */
  #heldBy: Registration | undefined;
  /** The latest owner that was seen. */
  #owner: SeenOwner = { epoch: 0, owner: undefined };
  #hashed: { readonly head: string | undefined; readonly hash: Uint8Array } = {
    head: undefined,
    hash: hashOf(undefined),
  };

  constructor(options: PostgresFollowedFileOptions) {
    const { name, id, pool, statements, room } = options;
    this.name = name;
    this.#options = options;
    this.#reads = new FileReads({ name, id, pool, statements, room, life: this.#life });
  }

  /** After the follower has lost its holds, it returns the first state again, with a new hold. */
  async poll(since?: FollowedPoint, renews = false): Promise<FollowedState | undefined> {
    this.#life.beginOperation();
    try {
      return await this.#reads.named('following it', () => this.#poll(since, renews));
    } finally {
      this.#life.endOperation();
    }
  }

  read(page: PageNumber, kind: 'text'): Promise<string | undefined>;
  read(page: PageNumber, kind: 'bytes'): Promise<Uint8Array | undefined>;
  read(page: PageNumber, kind: 'text' | 'bytes'): Promise<string | Uint8Array | undefined> {
    return this.#reads.read(page, kind);
  }

  readRange(page: PageNumber, offset: number, length: number): Promise<Uint8Array | undefined> {
    return this.#reads.readRange(page, offset, length);
  }

  readAhead(pages: readonly PageNumber[]): void {
    this.#reads.readAhead(pages);
  }

  async size(): Promise<number> {
    this.#life.mustBeOpen();
    const { pool, statements, id } = this.#options;
    return this.#reads.named('reading its size', async () => {
      const ask = () => pool.repeat('reading a size', (connection) => connection.query(statements.size, [id]));
      const [row] = await ask();
      if (row === undefined) throw this.#deleted();
      return numberOf(row['bytes']);
    });
  }

  async close(): Promise<void> {
    this.#life.refuse(() => storageClosed(`File "${this.name}"`));
    await this.#end();
  }

  /** Closes the file for the store that is about to remove it. */
  async discard(): Promise<void> {
    this.#life.refuse(() => storageDeleted(this.name));
    await this.#end();
  }

  async #end(): Promise<void> {
    this.#reads.close();
    for (const hold of this.#holds.keys()) hold.release();
    this.#holds.clear();
    await this.#life.whenIdle();
    this.#options.follower.tell();
    this.#options.onClosed(this);
  }

  async #poll(since: FollowedPoint | undefined, renews: boolean): Promise<FollowedState | undefined> {
    const { follower, history, pool } = this.#options;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      history.mustBeWhole();
      const hold = await follower.hold();
      this.#holds.set(hold, undefined);
      const release = () => {
        this.#holds.delete(hold);
        hold.release();
      };
      try {
        const { generation, ...state } = await this.#read(since);
        this.#life.mustBeOpen();
        const isNew = !state.continues || state.records.length > 0 || renews || hold.registration !== this.#heldBy;
        const isHeld = hold.confirm(generation);
        if (isHeld && isNew) {
          this.#heldBy = hold.registration;
          this.#holds.set(hold, state.point);
          return { ...state, release };
        }
        release();
        if (isHeld) return this.#stillPresent(state.point, generation);
      } catch (error) {
        release();
        throw error;
      }
    }
    throw storageUnreachable(
      'following a file',
      pool.address.timeoutS,
      new Error('its states are not held for long enough'),
    );
  }

  /** Holds of the state are as good as new ones. */
  #stillPresent({ epoch, head, record }: FollowedPoint, generation: number): undefined {
    for (const [hold, point] of this.#holds) {
      if (point?.epoch === epoch && point.head === head && point.record === record) hold.confirm(generation);
    }
  }

  /** Reads the present state. A long journal takes several statements; if the head changes in between, it is read again from its beginning. */
  async #read(since: FollowedPoint | undefined): Promise<ReadState> {
    let [point, continues] = [since ?? NOTHING, since !== undefined];
    const records: JournalRecord[] = [];
    for (;;) {
      const { epoch, isSame, head, generation, isWhole, ...polled } = await this.#pollOnce(point);
      if (!isSame) {
        point = { epoch, head, record: 0 };
        continues = false;
        records.length = 0;
      }
      for (const record of polled.records) records.push(record);
      point = { ...point, record: records.at(-1)?.number ?? point.record };
      if (isWhole) return { point, continues, records, generation };
    }
  }

  async #pollOnce({ epoch, head, record }: FollowedPoint): Promise<Polled> {
    const { polls, id } = this.#options;
    if (this.#hashed.head !== head) this.#hashed = { head, hash: hashOf(head) };
    const before = this.#owner;
    const polled = await polls.poll({ id, epoch, headHash: this.#hashed.hash, record });
    if (polled === undefined) throw this.#deleted();
    if (polled.format > FILE_FORMAT) throw storageNewerFormat(this.name, polled.format, FILE_FORMAT);
    this.#note(polled, before);
    return polled;
  }

  /** `before`: the owner that was known when the poll was sent. Others may have been answered since. */
  #note({ epoch, owner }: Polled, before: SeenOwner): void {
    if (epoch < before.epoch || (epoch === before.epoch && owner !== before.owner))
      throw this.#options.history.lacks(`an opening of the file "${this.name}"`);
    if (epoch > this.#owner.epoch) this.#owner = { epoch, owner };
  }

  #deleted() {
    this.#life.refuse(() => storageDeleted(this.name));
    return storageDeleted(this.name);
  }
}

function hashOf(head: string | undefined): Uint8Array {
  return head === undefined ? new Uint8Array() : createHash('sha256').update(head).digest();
}
