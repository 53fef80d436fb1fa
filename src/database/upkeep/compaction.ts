import type { ActiveTask } from '../../system/contract.ts';
import { BarrierJob } from '../writing/jobs.ts';
import { Compactor } from './compactor.ts';
import type { UpkeepParts, UpkeepSettings } from './upkeep.ts';

/** The compactions of one open database, one at a time. */
export class Compaction {
  readonly #parts: UpkeepParts;
  readonly #settings: UpkeepSettings;
  readonly #compactor: Compactor;
  readonly #checkpoint: () => Promise<void>;
  #ended = false;
  #endReason: unknown;

  /** `checkpoint` stores everything that only the journal holds. */
  constructor(parts: UpkeepParts, settings: UpkeepSettings, checkpoint: () => Promise<void>) {
    const { core, emptied, snapshots, writer } = parts;
    this.#parts = parts;
    this.#settings = settings;
    this.#checkpoint = checkpoint;
    this.#compactor = new Compactor(core, emptied.repacker, snapshots);
    writer.addBackground(this.#compactor);
  }

  /** What runs ends early, and nothing is begun any more. */
  end(reason: unknown): void {
    this.#ended = true;
    this.#endReason ??= reason;
    this.#compactor.fail(reason);
  }

  /** Gives the size of the file afterwards. Shown as a task (interface.md 2.11), whoever asked for it. */
  async run(): Promise<number> {
    const task = this.#parts.tasks?.start('database_compaction', this.#settings.name);
    try {
      await this.#compact(task);
    } finally {
      task?.end();
    }
    return this.#parts.core.file.size();
  }

  async #compact(task: ActiveTask | undefined): Promise<void> {
    const { checkpointer, core, writer } = this.#parts;
    const barrier = new BarrierJob('relaxed');
    writer.submit(barrier);
    await barrier.promise;
    // The barrier may have come through with the last commit before the end; a checkpoint would never come then.
    this.#mustGoOn();
    // Bodies that only the journal holds are in no page that could be emptied.
    await this.#checkpoint();
    const changes = core.state.bySeq.count;
    task?.update(0, changes);
    // A page counts for its share of the changes, and what comes after the last page as another one.
    await this.#compactor.start((done, total) => task?.update(Math.floor((changes * done) / (total + 1)), changes));
    this.#mustGoOn();
    writer.wake();
    await this.#compactor.done;
    this.#mustGoOn();
    await this.#checkpoint();
    this.#mustGoOn();
    // Before the file is copied: its copy would be larger by that for ever.
    const dropped = checkpointer.dropped();
    writer.wake();
    await dropped;
    if (!this.#settings.shrinks && !this.#ended) await core.file.compact?.();
  }

  #mustGoOn(): void {
    if (!this.#ended) return;
    this.#compactor.fail(this.#endReason);
    throw this.#endReason;
  }
}
