import type { JsonObject } from '../../base/json/objects.ts';
import type { Job } from '../jobs/job.ts';
import { refusedInfo, timestamp } from '../jobs/job-listing.ts';

/** Returns what a document reports of the run of its replication (docs/http/replication.md#states-of-replication-documents). */
export function statsOf({ addedAt, figures, ledger }: Job): JsonObject {
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
