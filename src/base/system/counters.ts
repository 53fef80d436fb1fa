/** What the service counts about itself. Counting is adding to a number: it allocates nothing, and notifies no one. */

/** A counted quantity: the code that counts adds to `value`. */
export interface Counter {
  value: number;
}

export const METHODS = ['COPY', 'DELETE', 'GET', 'HEAD', 'POST', 'PUT'] as const;
export const STATUSES = [200, 201, 202, 301, 304, 400, 401, 403, 404, 405, 409, 412, 500] as const;

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
}

/** Values that are read from elsewhere. */
export interface Gauges {
  readonly openDatabases: () => number;
  readonly openFiles: () => number;
  readonly clientsOfChanges: () => number;
}
