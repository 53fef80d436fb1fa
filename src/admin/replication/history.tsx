/** What a replication did: the events of its job, and the runs that its checkpoint remembers. */
import { useEffect, useRef } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { formatCount } from '../components/format.ts';
import { useLoaded } from '../components/load.ts';
import { Time } from '../components/time.tsx';
import { type ReplicationDetails, type ReplicationRun, readRuns } from '../server/replication.ts';

const EVERY_MS = 4_000;
/** Shown until more are wanted. */
const SHOWN = 10;

interface HistoryProps {
  readonly details: ReplicationDetails;
  /** The id of its checkpoints, where the server does not list it, or not yet. */
  readonly formerId: string | undefined;
}

export function History({ details, formerId }: HistoryProps) {
  return (
    <div class="histories">
      <Runs details={details} formerId={formerId} />
      <Events details={details} />
    </div>
  );
}

function Runs({ details, formerId }: HistoryProps) {
  const { replicationId, state } = details.state;
  const id = replicationId ?? formerId ?? '';
  const { value, failure, reload } = useLoaded(
    async (signal) => ({ runs: id === '' ? undefined : await readRuns(id, details.databases, signal) }),
    [id, details.databases.join(' ')],
    EVERY_MS,
  );
  // Its end is a checkpoint, too.
  const former = useRef(state);
  useEffect(() => {
    if (former.current !== state) reload();
    former.current = state;
  }, [state]);
  return (
    <section aria-label="Runs">
      <h2>Runs</h2>
      <ErrorNote failure={failure} retry={reload} />
      {value !== undefined && (value.runs === undefined ? <NoRuns /> : <RunTable runs={value.runs} />)}
    </section>
  );
}

function NoRuns() {
  return (
    <p class="muted">
      No checkpoint yet. Runs are listed when the first one is stored in a source or target on this server.
    </p>
  );
}

function RunTable({ runs }: { readonly runs: readonly ReplicationRun[] }) {
  return (
    <table class="table card-table">
      <thead>
        <tr>
          <th scope="col">Began</th>
          <th scope="col">Last checkpoint</th>
          <th scope="col" class="number">
            Read
          </th>
          <th scope="col" class="number">
            Written
          </th>
          <th scope="col" class="number">
            Refused
          </th>
        </tr>
      </thead>
      <tbody>
        {runs.slice(0, SHOWN).map(({ key, began, ended, read, written, failures }) => (
          <tr key={key}>
            <th scope="row">
              <Time text={began} />
            </th>
            <td data-label="Last checkpoint">
              <Time text={ended} />
            </td>
            <td class="number" data-label="Read">
              {formatCount(read)}
            </td>
            <td class="number" data-label="Written">
              {formatCount(written)}
            </td>
            <td class="number" data-label="Refused">
              {formatCount(failures)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Events({ details: { events } }: { readonly details: ReplicationDetails }) {
  if (events.length === 0) return null;
  return (
    <section aria-label="Events">
      <h2>Events</h2>
      <table class="table card-table">
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">What</th>
            <th scope="col">Reason</th>
          </tr>
        </thead>
        <tbody>
          {events.slice(0, SHOWN).map(({ time, type, reason }, index) => (
            <tr key={`${time} ${type} ${index}`}>
              <th scope="row">
                <Time text={time} />
              </th>
              <td data-label="What">{type}</td>
              <td data-label="Reason">{reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
