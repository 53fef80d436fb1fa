import type { ReplacedNode } from '../../../storage/btree/contract.ts';
import type { PageNumber } from '../../../storage/page-store.ts';
import type { BodyPage } from '../bodies/body-page.ts';
import type { BodyStore } from '../bodies/body-store.ts';
import type { State } from './state.ts';
import type { NextState } from './tree-updates.ts';

/** What a checkpoint moves to the file's trees: one state, and everything added and removed since the last one. */
export interface Capture {
  readonly state: State;
  /** The state contains the journal records below this number. */
  readonly journalFrom: number;
  readonly journalBytes: number;
  readonly journalRecords: number;
  /** Tree nodes that are no longer part of the state. */
  readonly replaced: readonly ReplacedNode[];
  /** Body pages that were emptied. */
  readonly emptied: readonly PageNumber[];
  /** Body pages that are not stored yet. */
  readonly bodyPages: readonly BodyPage[];
}

/**
 * The current state of one open database, and the part of it that the trees in the file do not have yet.
 *
 * - Readers take `current`, at any time. It is only ever replaced as a whole, by a state with a higher version.
 * - Each tree node and body page that leaves the state is in the next capture, so that its page becomes free. A capture
 *   whose checkpoint failed is put back, and nothing of it is lost to the next one.
 * - A capture is of one moment: its state contains exactly the journal records below `journalFrom`.
 * - `journalBytes` and `journalRecords` count what the journal holds that was not captured.
 *
 * It changes in the turns of the write queue, one after another; before the first turn, while the database is opened.
 */
export class DatabaseState {
  readonly bodies: BodyStore;
  #current: State;
  #nextJournal: number;
  #journalBytes = 0;
  #journalRecords = 0;
  #newPackedPages = 0;
  #replaced: ReplacedNode[] = [];
  #emptied: PageNumber[] = [];
  #unnotedLineage: string | undefined;

  constructor(current: State, bodies: BodyStore, nextJournal: number) {
    this.#current = current;
    this.bodies = bodies;
    this.#nextJournal = nextJournal;
  }

  get current(): State {
    return this.#current;
  }

  /** The number of the next journal record. */
  get nextJournal(): number {
    return this.#nextJournal;
  }

  get journalBytes(): number {
    return this.#journalBytes;
  }

  get journalRecords(): number {
    return this.#journalRecords;
  }

  /** Body pages that were added since the last capture, stored or not. */
  get newBodyPages(): number {
    return this.bodies.unstoredCount + this.#newPackedPages;
  }

  /** Whether the state holds anything that no checkpoint has captured. */
  get isDirty(): boolean {
    return this.#journalRecords > 0 || this.#replaced.length > 0 || this.#emptied.length > 0;
  }

  /** A lineage that was made when the database was opened, and is not in the journal yet: the next record must hold it. */
  get unnotedLineage(): string | undefined {
    return this.#unnotedLineage;
  }

  /** Makes a state the current one. `emptied`: body pages that it no longer needs. */
  publish({ state, replaced }: NextState, emptied: readonly PageNumber[] = []): void {
    this.#current = state;
    for (const node of replaced) this.#replaced.push(node);
    this.free(emptied);
  }

  /** Frees pages that no state refers to. */
  free(pages: readonly PageNumber[]): void {
    for (const page of pages) this.#emptied.push(page);
  }

  /** Must be called when a journal record is committed, with the number of body pages of the commit. */
  noteCommit(recordBytes: number, packedPages: number): void {
    this.#nextJournal++;
    this.#journalBytes += recordBytes;
    this.#journalRecords++;
    this.#newPackedPages += packedPages;
    this.#unnotedLineage = undefined;
  }

  /** Notes that the journal held these records when the file was opened, and that their changes are being published. */
  noteReplay(records: number, bytes: number): void {
    this.#journalRecords += records;
    this.#journalBytes += bytes;
  }

  /** Makes the next change get the sequence number above this one. Only while the database is being opened. */
  skipTo(updateSeq: number): void {
    this.#current = { ...this.#current, updateSeq };
  }

  /** Publishes a state with a lineage that is not in the journal. Until it is, the database counts as changed. */
  publishUnnoted(next: NextState, lineage: string): void {
    this.publish(next);
    this.#unnotedLineage = lineage;
    this.#journalRecords++;
  }

  /** Lets the database count as changed, so that a checkpoint writes its head. */
  touch(): void {
    this.#journalRecords++;
  }

  /** Returns everything that the file's trees do not have. */
  capture(): Capture {
    const capture: Capture = {
      state: this.#current,
      journalFrom: this.#nextJournal,
      journalBytes: this.#journalBytes,
      journalRecords: this.#journalRecords,
      replaced: this.#replaced,
      emptied: this.#emptied,
      bodyPages: this.bodies.seal(),
    };
    this.#replaced = [];
    this.#emptied = [];
    this.#journalBytes = 0;
    this.#journalRecords = 0;
    this.#newPackedPages = 0;
    return capture;
  }

  /** Puts back a capture whose checkpoint failed. */
  putBack({ replaced, emptied, journalBytes, journalRecords }: Capture): void {
    this.#replaced = [...replaced, ...this.#replaced];
    this.#emptied = [...emptied, ...this.#emptied];
    this.#journalBytes += journalBytes;
    this.#journalRecords += journalRecords;
  }
}
