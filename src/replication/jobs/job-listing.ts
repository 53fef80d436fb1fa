/** How replications are listed (docs/http/replication.md#list-of-replications), in the names of later versions of the family. Without secrets. */
import type { Replication } from '../contract.ts';
import { describeEndpoint, describeProxy } from './endpoint.ts';
import type { Job } from './job.ts';
import type { RefusedLedger } from './refused-documents.ts';

/** The family's name for a server's own node. */
export const NODE = 'nonode@nohost';

export function listJob(job: Job): object {
  const { origin, owner, replication } = job.order;
  return {
    database: origin?.database ?? null,
    id: job.id,
    pid: `<0.${job.number}.0>`,
    source: describeEndpoint(replication.source),
    target: describeEndpoint(replication.target),
    user: owner.name,
    doc_id: origin?.docId ?? null,
    state: job.state,
    info: jobInfo(job),
    history: job.history.map(({ type, at, reason }) => ({
      timestamp: timestamp(at),
      type,
      ...(reason === undefined ? {} : { reason }),
    })),
    node: NODE,
    start_time: timestamp(job.addedAt),
  };
}

/** Returns the progress; the failure, if nothing succeeded since; null if there is neither. */
export function jobInfo(job: Job): object | null {
  const { figures, ledger, failures } = job;
  const error = errorInfo(job);
  if (figures === undefined) return failures > 0 ? { ...error, ...refusedInfo(ledger) } : null;
  return {
    revisions_checked: figures.missingChecked,
    missing_revisions_found: figures.missingFound,
    docs_read: figures.docsRead,
    docs_written: figures.docsWritten,
    changes_pending: figures.pending ?? null,
    doc_write_failures: figures.docWriteFailures,
    checkpointed_source_seq: figures.checkpointedSourceSeq,
    source_seq: figures.sourceSeq,
    through_seq: figures.sourceSeq,
    bytes_read: figures.bytesRead,
    bytes_written: figures.bytesWritten,
    ...refusedInfo(ledger),
    ...error,
  };
}

function errorInfo({ state, figures, failures, lastFailure, failingSince, nextAttempt }: Job): object {
  const outage = state === 'running' ? figures?.outage : undefined;
  if (outage !== undefined) {
    return failureInfo(outage.reason, failingSince ?? outage.since, outage.nextAttempt);
  }
  return failures > 0 && lastFailure !== undefined ? failureInfo(lastFailure, failingSince, nextAttempt) : {};
}

/** Returns why it can't go on, since when, and when it is retried; times in milliseconds since the epoch. */
export function failureInfo(error: string, since: number | undefined, nextAttempt: number | undefined): object {
  return {
    error,
    ...(since === undefined ? {} : { error_since: timestamp(since) }),
    ...(nextAttempt === undefined ? {} : { next_attempt: timestamp(nextAttempt) }),
  };
}

/** Returns the documents that could not be copied: the first of them, and their number. */
export function refusedInfo(ledger: RefusedLedger): object {
  return ledger.count === 0 ? {} : { refused_count: ledger.count, refused: ledger.list() };
}

export interface EndpointInfo {
  readonly source: string | null;
  readonly target: string | null;
  readonly source_proxy: string | null;
  readonly target_proxy: string | null;
}

export function endpointInfo({ source, target }: Replication): EndpointInfo {
  return {
    source: describeEndpoint(source),
    target: describeEndpoint(target),
    source_proxy: describeProxy(source),
    target_proxy: describeProxy(target),
  };
}

/** RFC 3339, in seconds. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}
