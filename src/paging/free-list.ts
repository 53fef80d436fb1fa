import { must } from '../shared/assert.ts';
import type { PageNumber } from '../storage/page-store.ts';
import type { SnapshotRegister } from './snapshot-register.ts';

interface FreedPages {
  /** The first state that does not refer to them. */
  readonly version: number;
  readonly pages: PageNumber[];
}

/** Pages that are in the file but no longer part of it, and may be dropped as soon as no snapshot can reach them. */
export class Garbage {
  readonly #snapshots: SnapshotRegister;
  /** Oldest first. */
  #freed: FreedPages[] = [];

  constructor(snapshots: SnapshotRegister) {
    this.#snapshots = snapshots;
  }

  /** Adds pages that no state from `version` on refers to. */
  add(version: number, pages: PageNumber[]): void {
    if (pages.length > 0) this.#freed.push({ version, pages });
  }

  get hasDroppable(): boolean {
    const [oldest] = this.#freed;
    return oldest !== undefined && this.#snapshots.oldestVersion >= oldest.version;
  }

  /** All of it. */
  pages(): PageNumber[] {
    return this.#freed.flatMap(({ pages }) => pages);
  }

  /** Runs a commit that drops up to `limit` pages, none if all are still in reach. They stay garbage if it fails. */
  async dropIn(limit: number, commit: (dropPages: PageNumber[]) => Promise<void>): Promise<void> {
    const { oldestVersion } = this.#snapshots;
    const dropped: PageNumber[] = [];
    for (const { version, pages } of this.#freed) {
      if (version > oldestVersion || dropped.length >= limit) break;
      for (const page of pages.slice(dropped.length - limit)) dropped.push(page);
    }
    await commit(dropped);
    this.#forget(dropped.length);
  }

  #forget(count: number): void {
    let rest = count;
    while (rest > 0) {
      const oldest = must(this.#freed[0]);
      const forgotten = Math.min(rest, oldest.pages.length);
      oldest.pages.length -= forgotten;
      rest -= forgotten;
      if (oldest.pages.length === 0) this.#freed.shift();
    }
  }
}
