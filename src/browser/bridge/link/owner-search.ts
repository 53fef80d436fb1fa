/** Looks for the owner by the locks that it holds, and where nobody owns the storage, lets its host see to an owner. */
import type { Instance } from '../contract.ts';
import { isOwnershipWanted, ownerOf } from '../instance.ts';

export interface OwnerSearchOptions {
  readonly instance: Instance;
  readonly locks: LockManager;
  /** See `LinkOptions`. */
  readonly whenNobody?: (() => Promise<void>) | undefined;
  /** Called with the owner that the locks show. */
  onFound(ownerId: string): void;
  /** Whether an owner is known, or is of no use any more. */
  isOver(): boolean;
}

export class OwnerSearch {
  readonly #options: OwnerSearchOptions;
  #isUnderWay = false;
  #failure: string | undefined;

  constructor(options: OwnerSearchOptions) {
    this.#options = options;
  }

  /** Why there is no owner, where that is known. */
  get failure(): string | undefined {
    return this.#failure;
  }

  forgetFailure(): void {
    this.#failure = undefined;
  }

  /** Looks once; does nothing while it does so already. Never rejects. */
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

  /** Reports the owner whom the locks show. True where there is none, and nobody waits to become it. */
  async #isNobodyThere(): Promise<boolean> {
    const { instance, locks, onFound, isOver } = this.#options;
    const snapshot = await locks.query();
    if (isOver()) return false;
    const owner = ownerOf(snapshot, instance);
    if (owner !== undefined) onFound(owner);
    return !isOwnershipWanted(snapshot, instance);
  }
}
