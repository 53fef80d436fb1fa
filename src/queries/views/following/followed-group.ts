import { assert } from '../../../base/shared/assert.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { readOnlyError } from '../../../storage/paging/page-errors.ts';
import type { UpdateMode, ViewDefinition, ViewGroup, ViewGroupInfo, ViewReader, ViewWatch } from '../contract.ts';
import type { FollowedIndex, FollowedSource } from './followed-index.ts';

/** A lease of an index that another process owns. What only the owner can do fails with `not_owner`. */
export class FollowedGroup implements ViewGroup {
  readonly #index: FollowedIndex;
  readonly #source: FollowedSource;
  readonly #onRelease: () => void;
  #isReleased = false;

  constructor(index: FollowedIndex, source: FollowedSource, onRelease: () => void) {
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
    return this.#index.read(this.#source, mode);
  }

  /** A feed may have to go on when only the owner can update the index. */
  watch(): ViewWatch {
    throw this.#notOwner();
  }

  async info(): Promise<ViewGroupInfo> {
    throw this.#notOwner();
  }

  async compact(): Promise<void> {
    throw this.#notOwner();
  }

  #notOwner(): Error {
    return readOnlyError(`the index of ${this.#index.databaseName}`);
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#onRelease();
  }
}
