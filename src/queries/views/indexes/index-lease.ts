import { DatabaseError } from '../../../base/errors/database-error.ts';
import { assert } from '../../../base/shared/assert.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import type {
  RowChange,
  RowOptions,
  UpdateMode,
  ViewDefinition,
  ViewGroup,
  ViewGroupInfo,
  ViewReader,
  ViewWatch,
} from '../contract.ts';
import { StoredRow } from '../trees/row-tree.ts';
import type { RowDifference, RowWatch } from '../updating/row-watches.ts';
import { rangesOf } from './index-reader.ts';
import type { IndexSource, ViewIndex } from './view-index.ts';

/** Where a lease gets its index from. */
interface LeaseOrigin {
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

/** A watch of the index that a lease has; it continues with the one that takes the place of a damaged index. */
class LeasedWatch implements ViewWatch {
  readonly #current: () => ViewIndex;
  readonly #view: string;
  readonly #options: RowOptions;
  #index: ViewIndex;
  #watch: RowWatch;

  /** `current`: the index that the lease has now. */
  constructor(current: () => ViewIndex, view: string, options: RowOptions) {
    this.#current = current;
    this.#view = view;
    this.#options = options;
    this.#index = current();
    this.#watch = this.#begin();
  }

  #begin(): RowWatch {
    const ref = this.#index.definition.treeRefs.get(this.#view);
    if (ref === undefined) throw new DatabaseError('not_found', 'missing_named_view');
    return this.#index.watches.begin(ref.tree, [...rangesOf(this.#options)]);
  }

  take(reader: ViewReader): readonly RowChange[] | undefined {
    const index = this.#current();
    if (index !== this.#index) {
      this.#watch.end();
      this.#index = index;
      this.#watch = this.#begin();
      return undefined;
    }
    const differences = this.#watch.take(reader.version);
    return differences && netOf(differences).map(({ kind, key, value }) => ({ kind, row: new StoredRow(key, value) }));
  }

  end(): void {
    this.#watch.end();
  }
}

/** Returns one difference for each row, in the order in which the rows were first touched. */
function netOf(differences: readonly RowDifference[]): RowDifference[] {
  const net = new Map<string, RowDifference>();
  for (const difference of differences) {
    const { text } = difference.key;
    const both = joined(net.get(text), difference);
    if (both === undefined) net.delete(text);
    else net.set(text, both);
  }
  return [...net.values()];
}

/** Returns undefined if nothing has changed in the end. */
function joined(earlier: RowDifference | undefined, later: RowDifference): RowDifference | undefined {
  if (earlier === undefined) return later;
  if (earlier.kind === 'added') return later.kind === 'removed' ? undefined : { ...later, kind: 'added' };
  if (earlier.kind !== 'removed') return later;
  return earlier.value === later.value ? undefined : { ...later, kind: 'changed' };
}
