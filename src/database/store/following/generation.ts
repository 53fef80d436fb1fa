import type { Clock } from '../../../base/shared/clock.ts';
import type { FollowedFile, FollowedState, JournalRecord, PageStoreSupport } from '../../../storage/page-store.ts';
import type { PageAllocator } from '../../../storage/paging/page-allocator.ts';
import type { PageCache } from '../../../storage/paging/page-cache.ts';
import { damagedRecordError } from '../../../storage/paging/page-errors.ts';
import { ReadOnlyFile } from '../../../storage/paging/read-only-file.ts';
import { SnapshotRegister } from '../../../storage/paging/snapshot-register.ts';
import { DatabaseReader } from '../reading/database-reader.ts';
import { decodeHead } from '../state/head.ts';
import { type OpenedFile, openFile } from '../state/opened-file.ts';
import { decodeRecords, replayJournal } from '../writing/recovery.ts';

export interface GenerationOptions {
  readonly name: string;
  readonly file: FollowedFile;
  readonly supports: Pick<PageStoreSupport, 'leafBytes' | 'crc32'>;
  readonly clock: Clock;
  readonly snapshotMaxAgeMs: number;
  /** Shared by all generations: pages never change. */
  readonly cache: PageCache;
  /** Shared by all generations, so that two never give one number to different pages in memory. */
  readonly allocator: PageAllocator;
  readonly reads: { value: number };
  /** Returns the present generation. */
  present(): Generation;
}

interface Hold {
  /** The state of the database from which on it is needed. */
  readonly version: number;
  release(): void;
}

/** What a follower has of a database since one head: the head's trees, and in memory what the journal adds to them. */
export class Generation {
  readonly opened: OpenedFile;
  readonly reader: DatabaseReader;
  readonly #register: SnapshotRegister;
  readonly #supports: GenerationOptions['supports'];
  /** Oldest first. */
  readonly #holds: Hold[] = [];
  #isPresent = true;

  private constructor(options: GenerationOptions, opened: OpenedFile) {
    const { name, clock, snapshotMaxAgeMs, reads, supports, present } = options;
    this.opened = opened;
    this.#supports = supports;
    this.#register = new SnapshotRegister(clock, snapshotMaxAgeMs, () => this.#releaseHolds());
    const { file, head, state, detached } = opened;
    const successor = (): DatabaseReader['moment'] | undefined =>
      this.#isPresent ? undefined : present().reader.moment;
    const source = { file, head, state, detached, reads, bodies: state.bodies.reader, successor };
    this.reader = new DatabaseReader(name, source, this.#register);
  }

  /** Opens the head of a state, and replays its journal. Ends the state's hold when the generation no longer needs it. Fails with `storage_corrupt` if anything is damaged. */
  static async open(options: GenerationOptions, state: FollowedState, stored: string): Promise<Generation> {
    const { file: followed, supports, cache, allocator } = options;
    const file = new ReadOnlyFile(followed, state);
    const head = decodeHead(stored, followed.name, supports.crc32);
    const opened = openFile({ file, head, cache, supports, allocator });
    const generation = new Generation(options, opened);
    // Replaying needs the settings as they were before the journal.
    await opened.settings.load(opened.state.current);
    await generation.replay(state.records.filter(({ number }) => number >= head.journalFrom));
    generation.hold(state);
    return generation;
  }

  /** Adds journal records to the state. If it fails, a part of them may have been added. */
  async replay(records: readonly JournalRecord[]): Promise<void> {
    const { state, settings, file } = this.opened;
    if (records.length === 0) return;
    const tail = await decodeRecords(records, this.#supports.crc32, (number) => {
      throw damagedRecordError(file.name, number);
    });
    await replayJournal(this.opened, tail);
    if (tail.entries.some(({ locals }) => locals.length > 0)) await settings.load(state.current);
  }

  /** Keeps the pages of the present state. */
  hold({ release }: Pick<FollowedState, 'release'>): void {
    this.#holds.push({ version: this.opened.state.current.version, release });
    this.#releaseHolds();
  }

  /** Another generation has taken its place: only snapshots that were taken before read it. */
  retire(): void {
    this.#isPresent = false;
    this.#releaseHolds();
  }

  /** Ends all holds unless a snapshot needs one. Returns whether they were ended. */
  releaseIfUnread(): boolean {
    if (this.#register.oldestVersion !== Number.POSITIVE_INFINITY) return false;
    this.#endHolds(this.#holds.length);
    return true;
  }

  /** Ends all holds. */
  close(): void {
    this.#endHolds(this.#holds.length);
  }

  #releaseHolds(): void {
    const oldestRead = this.#register.oldestVersion;
    if (!this.#isPresent && oldestRead === Number.POSITIVE_INFINITY) {
      this.#endHolds(this.#holds.length);
      return;
    }
    const oldest = Math.min(oldestRead, this.opened.state.current.version);
    // A hold serves the states from its own version on, until the next hold.
    const needed = this.#holds.findLastIndex(({ version }) => version <= oldest);
    if (needed > 0) this.#endHolds(needed);
  }

  #endHolds(count: number): void {
    for (const { release } of this.#holds.splice(0, count)) release();
  }
}
