import type { PageNumber } from '../../storage/page-store.ts';
import type { DatabaseCore } from '../writing/writer.ts';
import { Repacker } from './repacker.ts';

/** Who empties body pages, and those that were emptied, until a checkpoint frees them. */
export class EmptiedPages {
  /** Pages that can't be emptied. */
  readonly damaged = new Set<PageNumber>();
  readonly repacker: Repacker;
  #dropped: PageNumber[] = [];

  constructor(core: DatabaseCore) {
    this.repacker = new Repacker(core, this);
  }

  add(pages: readonly PageNumber[]): void {
    this.#dropped.push(...pages);
  }

  /** Pages that were emptied since the last call; they are garbage once a checkpoint has stored the present state. */
  take(): PageNumber[] {
    const dropped = this.#dropped;
    this.#dropped = [];
    return dropped;
  }

  /** Gives back what `take` gave, when the checkpoint failed. */
  putBack(pages: readonly PageNumber[]): void {
    this.#dropped = [...pages, ...this.#dropped];
  }

  get areThere(): boolean {
    return this.#dropped.length > 0;
  }
}
