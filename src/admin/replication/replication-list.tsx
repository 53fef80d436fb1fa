/** Every replication of the server: those that documents ask for, those of requests, and what this page requested. */
import { useMemo, useState } from 'preact/hooks';
import { Absent } from '../components/absent.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { formatCount } from '../components/format.ts';
import { Icon } from '../components/icon.tsx';
import { useLoaded } from '../components/load.ts';
import { NeedsAdmin } from '../components/needs-admin.tsx';
import { WriteButton } from '../components/write-button.tsx';
import { goTo, hrefOf } from '../page/router.ts';
import { listReplications, MAX_LISTED, needsAttention, type ReplicationState } from '../server/replications.ts';
import { isAdmin } from '../server/session.ts';
import { OwnRequests } from './own-requests.tsx';

const EVERY_MS = 4_000;

export function ReplicationList() {
  return (
    <section>
      <header class="screen-head">
        <h1>Replication</h1>
        <span class="spring" />
        <WriteButton class="primary" onClick={() => goTo(['replication'], { new: '' })}>
          <Icon name="plus" /> New replication
        </WriteButton>
      </header>
      {isAdmin.value ? (
        <AllReplications />
      ) : (
        <NeedsAdmin
          what="the list of replications"
          otherwise="You can still start one: it reads and writes with your rights."
        />
      )}
      <OwnRequests />
    </section>
  );
}

function AllReplications() {
  const [max, setMax] = useState(MAX_LISTED);
  const [filter, setFilter] = useState('');
  const [onlyBad, setOnlyBad] = useState(false);
  const load = async (signal: AbortSignal) => ({ list: await listReplications(signal, max) });
  const { value: loaded, failure, reload } = useLoaded(load, [max], EVERY_MS);
  const value = loaded?.list;
  const shown = useMemo(
    () => (value ?? []).filter((one) => matches(one, filter) && (!onlyBad || needsAttention(one))),
    [value, filter, onlyBad],
  );
  const bad = (value ?? []).filter(needsAttention).length;
  return (
    <>
      <ErrorNote failure={failure} retry={reload} />
      {loaded !== undefined && value === undefined && (
        <Absent>
          This server has neither _scheduler nor _active_tasks, so it does not say what replicates. Below is what this
          page has requested.
        </Absent>
      )}
      {value?.length === 0 && (
        <p class="empty">
          Nothing replicates. A replication copies documents, with their conflicts and deletions, from one database to
          another, once or continuously.
        </p>
      )}
      {value !== undefined && value.length > 0 && (
        <>
          <div class="tool-row">
            <label class="search">
              <Icon name="search" />
              <input
                type="search"
                placeholder="Source, target or document"
                aria-label="Source, target or document contains"
                value={filter}
                onInput={(event) => setFilter(event.currentTarget.value)}
              />
            </label>
            <label class="switch">
              <input type="checkbox" checked={onlyBad} onChange={(event) => setOnlyBad(event.currentTarget.checked)} />
              Only those that need attention
            </label>
            <span class="muted" role="status">
              {bad === 0
                ? `${formatCount(value.length)}, none needs attention`
                : `${formatCount(bad)} of ${formatCount(value.length)} ${bad === 1 ? 'needs' : 'need'} attention`}
            </span>
          </div>
          <ReplicationTable rows={shown} />
          {shown.length === 0 && <p class="muted">None is like that.</p>}
          {value.length >= max && (
            <p class="note">
              The list is cut after {formatCount(max)}.{' '}
              <button type="button" onClick={() => setMax(max * 10)}>
                Load more
              </button>
            </p>
          )}
        </>
      )}
    </>
  );
}

function matches({ source, target, docId, replicationId }: ReplicationState, filter: string): boolean {
  return [source, target, docId, replicationId].some((text) => text?.includes(filter) === true);
}

function ReplicationTable({ rows }: { readonly rows: readonly ReplicationState[] }) {
  if (rows.length === 0) return null;
  return (
    <table class="table card-table replication-table">
      <thead>
        <tr>
          <th scope="col">From and to</th>
          <th scope="col">State</th>
          <th scope="col" class="number">
            Pending
          </th>
          <th scope="col" class="number">
            Written
          </th>
          <th scope="col" class="number">
            Refused
          </th>
          <th scope="col">Asked for by</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((one) => (
          <Row key={one.key} of={one} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ of }: { readonly of: ReplicationState }) {
  const { source, target, docId, isContinuous, state, stateText, health, pending, written, refused, error } = of;
  return (
    <tr>
      <th scope="row">
        <a href={addressOf(of)}>
          {source} → {target}
        </a>
        {isContinuous && <span class="tag">continuous</span>}
        {error !== undefined && <p class={state === 'paused' ? 'muted' : 'bad-text'}>{error}</p>}
      </th>
      <td data-label="State">
        <span>
          <span class={`dot inline ${health}`} aria-hidden="true" /> {stateText}
        </span>
      </td>
      <td class="number" data-label="Pending">
        {pending === undefined ? '–' : formatCount(pending)}
      </td>
      <td class="number" data-label="Written">
        {written === undefined ? '–' : formatCount(written)}
      </td>
      <td class="number" data-label="Refused">
        {refused === 0 ? '0' : <span class="bad-text">{formatCount(refused)}</span>}
      </td>
      <td data-label="Asked for by">{docId === undefined ? 'a request' : `document ${docId}`}</td>
    </tr>
  );
}

/** The address of its page. */
function addressOf({ docId, replicationId }: ReplicationState): string {
  return docId === undefined ? hrefOf(['replication'], { job: replicationId }) : hrefOf(['replication', docId]);
}
