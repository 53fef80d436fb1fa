/** Databases that the service itself reads and writes, by their names. */

/** Its documents request replications (docs/http/replication.md#replication-documents). */
export const REPLICATOR_DATABASE = '_replicator';
