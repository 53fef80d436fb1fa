import { isDatabaseError } from '../../base/errors/database-error.ts';
import { startBackgroundTimer } from '../../base/shared/clock.ts';
import { nextTurn } from '../../base/shared/turn.ts';
import type { Log } from '../../base/system/contract.ts';
import type { RevId } from '../../database/documents/contract.ts';
import type { StateMembers } from './state-members.ts';

/** Wait after a failure of the storage. */
const AGAIN_MS = 5_000;
const COULD_NOT_WRITE = `the state of a replication document could not be written; next attempt in ${AGAIN_MS / 1_000} s`;

export interface StateWriterOptions {
  /** Returns the new revision; undefined if the document was changed by someone else. */
  readonly write: (rev: RevId, state: StateMembers) => Promise<RevId | undefined>;
  /** Called when the wanted state is stored. */
  readonly written: () => void;
  readonly log: Log;
}

/**
 * Writes a replication's state into one document. A newer state replaces one that waits (during a write, or in the same event loop turn): so
 * outdated states are never written.
 */
export class StateWriter {
  rev: RevId;
  readonly #options: StateWriterOptions;
  #stored: StateMembers;
  #wanted: StateMembers | undefined;
  #writing: Promise<void> | undefined;
  #stopTimer: (() => void) | undefined;
  #isStopped = false;
  #isLost = false;

  constructor(rev: RevId, stored: StateMembers, options: StateWriterOptions) {
    this.rev = rev;
    this.#stored = stored;
    this.#options = options;
  }

  want(state: StateMembers): void {
    if (this.#isStopped) return;
    this.#wanted = state;
    if (!this.#isLost) this.#begin();
  }

  /** Someone else has written that revision, which reports the given state. */
  moveTo(rev: RevId, stored: StateMembers): void {
    this.rev = rev;
    this.#stored = stored;
    this.#isLost = false;
    if (this.#wanted !== undefined) this.#begin();
  }

  async settled(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  /** Pending states are not written any more. */
  stop(): void {
    this.#isStopped = true;
    this.#wanted = undefined;
    this.#stopTimer?.();
  }

  #begin(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
  }

  async #write(): Promise<void> {
    await nextTurn();
    for (let state = this.#wanted; state !== undefined; state = this.#wanted) {
      this.#wanted = undefined;
      try {
        if (!(await this.#store(state))) return this.#lose(state);
      } catch (failure) {
        return this.#tryLater(state, failure);
      }
    }
    if (!this.#isStopped) this.#options.written();
  }

  /** Someone else has changed the document: its watcher finds that out, and either stops this or calls `moveTo`. */
  #lose(state: StateMembers): void {
    this.#isLost = true;
    this.#wanted ??= state;
  }

  /** Returns false if the document was changed. */
  async #store(state: StateMembers): Promise<boolean> {
    if (isSame(state, this.#stored)) return true;
    const rev = await this.#options.write(this.rev, state);
    if (rev === undefined) return false;
    this.rev = rev;
    this.#stored = state;
    return true;
  }

  #tryLater(state: StateMembers, failure: unknown): void {
    if (this.#isStopped) return;
    const { log } = this.#options;
    if (isDatabaseError(failure)) log.info(`${COULD_NOT_WRITE}: ${failure.message}`);
    else log.error(COULD_NOT_WRITE, failure);
    this.#wanted ??= state;
    this.#stopTimer = startBackgroundTimer(AGAIN_MS, () => this.#begin());
  }
}

/** Whether both report the same, apart from the time. */
function isSame(one: StateMembers, other: StateMembers): boolean {
  const textOf = ({ _replication_state_time: _time, ...state }: StateMembers) =>
    JSON.stringify(
      Object.entries(state)
        .filter(([, value]) => value !== undefined)
        .sort(),
    );
  return textOf(one) === textOf(other);
}
