/** One look: is it syncing? Every replication with its state, refreshed by itself. */
import { Absent } from '../components/absent.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { formatCount } from '../components/format.ts';
import { Icon } from '../components/icon.tsx';
import { useLoaded } from '../components/load.ts';
import { hrefOf } from '../page/router.ts';
import { listReplications, needsAttention, type ReplicationState } from '../server/replications.ts';
import { isAdmin } from '../server/session.ts';

const EVERY_MS = 4_000;
/** Shown in the band; the others are a click away. */
const SHOWN = 6;

/** Only admins may list replications. */
export function SyncBand() {
  return isAdmin.value ? <Replications /> : null;
}

function Replications() {
  const { value, failure, reload } = useLoaded(
    async (signal) => ({ list: await listReplications(signal) }),
    [],
    EVERY_MS,
  );
  const list = value?.list;
  if (failure !== undefined) return <ErrorNote failure={failure} retry={reload} />;
  if (value === undefined) return null;
  if (list === undefined) return <Absent>This server has no list of replications.</Absent>;
  if (list.length === 0) {
    return (
      <p class="note">
        <Icon name="replication" /> Nothing replicates. <a href={hrefOf(['replication'])}>Set up a replication</a>.
      </p>
    );
  }
  const shown = [...list.filter(needsAttention), ...list.filter((one) => !needsAttention(one))].slice(0, SHOWN);
  const inTrouble = list.filter(needsAttention).length;
  return (
    <section class="sync-band" aria-label="Replications">
      <h2>
        {inTrouble === 0
          ? 'In sync or getting there'
          : `${formatCount(inTrouble)} of ${formatCount(list.length)} replications ${inTrouble === 1 ? 'needs' : 'need'} attention`}
      </h2>
      <ul>
        {shown.map((one) => (
          <SyncRow key={one.key} replication={one} />
        ))}
      </ul>
      {list.length > SHOWN && <a href={hrefOf(['replication'])}>All {formatCount(list.length)} replications</a>}
    </section>
  );
}

function SyncRow({ replication }: { readonly replication: ReplicationState }) {
  const { source, target, docId, replicationId, state, stateText, health, pending, error, refused } = replication;
  const href = docId === undefined ? hrefOf(['replication'], { job: replicationId }) : hrefOf(['replication', docId]);
  return (
    <li>
      <span class={`dot ${health}`} aria-hidden="true" />
      <a href={href}>
        {source} → {target}
      </a>
      <span>{stateText}</span>
      {pending !== undefined && pending > 0 && <span>{formatCount(pending)} pending</span>}
      {refused > 0 && <span class="bad-text">{formatCount(refused)} refused</span>}
      {error !== undefined && <span class={state === 'paused' ? 'muted' : 'bad-text'}>{error}</span>}
    </li>
  );
}
