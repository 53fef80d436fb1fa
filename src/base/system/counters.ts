/** What the service counts about itself. Counting is adding to a number: it allocates nothing, and notifies no one. */

/** A counted quantity: the code that counts adds to `value`. */
interface Counter {
  value: number;
}

const METHODS = ['COPY', 'DELETE', 'GET', 'HEAD', 'POST', 'PUT'] as const;
const STATUSES = [200, 201, 202, 301, 304, 400, 401, 403, 404, 405, 409, 412, 500] as const;

/** All counts since the service was opened. */
export class Counters {
  readonly authCacheHits: Counter = { value: 0 };
  readonly authCacheMisses: Counter = { value: 0 };
  readonly databaseReads: Counter = { value: 0 };
  readonly databaseWrites: Counter = { value: 0 };
  readonly bulkRequests: Counter = { value: 0 };
  readonly temporaryViewReads: Counter = { value: 0 };
  readonly viewReads: Counter = { value: 0 };
  readonly requests: Counter = { value: 0 };
  /** Answered requests, and the milliseconds that they took in total. */
  readonly answers: Counter = { value: 0 };
  readonly answerMs: Counter = { value: 0 };
  readonly methods: ReadonlyMap<string, Counter> = new Map(METHODS.map((method) => [method, { value: 0 }]));
  readonly statuses: ReadonlyMap<number, Counter> = new Map(STATUSES.map((status) => [status, { value: 0 }]));
  /** Requests that readers sent to the owner of the databases, and those that it did not answer. */
  readonly forwarded: Counter = { value: 0 };
  readonly forwardFailures: Counter = { value: 0 };
  /** The feeds that wait at other processes, whose requests are counted here, too. */
  waitingAtReaders: () => number = () => 0;
}

/** What was counted, by names. */
export type Counts = Readonly<Record<string, number>>;

/** Collects what was counted since the last time, for another process that counts for both. */
export class CountsSince {
  readonly #counters: readonly (readonly [string, Counter])[];
  readonly #before = new Map<string, number>();

  constructor(counters: Counters) {
    this.#counters = namedCounters(counters);
  }

  /** Undefined if nothing was counted. */
  take(): Counts | undefined {
    const counts: Record<string, number> = {};
    for (const [name, { value }] of this.#counters) {
      const added = value - (this.#before.get(name) ?? 0);
      this.#before.set(name, value);
      if (added !== 0) counts[name] = added;
    }
    return Object.keys(counts).length === 0 ? undefined : counts;
  }
}

/** Adds what another process has counted. Unknown names are ignored. */
export function addCounts(counters: Counters, counts: Counts): void {
  for (const [name, counter] of namedCounters(counters)) {
    const added = Object.hasOwn(counts, name) ? counts[name] : undefined;
    if (added !== undefined && Number.isFinite(added)) counter.value += added;
  }
}

function namedCounters({ methods, statuses, waitingAtReaders: _, ...others }: Counters): [string, Counter][] {
  const ofMethods = [...methods].map(([name, counter]): [string, Counter] => [`method ${name}`, counter]);
  const ofStatuses = [...statuses].map(([name, counter]): [string, Counter] => [`status ${name}`, counter]);
  return [...Object.entries(others), ...ofMethods, ...ofStatuses];
}

/** Values that are read from elsewhere. */
export interface Gauges {
  readonly openDatabases: () => number;
  readonly openFiles: () => number;
  readonly clientsOfChanges: () => number;
}

export interface Statistic {
  readonly section: string;
  readonly id: string;
  /** `count`: the number in an interval. `mean`: the mean in an interval. `gauge`: the value at its end. */
  readonly kind: 'count' | 'mean' | 'gauge';
  /** What was counted, or summed, since the service was opened; for a gauge the current value. */
  readonly read: () => number;
  /** For a mean: how many values were summed. */
  readonly readCount?: () => number;
}

/** Returns the list of statistics (docs/http/server.md#statistics), and what each is read from. `http/server/administration` has their descriptions. */
export function listStatistics(counters: Counters, gauges: Gauges): readonly Statistic[] {
  return [
    count('svc', 'auth_cache_hits', counters.authCacheHits),
    count('svc', 'auth_cache_misses', counters.authCacheMisses),
    count('svc', 'database_reads', counters.databaseReads),
    count('svc', 'database_writes', counters.databaseWrites),
    gauge('svc', 'open_databases', gauges.openDatabases),
    gauge('svc', 'open_os_files', gauges.openFiles),
    {
      section: 'svc',
      id: 'request_time',
      kind: 'mean',
      read: () => counters.answerMs.value,
      readCount: () => counters.answers.value,
    },
    ...[...counters.methods].map(([id, counter]) => count('httpd_request_methods', id, counter)),
    ...[...counters.statuses].map(([id, counter]) => count('httpd_status_codes', `${id}`, counter)),
    count('httpd', 'bulk_requests', counters.bulkRequests),
    gauge('httpd', 'clients_requesting_changes', gauges.clientsOfChanges),
    count('httpd', 'requests', counters.requests),
    count('httpd', 'temporary_view_reads', counters.temporaryViewReads),
    count('httpd', 'view_reads', counters.viewReads),
  ];
}

function count(section: string, id: string, counter: Counter): Statistic {
  return { section, id, kind: 'count', read: () => counter.value };
}

function gauge(section: string, id: string, read: () => number): Statistic {
  return { section, id, kind: 'gauge', read };
}
