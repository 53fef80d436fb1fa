/**
 * Owns the list of running tasks that `GET /_active_tasks` shows (docs/http.md#active-tasks). Tasks are of this process and are
 * forgotten when they end.
 */
import type { Clock } from '../shared/clock.ts';
import type { ActiveTask } from './contract.ts';

/** One task, in the field names of the interface. */
interface TaskStatus {
  readonly type: string;
  readonly pid: string;
  readonly database: string;
  /** Of an indexer: the design document whose index is built. */
  readonly design_document?: string;
  /** What the task works on, in words, as the general listing of earlier versions has it. */
  readonly task: string;
  /** How far it is, in words. */
  readonly status: string;
  /** Per cent, 0 to 100. */
  readonly progress: number;
  readonly changes_done: number;
  readonly total_changes: number;
  /** Seconds since the epoch. */
  readonly started_on: number;
  readonly updated_on: number;
}

export class ActiveTasks {
  readonly #clock: Clock;
  readonly #running = new Map<number, TaskStatus>();
  #lastNumber = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `type` is `database_compaction`, `indexer`, `view_compaction` or `replication`. */
  start(type: string, database: string, designDocument?: string): ActiveTask {
    const number = ++this.#lastNumber;
    const now = this.#seconds();
    const design = designDocument === undefined ? {} : { design_document: designDocument };
    const task = designDocument === undefined ? database : `${database} ${designDocument}`;
    const whose = { type, pid: `<0.${number}.0>`, database, ...design, task };
    const figures = { status: 'Starting', progress: 0, changes_done: 0, total_changes: 0 };
    this.#running.set(number, { ...whose, ...figures, started_on: now, updated_on: now });
    return {
      type,
      database,
      update: (changesDone, totalChanges) => this.#update(number, changesDone, totalChanges),
      end: () => {
        this.#running.delete(number);
      },
    };
  }

  /** In the order in which they were started. */
  list(): readonly TaskStatus[] {
    return [...this.#running.values()];
  }

  #update(number: number, changesDone: number, totalChanges: number): void {
    const task = this.#running.get(number);
    if (task === undefined) return;
    const progress = totalChanges === 0 ? 0 : Math.min(100, Math.floor((changesDone * 100) / totalChanges));
    const status = `Processed ${changesDone} of ${totalChanges} changes (${progress}%)`;
    const figures = { status, progress, changes_done: changesDone, total_changes: totalChanges };
    this.#running.set(number, { ...task, ...figures, updated_on: this.#seconds() });
  }

  #seconds(): number {
    return Math.floor(this.#clock.now() / 1000);
  }
}
