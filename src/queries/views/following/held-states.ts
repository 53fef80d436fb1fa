import type { FollowedState } from '../../../storage/page-store.ts';
import type { SnapshotRegister } from '../../../storage/paging/snapshot-register.ts';

interface Hold {
  /** The version of the index from which on it is needed. */
  readonly version: number;
  release(): void;
}

/** The holds of a followed index: each serves the versions from its own on, until the next hold. */
export class HeldStates {
  readonly #snapshots: SnapshotRegister;
  /** Oldest first. */
  readonly #holds: Hold[] = [];

  constructor(snapshots: SnapshotRegister) {
    this.#snapshots = snapshots;
  }

  add(version: number, { release }: Pick<FollowedState, 'release'>): void {
    this.#holds.push({ version, release });
    this.releaseOld();
  }

  /** Ends the holds of versions before the last one added that no reader has. */
  releaseOld(): void {
    const { oldestVersion } = this.#snapshots;
    const needed = this.#holds.findLastIndex(({ version }) => version <= oldestVersion);
    if (needed > 0) this.#end(needed);
  }

  /** Ends all holds unless someone reads. Returns whether they were ended. */
  releaseIfUnread(): boolean {
    if (this.#snapshots.oldestVersion !== Number.POSITIVE_INFINITY) return false;
    this.releaseAll();
    return true;
  }

  releaseAll(): void {
    this.#end(this.#holds.length);
  }

  #end(count: number): void {
    for (const { release } of this.#holds.splice(0, count)) release();
  }
}
