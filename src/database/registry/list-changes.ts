import type { Log } from '../../base/system/contract.ts';
import { shutDown } from './handle-cache.ts';

interface ListChangesOptions {
  isLost(): boolean;
  /** Reads the lost list again. */
  recover(): Promise<void>;
  readonly log: Log;
}

/** Changes of the list of databases run one after another. If the list is lost it is read before the next one. */
export class ListChanges {
  readonly #options: ListChangesOptions;
  #last: Promise<unknown> = Promise.resolve();
  #isOver = false;
  /** Whether the list, once lost, was read again without a request for it, and has not been changed since. */
  #wasReadUnasked = false;

  constructor(options: ListChangesOptions) {
    this.#options = options;
  }

  run<T>(change: () => Promise<T>): Promise<T> {
    return this.#afterOthers(async () => {
      await this.#recoverLost();
      const changed = await change();
      this.#wasReadUnasked = false;
      return changed;
    });
  }

  /** Waits for the changes that were begun, and reads the list if it is lost. */
  settled(): Promise<void> {
    return this.#afterOthers(() => this.#recoverLost());
  }

  /** Notes the loss of the list. On storage that can be read but not written, it is lost again after each reading; the next request then reads it. */
  lost(): void {
    if (this.#isOver || this.#wasReadUnasked) return;
    this.#wasReadUnasked = true;
    this.settled().catch((error: unknown) =>
      this.#options.log.error('the list of databases could not be opened; the next request tries again', error),
    );
  }

  /** Refuses further changes, and resolves when those that were begun have ended. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#last;
  }

  #afterOthers<T>(action: () => Promise<T>): Promise<T> {
    if (this.#isOver) return Promise.reject(shutDown());
    const result = this.#last.then(action);
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #recoverLost(): Promise<void> {
    if (this.#options.isLost()) await this.#options.recover();
  }
}
