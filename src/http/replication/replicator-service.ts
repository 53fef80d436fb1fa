import type { ReplicationDocuments } from '../../replication/documents/replication-documents.ts';
import type { Replicator } from '../../replication/jobs/replicator.ts';

/** The replicator, as the handlers see it. */
export interface ReplicatorService {
  readonly replicator: Replicator;
  readonly documents: ReplicationDocuments;
}
