/** Publishes what the list of running tasks has (docs/node.md#channels), and counts it (docs/http/server.md#prometheus). */
import { ActiveTasks, type ReplicationIdentity, type ReplicationTask } from '../../base/system/active-tasks.ts';
import type { ActiveTask, Metric } from '../../base/system/contract.ts';
import { compactions, replications, type TracedReplication, type TracedTask, viewUpdates } from './channels.ts';

const STATES = ['running', 'paused', 'crashing', 'unauthorized'] as const;
const TYPES = ['indexer', 'database_compaction', 'view_compaction'] as const;

interface RunningReplication {
  state: (typeof STATES)[number];
  pending: number;
}

export class PublishedTasks extends ActiveTasks {
  readonly #replications = new Set<RunningReplication>();
  readonly #running: Record<string, number> = {};
  readonly #begun: Record<string, number> = {};
  #docsWritten = 0;
  #docWriteFailures = 0;

  /** They begin at 0 with each core. */
  get metrics(): readonly Metric[] {
    const replications = [...this.#replications];
    const pending = replications.reduce((sum, one) => sum + one.pending, 0);
    return [
      ...STATES.map((state): Metric => {
        const value = replications.filter((one) => one.state === state).length;
        return { name: 'replications', type: 'gauge', help: 'replications that there are', labels: { state }, value };
      }),
      gauge('replication_changes_pending', 'changes that they have still to look at, as far as sources say', pending),
      counter('replication_docs_written', 'document revisions that replications have written', this.#docsWritten),
      counter('replication_doc_write_failures', 'those that targets refused', this.#docWriteFailures),
      ...TYPES.map((type) => ({
        ...gauge('running_tasks', 'tasks that run', this.#running[type] ?? 0),
        labels: { type },
      })),
      ...TYPES.map((type) => ({
        ...counter('tasks', 'tasks that have begun', this.#begun[type] ?? 0),
        labels: { type },
      })),
    ];
  }

  override start(type: string, database: string, designDocument?: string): ActiveTask {
    const task = super.start(type, database, designDocument);
    this.#begun[type] = (this.#begun[type] ?? 0) + 1;
    this.#running[type] = (this.#running[type] ?? 0) + 1;
    const channel = type === 'indexer' ? viewUpdates : compactions;
    const traced: TracedTask = { database, designDocument, changesDone: 0, totalChanges: 0 };
    const isHeard = channel.isHeard;
    if (isHeard) channel.begin(traced);
    return {
      ...task,
      update: (changesDone, totalChanges) => {
        Object.assign(traced, { changesDone, totalChanges });
        task.update(changesDone, totalChanges);
      },
      end: once(() => {
        task.end();
        this.#running[type] = (this.#running[type] ?? 1) - 1;
        if (isHeard) channel.end(traced);
      }),
    };
  }

  override startReplication(what: ReplicationIdentity): ReplicationTask {
    const task = super.startReplication(what);
    const { replication_id: id, source, target, continuous, user } = what;
    const figures = { docsRead: 0, docsWritten: 0, docWriteFailures: 0 };
    const traced: TracedReplication = { id, source, target, continuous, user, ...figures };
    const running: RunningReplication = { state: 'running', pending: 0 };
    this.#replications.add(running);
    const isHeard = replications.isHeard;
    if (isHeard) replications.begin(traced);
    return {
      update: (progress, refused, trouble) => {
        const { docsRead, docsWritten, docWriteFailures, pending = 0 } = progress;
        // A run that begins again counts from 0.
        this.#docsWritten += Math.max(0, docsWritten - traced.docsWritten);
        this.#docWriteFailures += Math.max(0, docWriteFailures - traced.docWriteFailures);
        Object.assign(running, { pending, state: trouble?.state ?? 'running' });
        Object.assign(traced, { docsRead, docsWritten, docWriteFailures, error: trouble?.error });
        task.update(progress, refused, trouble);
      },
      pause: (trouble) => {
        traced.error = trouble.error;
        running.state = trouble.state;
        task.pause(trouble);
      },
      end: once(() => {
        task.end();
        this.#replications.delete(running);
        if (isHeard) replications.end(traced);
      }),
    };
  }
}

function gauge(name: string, help: string, value: number): Metric {
  return { name, type: 'gauge', help, value };
}

function counter(name: string, help: string, value: number): Metric {
  return { name: `${name}_total`, type: 'counter', help, value };
}

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    act();
  };
}
