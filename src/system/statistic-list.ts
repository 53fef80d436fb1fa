/** Which statistics there are (docs/http.md#statistics), and what each is read from. */
import type { Counter, Counters, Gauges } from './counters.ts';

export interface Statistic {
  readonly section: string;
  readonly id: string;
  readonly description: string;
  /** `count`: what came in an interval. `mean`: of what came in it. `gauge`: what holds at its end. */
  readonly kind: 'count' | 'mean' | 'gauge';
  /** What was counted, or summed, since the service was opened; of a gauge what holds now. */
  readonly read: () => number;
  /** Of a mean: how many were summed. */
  readonly readCount?: () => number;
}

export function listStatistics(counters: Counters, gauges: Gauges): readonly Statistic[] {
  return [
    count('svc', 'auth_cache_hits', 'users whose proof was remembered', counters.authCacheHits),
    count('svc', 'auth_cache_misses', 'users whose proof was not remembered', counters.authCacheMisses),
    count('svc', 'database_reads', 'documents read from databases', counters.databaseReads),
    count('svc', 'database_writes', 'documents written to databases', counters.databaseWrites),
    gauge('svc', 'open_databases', 'databases that are open', gauges.openDatabases),
    gauge('svc', 'open_os_files', 'files that are open', gauges.openFiles),
    {
      section: 'svc',
      id: 'request_time',
      description: 'milliseconds until requests were answered; each sample is a mean',
      kind: 'mean',
      read: () => counters.answerMs.value,
      readCount: () => counters.answers.value,
    },
    ...[...counters.methods].map(([id, counter]) => count('httpd_request_methods', id, `${id} requests`, counter)),
    ...[...counters.statuses].map(([id, counter]) => count('httpd_status_codes', `${id}`, `answers ${id}`, counter)),
    count('httpd', 'bulk_requests', 'requests that write many documents', counters.bulkRequests),
    gauge('httpd', 'clients_requesting_changes', 'feeds that wait for changes', gauges.clientsOfChanges),
    count('httpd', 'requests', 'requests', counters.requests),
    count('httpd', 'temporary_view_reads', 'queries of temporary views', counters.temporaryViewReads),
    count('httpd', 'view_reads', 'queries of views', counters.viewReads),
  ];
}

function count(section: string, id: string, description: string, counter: Counter): Statistic {
  return { section, id, description, kind: 'count', read: () => counter.value };
}

function gauge(section: string, id: string, description: string, read: () => number): Statistic {
  return { section, id, description, kind: 'gauge', read };
}
