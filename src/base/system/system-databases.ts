/** Databases that the service itself reads and writes, by their names. */

/** Its documents ask for replications (docs/http/replication.md#replication-documents). */
export const REPLICATOR_DATABASE = '_replicator';
