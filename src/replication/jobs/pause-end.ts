/** Ends the wait of a replication after an attempt that did not count, as soon as what it waits for may be there. */
import type { ReplicatorHost } from '../contract.ts';
import { CredentialsAwaited, ReplicationError, unreachableOf } from '../failure.ts';

export class PauseEnd {
  /** Another replication's response ended the last wait. */
  #wasWoken = false;

  /**
   * Calls back once: when the host responds to another replication, or when credentials may be there. Returns a function that ends this;
   * undefined if nothing is to be expected.
   */
  expect(
    failure: unknown,
    { reachability, tokens }: Pick<ReplicatorHost, 'reachability' | 'tokens'>,
    goOn: () => void,
  ): (() => void) | undefined {
    const wasWoken = this.#wasWoken;
    this.#wasWoken = false;
    if (failure instanceof CredentialsAwaited) return tokens?.next(failure, goOn);
    const unreachable = unreachableOf(failure);
    // A host that responds only to others would wake this one again and again, and one may have said when to come again.
    if (unreachable === undefined || wasWoken || isToldWhen(failure)) return undefined;
    return reachability?.next(unreachable, () => {
      this.#wasWoken = true;
      goOn();
    });
  }

  /** The replication goes on, or is tried again for another reason. */
  reset(): void {
    this.#wasWoken = false;
  }
}

function isToldWhen(failure: unknown): boolean {
  return failure instanceof ReplicationError && failure.retryAfterMs !== undefined;
}
