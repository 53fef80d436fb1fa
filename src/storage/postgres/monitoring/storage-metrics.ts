import { setTimeout as wait } from 'node:timers/promises';
import type { Metric } from '../../../base/system/contract.ts';
import type { Connection, ConnectionPool } from '../connection-pool.ts';

/** How long the database server may take to answer what is asked for monitoring, in milliseconds: then it counts as not reached. */
const MAX_ANSWER_MS = 2000;

/** What an operator should watch (docs/operations.md#monitoring). */
export async function readMetrics(pool: ConnectionPool): Promise<readonly Metric[]> {
  const timer = new AbortController();
  const late = wait(MAX_ANSWER_MS, [], { signal: timer.signal, ref: false });
  const answers = pool.use((connection) => ask(connection, pool.address.schema)).catch(() => []);
  const answered = await Promise.race([answers, late]);
  timer.abort();
  late.catch(() => undefined);
  return [
    ...poolMetrics(pool),
    gauge('up', '1 if the database server answers within two seconds', answered.length > 0 ? 1 : 0),
    ...answered,
  ];
}

function poolMetrics(pool: ConnectionPool): Metric[] {
  const { most, open, idle, waiting, trips, tripSeconds, repeats } = pool.figures;
  return [
    gauge('pool_size', 'the most connections to the database server', most),
    gauge('pool_open', 'connections to the database server', open),
    gauge('pool_idle', 'connections that are not in use', idle),
    gauge('pool_waiting', 'operations that wait for a connection', waiting),
    {
      name: 'storage_trip_seconds',
      type: 'summary',
      help: 'until statements were answered',
      value: tripSeconds,
      count: trips,
    },
    {
      name: 'storage_repeats_total',
      type: 'counter',
      help: 'operations that were repeated after a failure',
      value: repeats,
    },
  ];
}

/** A database server, or its user, that may not know of replicas leaves them out. */
async function ask(connection: Connection, schema: string): Promise<Metric[]> {
  const sent = performance.now();
  const [lease] = await connection.query(
    `SELECT extract(epoch FROM until - clock_timestamp())::float8::text AS left FROM ${schema}.servers WHERE is_owner`,
  );
  const ping = gauge('ping_seconds', 'until the database server answered just now', (performance.now() - sent) / 1000);
  const [replicas] = await connection
    .query(
      `SELECT count(*)::text AS known, max(extract(epoch FROM replay_lag))::float8::text AS lag FROM pg_stat_replication`,
    )
    .catch(() => []);
  return [
    ping,
    ...optional('lease_left_seconds', 'until another server may take the storage if no beat succeeds', lease?.['left']),
    ...optional('replicas', 'standby servers that PostgreSQL sends its log to', replicas?.['known']),
    ...optional('replica_lag_seconds', 'how far the last of them is behind', replicas?.['lag']),
  ];
}

function optional(name: string, help: string, value: unknown): Metric[] {
  return typeof value === 'string' ? [gauge(name, help, Number(value))] : [];
}

function gauge(name: string, help: string, value: number): Metric {
  return { name: `storage_${name}`, type: 'gauge', help, value };
}
