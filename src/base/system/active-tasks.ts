/**
 * Owns the list of running tasks that `GET /_active_tasks` shows (docs/http/server.md#active-tasks). Tasks belong to this process and are
 * forgotten when they end.
 */
import type { Clock } from '../shared/clock.ts';
import type { ActiveTask } from './contract.ts';

/** One task, in the field names of the interface. */
interface TaskStatus {
  readonly type: string;
  readonly pid: string;
  readonly database: string;
  /** For an indexer: the design document whose index is built. */
  readonly design_document?: string;
  /** What the task works on, in words, as in the general listing of earlier versions. */
  readonly task: string;
  /** Its progress, in words. */
  readonly status: string;
  /** Per cent, 0 to 100. */
  readonly progress: number;
  readonly changes_done: number;
  readonly total_changes: number;
  /** Seconds since the epoch. */
  readonly started_on: number;
  readonly updated_on: number;
}

/** Identifies a replication, in the field names of the interface. Source and target contain no secrets. */
export interface ReplicationIdentity {
  readonly replication_id: string;
  /** Of the document that requests it; null if none does. */
  readonly doc_id: string | null;
  readonly source: string;
  readonly target: string;
  readonly continuous: boolean;
  /** Only if design documents are not copied. */
  readonly design_docs?: false;
  /** The user that requested it. */
  readonly user: string | null;
}

/** The progress of a replication. Sequences are as the source returned them. */
export interface ReplicationProgress {
  readonly docsRead: number;
  readonly docsWritten: number;
  readonly docWriteFailures: number;
  readonly missingChecked: number;
  readonly missingFound: number;
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly sourceSeq: unknown;
  readonly checkpointedSourceSeq: unknown;
  readonly pending: number | undefined;
}

/** Why a replication can't go on at present, in the field names of its lists. */
export interface TaskTrouble {
  /** `paused`: a host can't be reached. `unauthorized`: credentials are awaited. */
  readonly state: 'paused' | 'unauthorized' | 'crashing';
  readonly error: string;
  /** RFC 3339. */
  readonly error_since?: string;
  readonly next_attempt?: string;
}

export interface ReplicationTask {
  /**
   * `refused`: the documents that could not be copied, in the form in which they are shown. `trouble`: undefined while it runs.
   */
  update(progress: ReplicationProgress, refused: readonly object[], trouble?: TaskTrouble): void;
  /** It has stopped, and continues later. The task stays in the list until it ends. */
  pause(trouble: TaskTrouble): void;
  end(): void;
}

interface ReplicationStatus extends TaskStatus, ReplicationIdentity {
  readonly source_seq: unknown;
  readonly checkpointed_source_seq: unknown;
  readonly docs_read: number;
  readonly docs_written: number;
  readonly doc_write_failures: number;
  readonly missing_revisions_found: number;
  readonly revisions_checked: number;
  /** Null if the source does not say. */
  readonly changes_pending: number | null;
  readonly bytes_read: number;
  readonly bytes_written: number;
  readonly refused: readonly object[];
  readonly state: 'running' | TaskTrouble['state'];
  readonly error?: string;
  readonly error_since?: string;
  readonly next_attempt?: string;
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

  startReplication(what: ReplicationIdentity): ReplicationTask {
    const number = ++this.#lastNumber;
    const now = this.#seconds();
    const common = {
      type: 'replication',
      pid: `<0.${number}.0>`,
      database: what.target,
      task: `${what.replication_id}: ${what.source} -> ${what.target}`,
      started_on: now,
    };
    let shown: readonly [ReplicationProgress, readonly object[]] = [NOTHING_YET, []];
    const show = (trouble: TaskTrouble | undefined): void => {
      const [progress, refused] = shown;
      const figures = replicationFigures(progress);
      const status: ReplicationStatus = {
        ...common,
        ...what,
        ...figures,
        ...(trouble === undefined
          ? { state: 'running' }
          : { ...trouble, status: `${figures.status}; ${trouble.error}` }),
        refused,
        updated_on: this.#seconds(),
      };
      this.#running.set(number, status);
    };
    show(undefined);
    return {
      // Updates after the end are ignored.
      update: (progress, refused, trouble) => {
        shown = [progress, refused];
        if (this.#running.has(number)) show(trouble);
      },
      pause: (trouble) => {
        if (this.#running.has(number)) show(trouble);
      },
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
    const progress = percentOf(changesDone, totalChanges, 0);
    const status = `Processed ${changesDone} of ${totalChanges} changes (${progress}%)`;
    const figures = { status, progress, changes_done: changesDone, total_changes: totalChanges };
    this.#running.set(number, { ...task, ...figures, updated_on: this.#seconds() });
  }

  #seconds(): number {
    return Math.floor(this.#clock.now() / 1000);
  }
}

const NOTHING_YET: ReplicationProgress = {
  docsRead: 0,
  docsWritten: 0,
  docWriteFailures: 0,
  missingChecked: 0,
  missingFound: 0,
  bytesRead: 0,
  bytesWritten: 0,
  sourceSeq: 0,
  checkpointedSourceSeq: 0,
  pending: undefined,
};

function replicationFigures(progress: ReplicationProgress) {
  const { missingChecked, pending } = progress;
  const total = missingChecked + (pending ?? 0);
  const percent = percentOf(missingChecked, total, pending === 0 ? 100 : 0);
  return {
    status: `Processed ${missingChecked} of ${total} changes (${percent}%)`,
    progress: percent,
    changes_done: missingChecked,
    total_changes: total,
    source_seq: progress.sourceSeq,
    checkpointed_source_seq: progress.checkpointedSourceSeq,
    docs_read: progress.docsRead,
    docs_written: progress.docsWritten,
    doc_write_failures: progress.docWriteFailures,
    missing_revisions_found: progress.missingFound,
    revisions_checked: missingChecked,
    changes_pending: pending ?? null,
    bytes_read: progress.bytesRead,
    bytes_written: progress.bytesWritten,
  };
}

function percentOf(done: number, total: number, ofNone: number): number {
  return total === 0 ? ofNone : Math.min(100, Math.floor((done * 100) / total));
}
