/** Publishes what the list of running tasks has (docs/node.md#traces). */
import { ActiveTasks, type ReplicationIdentity, type ReplicationTask } from '../../base/system/active-tasks.ts';
import type { ActiveTask } from '../../base/system/contract.ts';
import { compactions, replications, type TracedReplication, type TracedTask, viewUpdates } from './channels.ts';

export class PublishedTasks extends ActiveTasks {
  override start(type: string, database: string, designDocument?: string): ActiveTask {
    const task = super.start(type, database, designDocument);
    const channel = type === 'indexer' ? viewUpdates : compactions;
    if (!channel.isHeard) return task;
    const traced: TracedTask = { database, designDocument, changesDone: 0, totalChanges: 0 };
    channel.begin(traced);
    return {
      ...task,
      update: (changesDone, totalChanges) => {
        Object.assign(traced, { changesDone, totalChanges });
        task.update(changesDone, totalChanges);
      },
      end: once(() => {
        task.end();
        channel.end(traced);
      }),
    };
  }

  override startReplication(what: ReplicationIdentity): ReplicationTask {
    const task = super.startReplication(what);
    if (!replications.isHeard) return task;
    const { replication_id: id, source, target, continuous, user } = what;
    const figures = { docsRead: 0, docsWritten: 0, docWriteFailures: 0 };
    const traced: TracedReplication = { id, source, target, continuous, user, ...figures };
    replications.begin(traced);
    return {
      update: (progress, refused, trouble) => {
        const { docsRead, docsWritten, docWriteFailures } = progress;
        Object.assign(traced, { docsRead, docsWritten, docWriteFailures, error: trouble?.error });
        task.update(progress, refused, trouble);
      },
      pause: (trouble) => {
        traced.error = trouble.error;
        task.pause(trouble);
      },
      end: once(() => {
        task.end();
        replications.end(traced);
      }),
    };
  }
}

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    act();
  };
}
