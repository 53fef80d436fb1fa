/** Replications without databases: runs that the test brings to their ends. */

import { systemRandom } from '../../../../src/base/shared/clock.ts';
import { ActiveTasks } from '../../../../src/base/system/active-tasks.ts';
import type { Log } from '../../../../src/base/system/contract.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import type { DatabaseUser } from '../../../../src/database/store/contract.ts';
import type {
  ReadFilter,
  RefusedDocument,
  Replication,
  ReplicationActivity,
  ReplicatorHost,
  RequestStore,
  RunObserver,
  RunReplication,
  RunResult,
  RunStats,
  Standings,
} from '../../../../src/replication/contract.ts';
import { ReplicationError } from '../../../../src/replication/failure.ts';
import { Replicator } from '../../../../src/replication/jobs/replicator.ts';
import { readReplicatorSettings } from '../../../../src/replication/jobs/replicator-settings.ts';
import { Reachability } from '../../../../src/replication/reachability.ts';

export const ADMIN: DatabaseUser = { name: null, roles: ['_admin'] };

export const NO_FIGURES: RunStats = {
  docsRead: 0,
  docsWritten: 0,
  docWriteFailures: 0,
  missingChecked: 0,
  missingFound: 0,
  bytesRead: 0,
  bytesWritten: 0,
  sourceSeq: 0,
  checkpointedSourceSeq: 0,
  pending: undefined,
};

export const RESULT: RunResult = {
  session_id: 'session',
  source_last_seq: 5,
  replication_id_version: 3,
  history: [],
  start_time: 'Sat, 31 Jan 2026 12:00:00 GMT',
  end_time: 'Sat, 31 Jan 2026 12:00:01 GMT',
  missing_checked: 0,
  missing_found: 0,
  docs_read: 0,
  docs_written: 0,
  doc_write_failures: 0,
};

/** A run that was begun, in the hands of the test. */
export interface FakeRun {
  readonly replication: Replication;
  readonly checkpointId: string;
  readonly signal: AbortSignal;
  readonly observer: RunObserver;
  finish(result?: RunResult): void;
  fail(failure: unknown): void;
}

export interface FakeRuns {
  readonly begun: FakeRun[];
  readonly run: RunReplication;
}

/** As real runs do, these fail with `cancelled` where they are aborted. */
export function fakeRuns(): FakeRuns {
  const begun: FakeRun[] = [];
  const run: RunReplication = (replication, checkpointId, _host, observer, signal) =>
    new Promise<RunResult>((resolve, reject) => {
      const cancelled = new ReplicationError('cancelled', 'aborted', { isRetryable: true });
      signal.addEventListener('abort', () => reject(cancelled));
      begun.push({
        replication,
        checkpointId,
        signal,
        observer,
        finish: (result = RESULT) => resolve(result),
        fail: reject,
      });
    });
  return { begun, run };
}

export interface FakeService {
  readonly replicator: Replicator;
  readonly runs: FakeRun[];
  readonly tasks: ActiveTasks;
  readonly logged: string[];
  readonly reachability: Reachability;
  /** Of the service's clock. */
  now: number;
}

export interface FakeOptions {
  readonly settings?: Readonly<Record<string, string>>;
  readonly readFilter?: ReadFilter;
  readonly handle?: ReplicatorHost['handle'];
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly requests?: RequestStore;
  readonly standings?: Standings;
  readonly onActivity?: (activity: ReplicationActivity) => void;
}

export function openReplicator(options: FakeOptions = {}): FakeService {
  const { settings = {}, readFilter = () => Promise.reject(new Error('this test should need no filter')) } = options;
  const config = createConfig({ replicator: settings });
  const logged: string[] = [];
  const note = (message: string) => logged.push(message);
  const log: Log = {
    ...{ error: note, info: note, debug: note },
    client: (level, message) => logged.push(`of a client [${level}] ${message}`),
  };
  const clock = { now: () => service.now, monotonic: () => 0 };
  const tasks = new ActiveTasks(clock);
  const { begun: runs, run } = fakeRuns();
  const reachability = new Reachability();
  const host: ReplicatorHost = {
    handle: options.handle ?? (() => Promise.resolve({ status: 404, headers: {}, body: '{}' })),
    fetch: 'fetch' in options ? options.fetch : () => Promise.reject(new Error('this test should need no network')),
    clock,
    random: systemRandom,
    log,
    fetchThrough: () => globalThis.fetch,
    basePath: '',
    serverUuid: 'f00d',
    reachability,
    requests: options.requests,
    standings: options.standings,
    onActivity: options.onActivity,
  };
  const replicator = new Replicator({
    run,
    readFilter,
    host,
    tasks,
    settings: () => readReplicatorSettings(config),
    ownBase: () => undefined,
  });
  const service: FakeService = { replicator, runs, tasks, logged, reachability, now: 1_769_860_800_000 };
  return service;
}

export function refused(id: string): RefusedDocument {
  return { id, rev: `1-${id}`, error: 'forbidden', reason: 'not here' };
}

export function failure(reason = 'the peer is gone', retryAfterMs?: number): ReplicationError {
  return new ReplicationError('replication_failed', reason, { isRetryable: true, retryAfterMs });
}

/** As runs fail whose host can't be reached at all. */
export function offline(unreachable = 'https://db.test'): ReplicationError {
  const reason = `${unreachable}/b can't be reached: getaddrinfo ENOTFOUND`;
  return new ReplicationError('replication_failed', reason, { isRetryable: true, unreachable });
}

/** Lets all promises go on that can, and work that is done in several turns when the machine is busy. */
export async function settle(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
}
