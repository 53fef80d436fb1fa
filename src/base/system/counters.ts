/** What the service counts about itself. Counting is adding to a number: nothing is made for it, and nobody is told. */

/** Something that is counted: whoever counts adds to `value`. */
export interface Counter {
  value: number;
}

export const METHODS = ['COPY', 'DELETE', 'GET', 'HEAD', 'POST', 'PUT'] as const;
export const STATUSES = [200, 201, 202, 301, 304, 400, 401, 403, 404, 405, 409, 412, 500] as const;

/** All since the service was opened. */
export class Counters {
  readonly authCacheHits: Counter = { value: 0 };
  readonly authCacheMisses: Counter = { value: 0 };
  readonly databaseReads: Counter = { value: 0 };
  readonly databaseWrites: Counter = { value: 0 };
  readonly bulkRequests: Counter = { value: 0 };
  readonly temporaryViewReads: Counter = { value: 0 };
  readonly viewReads: Counter = { value: 0 };
  readonly requests: Counter = { value: 0 };
  /** Requests that were answered, and the milliseconds that they took together. */
  readonly answers: Counter = { value: 0 };
  readonly answerMs: Counter = { value: 0 };
  readonly methods: ReadonlyMap<string, Counter> = new Map(METHODS.map((method) => [method, { value: 0 }]));
  readonly statuses: ReadonlyMap<number, Counter> = new Map(STATUSES.map((status) => [status, { value: 0 }]));
}

/** What is read from elsewhere. */
export interface Gauges {
  readonly openDatabases: () => number;
  readonly openFiles: () => number;
  readonly clientsOfChanges: () => number;
}
