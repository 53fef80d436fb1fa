import type { Connection, Row } from '../connection-pool.ts';
import { numberOf } from '../values.ts';

/** What a follower learns when it stores its row, and at each beat. */
export interface FollowerBeat {
  /** How often owners of this storage have asked followers to give up older states. */
  readonly generation: number;
  /** Whether the server that owns the storage waits for followers; true if no server does. */
  readonly isAwaited: boolean;
}

/** A follower, as an owner sees it. */
export interface SeenFollower {
  readonly id: string;
  readonly beats: number;
  /** It reads no state of an earlier generation, and never will. */
  readonly passed: number;
  readonly leaseMs: number;
}

/** Statements on the rows of followers. */
export class FollowerRows {
  readonly #schema: string;
  readonly #isAwaited: string;

  constructor(schema: string) {
    this.#schema = schema;
    this.#isAwaited = `NOT EXISTS (SELECT FROM ${schema}.servers WHERE is_owner AND NOT knows_followers) AS is_awaited`;
  }

  /** Stores the row of a follower that reads no states yet. May be repeated. */
  async register(connection: Connection, id: string, leaseMs: number): Promise<FollowerBeat> {
    const [row = {}] = await connection.query(
      `INSERT INTO ${this.#schema}.followers AS mine (id, beats, passed, lease_ms)
       SELECT $1::text, 1, generation, $2::bigint FROM ${this.#schema}.format WHERE format.id = 1
       ON CONFLICT (id) DO UPDATE SET beats = mine.beats + 1
       RETURNING mine.passed AS generation, ${this.#isAwaited}`,
      [id, leaseMs],
    );
    return beatOf(row);
  }

  /** Undefined if the row is not there any more, or the database has gone back to before `passed`. */
  async beat(connection: Connection, id: string, passed: number): Promise<FollowerBeat | undefined> {
    const [row] = await connection.query(
      `UPDATE ${this.#schema}.followers AS mine SET beats = mine.beats + 1, passed = $2::bigint FROM ${this.#schema}.format
       WHERE mine.id = $1 AND format.id = 1 AND format.generation >= $2::bigint
       RETURNING format.generation, ${this.#isAwaited}`,
      [id, passed],
    );
    return row && beatOf(row);
  }

  async leave(connection: Connection, id: string): Promise<void> {
    await connection.query(`DELETE FROM ${this.#schema}.followers WHERE id = $1`, [id]);
  }

  /** Returns the transactions that are making commits with pages or a head. */
  async writers(connection: Connection): Promise<Set<string>> {
    const rows = await connection.query(
      `SELECT virtualtransaction AS writer FROM pg_locks
       WHERE relation = to_regclass($1) AND mode = 'RowExclusiveLock' AND granted AND pid <> pg_backend_pid()
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      [`${this.#schema}.files`],
    );
    return new Set(rows.map((row) => String(row['writer'])));
  }

  /** For an owner. */
  async look(connection: Connection): Promise<readonly SeenFollower[]> {
    const rows = await connection.query(`SELECT id, beats, passed, lease_ms FROM ${this.#schema}.followers`);
    return rows.map((row) => ({
      id: String(row['id']),
      beats: numberOf(row['beats']),
      passed: numberOf(row['passed']),
      leaseMs: numberOf(row['lease_ms']),
    }));
  }

  /** Asks followers to give up the states that were there before this call. Returns the generation of those after it, which none has passed yet. */
  async raise(connection: Connection): Promise<number> {
    const [row = {}] = await connection.query(
      `UPDATE ${this.#schema}.format SET generation = greatest(generation, (SELECT max(passed) FROM ${this.#schema}.followers)) + 1
       WHERE id = 1 RETURNING generation`,
    );
    return numberOf(row['generation']);
  }

  /** Removes the row of a follower that was seen to be silent. Returns false if it is not: the row is there, with another beat. */
  async remove(connection: Connection, { id, beats }: SeenFollower): Promise<boolean> {
    const followers = `${this.#schema}.followers`;
    await connection.query(`DELETE FROM ${followers} WHERE id = $1 AND beats = $2::bigint`, [id, beats]);
    return (await connection.query(`SELECT FROM ${followers} WHERE id = $1`, [id])).length === 0;
  }
}

function beatOf(row: Row): FollowerBeat {
  return { generation: numberOf(row['generation']), isAwaited: row['is_awaited'] === true };
}
