import { ErrorNote } from '../components/error-note.tsx';
import { formatMany } from '../components/format.ts';
import { Icon } from '../components/icon.tsx';
import { useLoaded } from '../components/load.ts';
import { WriteButton } from '../components/write-button.tsx';
import { review } from '../review/review.tsx';
import { isLocal, listOf } from '../server/replication.ts';
import { endpointName, ownDatabase } from '../server/replications.ts';
import { lackedAt, refusedOf } from '../server/written-since.ts';
import { RefusedTable } from './refused.tsx';
import { maskSecrets } from './secrets.ts';
import { forget, type OwnRequest, ownRequests, sendAgain } from './sent-requests.ts';

/** How often it is asked whether the target has by now what it refused. */
const EVERY_MS = 4_000;

/** The outcome of what this page requested and no list of the server remembers. */
export function OwnRequests() {
  if (ownRequests.value.length === 0) return null;
  return (
    <section class="own-requests" aria-label="Requests of this page">
      <h2>Requests of this page</h2>
      <ul>
        {ownRequests.value.map((one) => (
          <Request key={one.number} of={one} />
        ))}
      </ul>
    </section>
  );
}

function Request({ of }: { readonly of: OwnRequest }) {
  const { members, result, failure } = of;
  const [source, target] = [endpointName(members.source), endpointName(members.target)];
  const isRunning = result === undefined && failure === undefined;
  const [run] = listOf(result?.history);
  const all = refusedOf(run?.refused);
  const { value: refused = all } = useLoaded(
    (signal) => lackedAt(ownDatabase(members.target), all, signal),
    [result],
    all.length === 0 ? undefined : EVERY_MS,
  );
  const failures = typeof run?.doc_write_failures === 'number' ? run.doc_write_failures : all.length;
  return (
    <li class="note">
      <div class="tool-row">
        <strong>
          {source} → {target}
        </strong>
        <span aria-live="polite">{isRunning ? 'Copying' : result !== undefined && describeResult(result)}</span>
        <span class="spring" />
        {!isRunning && (
          <span class="request-actions">
            <WriteButton onClick={() => sendAgain(of, {})}>Send again</WriteButton>
            <button
              type="button"
              class="quiet"
              aria-label={`Remove ${source} → ${target} from the list`}
              onClick={() => forget(of.number)}
            >
              <Icon name="close" />
            </button>
          </span>
        )}
      </div>
      <ErrorNote failure={failure} />
      {refused.length > 0 && (
        <RefusedTable
          refused={refused}
          count={Math.max(refused.length, failures - (all.length - refused.length))}
          source={isLocal(source) ? source : undefined}
          retry={() => reviewRetry(of)}
        />
      )}
    </li>
  );
}

function describeResult(result: { readonly [name: string]: unknown }): string {
  if (result.no_changes === true) return 'Done: nothing was new.';
  const [run = result] = listOf(result.history);
  return `Done: ${formatMany(Number(run.docs_written ?? 0), 'document')} written.`;
}

function reviewRetry(of: OwnRequest): void {
  const more = { retry_refused: true };
  review({
    title: 'Retry the refused documents',
    effects: ['The refused documents are read and written once more. Nothing else is copied.'],
    requests: [{ method: 'POST', path: '_replicate', json: JSON.stringify({ ...maskSecrets(of.members), ...more }) }],
    action: 'Retry',
    apply: async () => sendAgain(of, more),
  });
}
