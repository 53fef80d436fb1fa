import { assert } from '../../shared/assert.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';
import type { UpdateMode, ViewDefinition, ViewGroup, ViewGroupInfo, ViewReader } from '../contract.ts';
import type { IndexSource, ViewIndex } from './view-index.ts';

/** One design document's lease of its index, which other design documents with equal views may share. */
export class IndexLease implements ViewGroup {
  readonly #index: ViewIndex;
  readonly #source: IndexSource;
  readonly #onRelease: () => void;
  #isReleased = false;

  constructor(index: ViewIndex, source: IndexSource, onRelease: () => void) {
    this.#index = index;
    this.#source = source;
    this.#onRelease = onRelease;
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
    if (mode === 'before') return index.isCurrent(this.#source) ? index.reader() : this.#readUpdated();
    if (mode === 'after') this.#updateInBackground();
    return index.isPrepared ? index.reader() : this.#readPrepared();
  }

  async #readUpdated(): Promise<ViewReader> {
    await this.#index.update(this.#source);
    return this.#index.reader();
  }

  async #readPrepared(): Promise<ViewReader> {
    await this.#index.prepare(this.#source);
    return this.#index.reader();
  }

  /** A failure is ignored here, because the next update fails with it again. */
  #updateInBackground(): void {
    this.#index.update(this.#source).catch(() => undefined);
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
    this.#onRelease();
  }
}
