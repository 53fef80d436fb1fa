/** Looks for the owner by the locks that it holds, and if no one owns the storage, lets its host provide an owner. */
import type { Instance } from '../contract.ts';
import { isOwnershipWanted, ownerOf } from '../instance.ts';

export interface OwnerSearchOptions {
  readonly instance: Instance;
  readonly locks: LockManager;
  /** See `LinkOptions`. */
  readonly whenNobody?: (() => Promise<void>) | undefined;
  /** Called with the owner that the locks show. */
  onFound(ownerId: string): void;
  /** Whether an owner is known, or no longer needed. */
  isOver(): boolean;
}

export class OwnerSearch {
  readonly #options: OwnerSearchOptions;
  #isUnderWay = false;
  #failure: string | undefined;

  constructor(options: OwnerSearchOptions) {
    this.#options = options;
  }

  /** Why there is no owner, if that is known. */
  get failure(): string | undefined {
    return this.#failure;
  }

  forgetFailure(): void {
    this.#failure = undefined;
  }

  /** Looks once; does nothing if it is already looking. Never rejects. */
  async run(): Promise<void> {
    if (this.#isUnderWay) return;
    this.#isUnderWay = true;
    try {
      if (await this.#isNobodyThere()) {
        await this.#options.whenNobody?.();
        this.#failure = undefined;
        await this.#isNobodyThere();
      }
    } catch (error) {
      this.#failure = error instanceof Error ? error.message : String(error);
    } finally {
      this.#isUnderWay = false;
    }
  }

  /** Reports the owner that the locks show. Returns true if there is none, and no one waits to become it. */
  async #isNobodyThere(): Promise<boolean> {
    const { instance, locks, onFound, isOver } = this.#options;
    const snapshot = await locks.query();
    if (isOver()) return false;
    const owner = ownerOf(snapshot, instance);
    if (owner !== undefined) onFound(owner);
    return !isOwnershipWanted(snapshot, instance);
  }
}
