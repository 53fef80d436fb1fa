import { setTimeout as wait } from 'node:timers/promises';
import type { Pool, PoolClient, QueryConfig } from 'pg';
import { DatabaseError } from '../../base/errors/database-error.ts';
import { storageClosed } from '../storage-errors.ts';
import { connectionRefused, endsConnection, failureOf, storageUnreachable } from './postgres-errors.ts';
import type { StorageAddress } from './storage-url.ts';

/** An SQL text, and the name under which each connection prepares it once. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export type Row = Readonly<Record<string, unknown>>;
export type Value = string | number | boolean | null | Uint8Array;

/** A connection that one caller uses at a time. */
export interface Connection {
  /** When the server behind it was started: another value means that it was restarted, or that another one took its place. */
  readonly server: string;
  /** How many connections of the pool were opened up to this one. */
  readonly number: number;
  /** Values of bytes are sent in PostgreSQL's binary format, all others as text. */
  query(statement: Statement | string, values?: readonly Value[]): Promise<readonly Row[]>;
}

/** How long to wait before an attempt is repeated, in milliseconds: less at first, as most failures end soon. */
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 1000;
/** How much longer than the server the client waits for the end of a statement. */
const ANSWER_MS = 2000;
const CONNECT_MS = 5000;
/** How long attempts are repeated when the storage is about to be closed. */
const LAST_ATTEMPTS_MS = 3000;

/**
 * Settings of a session, where the server has them. All statements find their rows by an index; a plan that was made when a table was empty, and
 * reads all of it, would be kept. A client that stops in the middle of a transaction must not hold its locks for long.
 */
const SESSION = `SELECT set_config(wanted.name, wanted.value, false) FROM (VALUES
  ('enable_seqscan', 'off'), ('plan_cache_mode', 'force_generic_plan'), ('jit', 'off'), ('bytea_output', 'hex'),
  ('statement_timeout', $1::text), ('idle_in_transaction_session_timeout', '10s'), ('client_encoding', 'UTF8'), ('default_transaction_isolation', 'read committed'), ('standard_conforming_strings', 'on')
) AS wanted (name, value) JOIN pg_settings ON pg_settings.name = wanted.name`;

/** A server that is set to never wait for its disk must do so for strict commits. */
const DURABILITY = `SELECT set_config('synchronous_commit', 'on', false)
  FROM pg_settings WHERE name = 'synchronous_commit' AND setting = 'off'`;

const SERVER = 'SELECT pg_postmaster_start_time()::text AS started, pg_is_in_recovery() AS is_standby';

/** What a pool has done, and is doing. */
export interface PoolFigures {
  /** How many connections there may be, there are, are not in use, and how many callers wait for one. */
  readonly most: number;
  readonly open: number;
  readonly idle: number;
  readonly waiting: number;
  /** Statements that were sent, and the seconds until they were answered, in total. */
  readonly trips: number;
  readonly tripSeconds: number;
  /** Attempts that failed, and were repeated. */
  readonly repeats: number;
}

/** Statements of all connections of a pool. */
class Trips {
  count = 0;
  ms = 0;
}

/** The connections to a database server. It survives that the server is restarted, or replaced by another one at the same address. */
export class ConnectionPool {
  readonly address: StorageAddress;
  readonly #pool: Pool;
  readonly #opened = new WeakMap<PoolClient, Pick<Connection, 'server' | 'number'>>();
  #newest = 0;
  readonly #clock: () => number;
  readonly #trips = new Trips();
  #repeats = 0;
  #isClosing = false;
  /** When attempts are no longer repeated. */
  #endsAt = Number.POSITIVE_INFINITY;

  private constructor(address: StorageAddress, pool: Pool) {
    this.address = address;
    this.#pool = pool;
    this.#clock = () => performance.now();
  }

  /** Connects once, to report at once what is wrong. Rejects with `storage_failed` if that is not possible. */
  static async open(address: StorageAddress): Promise<ConnectionPool> {
    const { host, port, database, user, password, ssl, pool: max, timeoutS } = address;
    // Only servers that use this storage load it.
    const { default: pg } = await import('pg');
    const pool = new pg.Pool({
      host: host.replace(/^\[(.*)\]$/, '$1'),
      ...{ port, database, user, ssl, max },
      password: async () => (await password()) ?? '',
      application_name: 'settee',
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: timeoutS * 1000 + ANSWER_MS,
    });
    // An idle connection that breaks is replaced, and one in use fails its statement.
    pool.on('error', () => undefined);
    pool.on('connect', (client) => client.on('error', () => undefined));
    const opened = new ConnectionPool(address, pool);
    try {
      await opened.repeat('connecting', async () => undefined);
      return opened;
    } catch (error) {
      await opened.close();
      const isOurs = error instanceof DatabaseError && error.code === 'bad_request';
      throw isOurs ? error : connectionRefused(address.place, error instanceof DatabaseError ? error.cause : error);
    }
  }

  /** The number of the connection that was opened last. */
  get newest(): number {
    return this.#newest;
  }

