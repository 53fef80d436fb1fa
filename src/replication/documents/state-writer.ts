import { isDatabaseError } from '../../base/errors/database-error.ts';
import { startBackgroundTimer } from '../../base/shared/background-timer.ts';
import { nextTurn } from '../../base/shared/turn.ts';
import type { Log } from '../../base/system/contract.ts';
import type { RevId } from '../../database/documents/contract.ts';
import type { StateMembers } from './state-members.ts';

/** After a failure of the storage. */
const AGAIN_MS = 5_000;

export interface StateWriterParts {
  /** Gives the new revision; undefined where the document is another by now. */
  readonly write: (rev: RevId, state: StateMembers) => Promise<RevId | undefined>;
  /** What was wanted is there. */
  readonly written: () => void;
  readonly log: Log;
}

/**
 * Writes into one document how its replication is. What is wanted while it writes, or in the same turn, replaces what was wanted before: so
 * what has passed already is never written.
 */
export class StateWriter {
  rev: RevId;
  readonly #parts: StateWriterParts;
  #stored: StateMembers;
  #wanted: StateMembers | undefined;
  #writing: Promise<void> | undefined;
  #stopTimer: (() => void) | undefined;
  #isStopped = false;

  constructor(rev: RevId, stored: StateMembers, parts: StateWriterParts) {
    this.rev = rev;
    this.#stored = stored;
    this.#parts = parts;
  }

  want(state: StateMembers): void {
    if (this.#isStopped) return;
    this.#wanted = state;
    this.#begin();
  }

  async settled(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  /** What is not written yet will not be. */
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
        if (!(await this.#store(state))) return this.stop();
      } catch (failure) {
        return this.#tryLater(state, failure);
      }
    }
    if (!this.#isStopped) this.#parts.written();
  }

  /** Gives false where the document is another by now: whoever watches it finds that out, and begins anew. */
  async #store(state: StateMembers): Promise<boolean> {
    if (isSame(state, this.#stored)) return true;
    const rev = await this.#parts.write(this.rev, state);
    if (rev === undefined) return false;
    this.rev = rev;
    this.#stored = state;
    return true;
  }

  #tryLater(state: StateMembers, failure: unknown): void {
    if (this.#isStopped) return;
    const { log } = this.#parts;
    if (isDatabaseError(failure)) log.info(`the state of a replication document is written later: ${failure.message}`);
    else log.error('the state of a replication document could not be written', failure);
    this.#wanted ??= state;
    this.#stopTimer = startBackgroundTimer(AGAIN_MS, () => this.#begin());
  }
}

/** Whether both tell the same, at whatever time. */
function isSame(one: StateMembers, other: StateMembers): boolean {
  const textOf = ({ _replication_state_time: _time, ...state }: StateMembers) =>
    JSON.stringify(
      Object.entries(state)
        .filter(([, value]) => value !== undefined)
        .sort(),
    );
  return textOf(one) === textOf(other);
}
