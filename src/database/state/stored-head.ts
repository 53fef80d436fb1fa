import type { Commit, PageFile } from '../../storage/page-store.ts';
import { encodeHead, type Head } from './head.ts';

/** Sequence numbers that one durable head makes room for, at least … */
const CEILING_STEP = 10_000;
/** … and for how many commits like the one that needs it: large ones should not wait for the medium time and again. */
const CEILING_COMMITS = 50;

/** The head of an open file. After the file's first head, all others are written here. */
export class StoredHead {
  readonly #file: PageFile;
  #current: Head;

  /** `current`: as the file has it. */
  constructor(file: PageFile, current: Head) {
    this.#file = file;
    this.#current = current;
  }

  /** The last head that was written. */
  get current(): Head {
    return this.#current;
  }

  /** Writes a head in one commit with what belongs to it. */
  async write(head: Head, commit: Omit<Commit, 'head'>): Promise<void> {
    await this.#file.commit({ ...commit, head: encodeHead(head) });
    this.#current = head;
  }

  /** Whether a head has to be written before this sequence number may be given out. */
  mustRaiseCeiling(updateSeq: number): boolean {
    return updateSeq > this.#current.seqCeiling || this.#current.clean;
  }

  /**
   * Durably makes room for sequence numbers up to `updateSeq` and some more, so that after a loss (a power cut with relaxed
   * durability) numbering can go on above everything that anyone may have seen. `needed`: how many the next commit takes.
   */
  raiseCeiling(updateSeq: number, needed: number): Promise<void> {
    const seqCeiling = updateSeq + Math.max(CEILING_STEP, CEILING_COMMITS * needed);
    return this.write({ ...this.#current, seqCeiling, clean: false }, { durability: 'strict' });
  }
}
