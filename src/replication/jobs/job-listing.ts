/** How replications are listed (docs/http/replication.md#list-of-replications), in the names of later versions of the family. Without secrets. */
import type { JsonObject } from '../../base/json/objects.ts';
import type { ReplicationIdentity } from '../../base/system/active-tasks.ts';
import type { Replication } from '../contract.ts';
import { describeEndpoint, describeProxy } from './endpoint.ts';
import type { Job } from './job.ts';
import { failureInfo, shownState, timestamp, troubleOf } from './job-trouble.ts';
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
    ...designDocsInfo(replication),
    doc_id: origin?.docId ?? null,
    state: shownState(job),
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
  const { figures, ledger } = job;
  const error = errorInfo(job);
  if (figures === undefined) return troubleOf(job) === undefined ? null : { ...error, ...refusedInfo(ledger) };
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

function errorInfo(job: Job): object {
  const trouble = troubleOf(job);
  return trouble === undefined ? {} : failureInfo(trouble.error, trouble.since, trouble.nextAttempt);
}

/** Returns the documents that could not be copied: the first of them, and their number. */
export function refusedInfo(ledger: RefusedLedger): object {
  return ledger.count === 0 ? {} : { refused_count: ledger.count, refused: ledger.list() };
}

/** Returns the member of lists for replications that leave design documents out. */
export function designDocsInfo({ designDocs }: Pick<Replication, 'designDocs'>): { readonly design_docs?: false } {
  return designDocs === false ? { design_docs: false } : {};
}

/** Returns what a document reports of the run of its replication (docs/http/replication.md#states-of-replication-documents). */
export function documentStats({ addedAt, figures, ledger }: Job): JsonObject {
  return {
    start_time: timestamp(addedAt),
    revisions_checked: figures?.missingChecked ?? 0,
    missing_revisions_found: figures?.missingFound ?? 0,
    docs_read: figures?.docsRead ?? 0,
    docs_written: figures?.docsWritten ?? 0,
    changes_pending: figures?.pending ?? null,
    doc_write_failures: figures?.docWriteFailures ?? 0,
    checkpointed_source_seq: figures?.checkpointedSourceSeq ?? 0,
    bytes_read: figures?.bytesRead ?? 0,
    bytes_written: figures?.bytesWritten ?? 0,
    ...refusedInfo(ledger),
  };
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

export function jobIdentity({ order }: Job): ReplicationIdentity {
  const { id, origin, replication, owner } = order;
  return {
    replication_id: id.full,
    doc_id: origin?.docId ?? null,
    source: describeEndpoint(replication.source),
    target: describeEndpoint(replication.target),
    continuous: replication.continuous,
    ...designDocsInfo(replication),
    user: owner.name,
  };
}

/** For the log. */
export function describeJob({ order }: Job): string {
  return `${describeEndpoint(order.replication.source)} to ${describeEndpoint(order.replication.target)}`;
}

export function usesNetwork({ order }: Job): boolean {
  const { source, target } = order.replication;
  return source.kind === 'remote' || target.kind === 'remote';
}
