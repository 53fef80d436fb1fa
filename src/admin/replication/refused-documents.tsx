/** The refused documents of a replication, and their retry. */
import { useState } from 'preact/hooks';
import { formatMany } from '../components/format.ts';
import { review } from '../review/review.tsx';
import type { JsonObject } from '../server/client.ts';
import { countOf, isLocal, listOf, type ReplicationDetails } from '../server/replication.ts';
import { refusedOf } from '../server/written-since.ts';
import { RefusedTable } from './refused.tsx';
import { membersToEdit } from './rewrite.ts';
import { maskSecrets } from './secrets.ts';
import { sendReplicate } from './sent-requests.ts';

interface RefusedDocumentsProps {
  readonly details: ReplicationDetails;
  /** Of `_replicator`; undefined if a request asks for the replication. */
  readonly document: JsonObject | undefined;
  readonly reload: () => void;
}

export function RefusedDocuments({ details, document, reload }: RefusedDocumentsProps) {
  const [outcome, setOutcome] = useState<JsonObject | undefined>(undefined);
  const { state, endpoints } = details;
  const [source] = endpoints;
  const retry = () => {
    const members = retryOf(details, document);
    if (members === undefined) return;
    reviewRetry(members, isOver(details), (result) => {
      setOutcome(result);
      reload();
    });
  };
  return (
    <>
      {state.refused > 0 && (
        <RefusedTable
          refused={state.refusedDocuments}
          count={state.refused}
          source={source !== undefined && isLocal(source) ? source : undefined}
          retry={retry}
        />
      )}
      {outcome !== undefined && (
        <p class="note" role="status">
          {describeOutcome(outcome)}
          {isOver(details) && ' The figures above and the run below are those of the replication, without the retry.'}
        </p>
      )}
    </>
  );
}

/** It has ended: a retry does not make it go on, nor change its figures. */
function isOver({ hasJob, state }: ReplicationDetails): boolean {
  return !hasJob || state.state === 'completed' || state.state === 'failed';
}

/** A running replication is named by its id. One that has ended is known by what it asked for. */
function retryOf({ hasJob, state }: ReplicationDetails, document: JsonObject | undefined): JsonObject | undefined {
  if (hasJob || document === undefined) {
    return state.replicationId === undefined ? undefined : { retry_refused: true, replication_id: state.replicationId };
  }
  const { owner, user_ctx, ...members } = membersToEdit(document);
  return { ...members, retry_refused: true };
}

function reviewRetry(members: JsonObject, hasEnded: boolean, done: (result: JsonObject) => void): void {
  review({
    title: 'Retry the refused documents',
    effects: [
      `The refused documents are read at the source and written to the target once more. Nothing else is copied.`,
      hasEnded
        ? 'The replication itself has ended, and stays so: its figures do not count what the retry writes. What is written now leaves the list of the refused ones.'
        : 'The replication itself goes on.',
    ],
    requests: [{ method: 'POST', path: '_replicate', json: JSON.stringify(maskSecrets(members)) }],
    action: 'Retry',
    apply: async () => done(await sendReplicate(members)),
  });
}

function describeOutcome(result: JsonObject): string {
  const [run = result] = listOf(result.history);
  const copied = formatMany(countOf(run.docs_written), 'document');
  const left = Math.max(countOf(run.doc_write_failures), refusedOf(run.refused).length);
  return left === 0
    ? `The last retry wrote ${copied}, and none was refused.`
    : `The last retry wrote ${copied}; ${formatMany(left, 'document')} ${left === 1 ? 'was' : 'were'} refused again.`;
}
