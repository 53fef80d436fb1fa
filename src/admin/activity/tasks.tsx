import { Absent } from '../components/absent.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { formatMany } from '../components/format.ts';
import { useLoaded } from '../components/load.ts';
import { TimeAt } from '../components/time.tsx';
import { hrefOf } from '../page/router.ts';
import { readTasks, type Task } from '../server/activity.ts';
import { endpointName, textOf } from '../server/replications.ts';

const EVERY_MS = 2_000;

const NAMES: Readonly<Record<string, string>> = {
  indexer: 'Building an index',
  view_compaction: 'Compacting an index',
  database_compaction: 'Compacting a database',
  replication: 'Replicating',
};

/** The tasks that run now, with how far they are. */
export function Tasks() {
  const {
    value: loaded,
    failure,
    reload,
  } = useLoaded(async (signal) => ({ tasks: await readTasks(signal) }), [], EVERY_MS);
  const value = loaded?.tasks;
  return (
    <>
      <ErrorNote failure={failure} retry={reload} />
      {loaded !== undefined && value === undefined && <Absent>This server has no list of tasks.</Absent>}
      {value !== undefined && (
        <p class="muted" role="status">
          {value.length === 0 ? 'No task runs now.' : `${formatMany(value.length, 'task')} now.`}
        </p>
      )}
      {value?.length === 0 && (
        <p class="empty">
          Here you see indexes that are built, compactions and replications while they run. The list refreshes by
          itself.
        </p>
      )}
      {value !== undefined && value.length > 0 && (
        <ul class="tasks">
          {value.map((one) => (
            <TaskRow key={one.key} of={one} />
          ))}
        </ul>
      )}
    </>
  );
}

function TaskRow({ of }: { readonly of: Task }) {
  const { type, status, progress, startedAt } = of;
  const name = NAMES[type] ?? type;
  return (
    <li>
      <div class="tool-row">
        <strong>{name}</strong>
        <Subject of={of} />
        <span class="spring" />
        {startedAt !== undefined && (
          <span class="muted">
            began <TimeAt at={startedAt} />
          </span>
        )}
      </div>
      {progress !== undefined && (
        <progress max={100} value={progress} aria-label={`${name}: progress`}>
          {progress} %
        </progress>
      )}
      {status !== undefined && <p class="muted">{status}</p>}
    </li>
  );
}

/** What it works on, as a link. */
function Subject({ of: { type, database, designDocument, task } }: { readonly of: Task }) {
  if (type === 'replication') return <Replication task={task} />;
  if (database === undefined) return null;
  return (
    <span>
      <a href={hrefOf(['db', database])}>{database}</a>
      {designDocument !== undefined && (
        <>
          {' / '}
          <a href={hrefOf(['db', database, 'document', designDocument])}>{designDocument}</a>
        </>
      )}
    </span>
  );
}

function Replication({ task }: { readonly task: Task['task'] }) {
  const docId = textOf(task.doc_id);
  const href =
    docId === undefined
      ? hrefOf(['replication'], { job: textOf(task.replication_id) })
      : hrefOf(['replication', docId]);
  return (
    <a href={href}>
      {endpointName(task.source)} → {endpointName(task.target)}
    </a>
  );
}
