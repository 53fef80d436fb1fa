import { assert } from '../../../base/shared/assert.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import type {
  RowOptions,
  UpdateMode,
  ViewDefinition,
  ViewGroup,
  ViewGroupInfo,
  ViewReader,
  ViewWatch,
} from '../contract.ts';
import { LeasedWatch } from './leased-watch.ts';
import type { IndexSource, ViewIndex } from './view-index.ts';

/** Where a lease gets its index from. */
export interface LeaseOrigin {
  /** Leases the index that is opened in the place of one that has failed. */
  again(): Promise<ViewIndex>;
  release(index: ViewIndex): void;
}

/**
 * One design document's lease of its index, which other design documents with equal views may share. If the index turns
 * out to be damaged, the lease continues with the one that is built in its place.
 */
export class IndexLease implements ViewGroup {
  readonly #source: IndexSource;
  /** Undefined for an index that only this lease has, and that is in memory only. */
  readonly #origin: LeaseOrigin | undefined;
  #index: ViewIndex;
  #replacing: Promise<ViewIndex> | undefined;
  #isReleased = false;

  constructor(index: ViewIndex, source: IndexSource, origin: LeaseOrigin | undefined) {
    this.#index = index;
    this.#source = source;
    this.#origin = origin;
  }

  get signature(): string {
    return this.#index.definition.signature;
  }

  get language(): string {
    return this.#index.definition.language;
  }

  get views(): ReadonlyMap<string, ViewDefinition> {
    return this.#index.definition.views;
  }

  get options(): Readonly<Record<string, unknown>> {
    return this.#index.definition.options;
  }

  read(mode: UpdateMode = 'before'): MaybePromise<ViewReader> {
    assert(!this.#isReleased, 'a released view group is not read');
    const index = this.#index;
    if (mode === 'before') return index.isCurrent(this.#source) ? this.#reader(index) : this.#readUpdated();
    if (mode === 'after') this.#updateInBackground();
    return index.isPrepared ? this.#reader(index) : this.#readPrepared();
  }

  #reader(index: ViewIndex): ViewReader {
    return index.reader(() => this.#replace(index));
  }

  async #readUpdated(): Promise<ViewReader> {
    return this.#reader(await this.#updated());
  }

  /** Returns the index, up to date; its replacement if it turns out to be damaged. */
  async #updated(): Promise<ViewIndex> {
    const index = this.#index;
    try {
      await index.update(this.#source);
      return index;
    } catch (error) {
      if (!index.isDamaged || this.#origin === undefined) throw error;
      return this.#replace(index);
    }
  }

  /** Returns the replacement of a damaged index, up to date. */
  async #replace(damaged: ViewIndex): Promise<ViewIndex> {
    assert(this.#origin !== undefined, 'an index in memory has no pages that could be damaged');
    if (this.#index === damaged) {
      this.#replacing ??= this.#leaseAgain(this.#origin).finally(() => {
        this.#replacing = undefined;
      });
      await this.#replacing;
    }
    const index = this.#index;
    await index.update(this.#source);
    return index;
  }

  async #leaseAgain(origin: LeaseOrigin): Promise<ViewIndex> {
    const index = await origin.again();
    if (this.#isReleased) origin.release(index);
    else this.#index = index;
    return index;
  }

  async #readPrepared(): Promise<ViewReader> {
    const index = this.#index;
    await index.prepare(this.#source);
    return this.#reader(index);
  }

  /** Ignores a failure, because the next update fails with it again. */
  #updateInBackground(): void {
    this.#index.update(this.#source).catch(() => undefined);
  }

  watch(view: string, options: RowOptions = {}): ViewWatch {
    return new LeasedWatch(() => this.#index, view, options);
  }

  async info(): Promise<ViewGroupInfo> {
    return { signature: this.signature, language: this.language, ...(await this.#index.info()) };
  }

  compact(): Promise<void> {
    return this.#index.compact(this.#source);
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#origin?.release(this.#index);
  }
}