  get figures(): PoolFigures {
    const { totalCount: open, idleCount: idle, waitingCount: waiting } = this.#pool;
    const { count: trips, ms } = this.#trips;
    return {
      ...{ most: this.address.pool, open, idle, waiting },
      ...{ trips, tripSeconds: ms / 1000, repeats: this.#repeats },
    };
  }

  /** Calls `work` with a connection. Fails with what it throws, or with why there is no connection; `failureOf` says what that means. */
  async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const { connection, release } = await this.acquire();
    let failure: unknown;
    try {
      return await work(connection);
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      release(failure);
    }
  }

  /** A connection that the caller uses until it calls `release`, with the failure that ended its use if there was one. */
  async acquire(): Promise<{ readonly connection: Connection; release(failure?: unknown): void }> {
    if (this.#isClosing) throw storageClosed('The storage');
    const client = await this.#pool.connect();
    const release = (failure?: unknown) => client.release(failure !== undefined && endsConnection(failure));
    try {
      return { connection: await this.#ready(client), release };
    } catch (error) {
      release(error);
      throw error;
    }
  }

  /** Like `use`, all in one transaction. `work` may be called again if that failed as a whole. */
  transaction<T>(what: string, work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.repeat(what, (connection) => inTransaction(connection, work));
  }

  /**
   * Calls `work` until it succeeds, fails for good, or time is up: then fails with `storage_blocked`. It must have the same effect when it is done
   * twice: an attempt whose connection broke may have been carried out.
   */
  async repeat<T>(what: string, work: (connection: Connection) => Promise<T>): Promise<T> {
    const patience = this.patience(what);
    for (;;) {
      try {
        return await this.use(work);
      } catch (error) {
        if (failureOf(error) === 'final') throw error;
        await patience.wait(error);
      }
    }
  }

  /** The time that repeated attempts may take together. */
  patience(what: string): Patience {
    const { timeoutS } = this.address;
    const until = this.#clock() + timeoutS * 1000;
    let pauseMs = FIRST_PAUSE_MS;
    return {
      wait: async (error) => {
        if (this.#isClosing || this.#clock() + pauseMs > Math.min(until, this.#endsAt))
          throw storageUnreachable(what, timeoutS, error);
        this.#repeats += 1;
        await wait(pauseMs);
        pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
      },
    };
  }

  /** Attempts are repeated for a few seconds more. */
  beginClose(): void {
    this.#endsAt = Math.min(this.#endsAt, this.#clock() + LAST_ATTEMPTS_MS);
  }

  /** Waits for what runs. What waits to be repeated fails instead. */
  async close(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    await this.#pool.end();
  }

  async #ready(client: PoolClient): Promise<Connection> {
    let opened = this.#opened.get(client);
    if (opened === undefined) {
      await client.query(SESSION, [`${this.address.timeoutS}s`]);
      await client.query(DURABILITY);
      const { rows } = await client.query(SERVER);
      if (rows[0]?.is_standby === true) throw new StandbyError();
      this.#newest += 1;
      opened = { server: String(rows[0]?.started), number: this.#newest };
      this.#opened.set(client, opened);
    }
    return new PooledConnection(client, opened, this.address.prepares, this.#trips);
  }
}

export interface Patience {
  /** Waits before the next attempt. Throws `storage_blocked` if there is no time for one. */
  wait(error: unknown): Promise<void>;
}

/** Runs a transaction on a connection. */
export async function inTransaction<T>(
  connection: Connection,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  await connection.query('BEGIN');
  try {
    const result = await work(connection);
    await connection.query('COMMIT');
    return result;
  } catch (error) {
    // If the connection broke, the server rolls back by itself.
    if (failureOf(error) !== 'lost') await connection.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** It has the code of what a standby would answer to a write. */
class StandbyError extends Error {
  readonly code = '25006';

  constructor() {
    super('the server that answers is a standby, which can only be read');
  }
}

class PooledConnection implements Connection {
  readonly server: string;
  readonly number: number;
  readonly #client: PoolClient;
  readonly #prepares: boolean;
  readonly #trips: Trips;

  constructor(
    client: PoolClient,
    { server, number }: Pick<Connection, 'server' | 'number'>,
    prepares: boolean,
    trips: Trips,
  ) {
    this.#trips = trips;
    this.#client = client;
    this.server = server;
    this.number = number;
    this.#prepares = prepares;
  }

  async query(statement: Statement | string, values: readonly Value[] = []): Promise<readonly Row[]> {
    const sent = performance.now();
    try {
      const { rows } = await this.#client.query<Record<string, unknown>>(this.#config(statement, values));
      return rows;
    } finally {
      this.#trips.count += 1;
      this.#trips.ms += performance.now() - sent;
    }
  }

  #config(statement: Statement | string, values: readonly Value[]): QueryConfig {
    if (typeof statement === 'string') return { text: statement, values: [...values] };
    const { name, text } = statement;
    return this.#prepares ? { name, text, values: [...values] } : { text, values: [...values] };
  }
}
