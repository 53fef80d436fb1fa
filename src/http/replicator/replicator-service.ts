import type { ReplicationDocuments } from '../../replicator/documents/replication-documents.ts';
import type { Replicator } from '../../replicator/jobs/replicator.ts';

/** What replicates, as the handlers see it. */
export interface ReplicatorService {
  readonly replicator: Replicator;
  readonly documents: ReplicationDocuments;
}
