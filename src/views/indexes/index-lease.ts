import { assert } from '../../shared/assert.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';
import type { UpdateMode, ViewDefinition, ViewGroup, ViewGroupInfo, ViewReader } from '../contract.ts';
import type { Asker, ViewIndex } from './view-index.ts';

/** One design document's hold on its index, which other design documents with equal views may share. */
export class IndexLease implements ViewGroup {
  readonly #index: ViewIndex;
  readonly #asker: Asker;
  readonly #onRelease: () => void;
  #isReleased = false;

  constructor(index: ViewIndex, asker: Asker, onRelease: () => void) {
    this.#index = index;
    this.#asker = asker;
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
    if (mode === 'before') return index.isCurrent(this.#asker) ? index.reader() : this.#readUpdated();
    if (mode === 'after') this.#updateLater();
    return index.isPrepared ? index.reader() : this.#readPrepared();
  }

  async #readUpdated(): Promise<ViewReader> {
    await this.#index.update(this.#asker);
    return this.#index.reader();
  }

  async #readPrepared(): Promise<ViewReader> {
    await this.#index.prepare(this.#asker);
    return this.#index.reader();
  }

  /** What fails is told to whoever asks for the update next. */
  #updateLater(): void {
    this.#index.update(this.#asker).catch(() => undefined);
  }

  async info(): Promise<ViewGroupInfo> {
    return { signature: this.signature, language: this.language, ...(await this.#index.info()) };
  }

  compact(): Promise<void> {
    return this.#index.compact(this.#asker);
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#onRelease();
  }
}
