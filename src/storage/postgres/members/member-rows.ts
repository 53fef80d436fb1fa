import { DatabaseError } from '../../../base/errors/database-error.ts';
import { type Connection, inTransaction, type Row, type Statement } from '../connection-pool.ts';
import { type Owner, type OwnServer, ownerOf } from '../server-rows.ts';
import { numberOf } from '../values.ts';
import type { Member } from './membership.ts';

/** A row of a server that takes part, or that owns the storage. */
export interface SeenServer extends Member, Owner {
  readonly takesPart: boolean;
}

/** All of one moment. */
export interface Sight {
  /** The database server that was asked (`Connection.server`). */
  readonly server: string;
  /** How often the storage has changed its owner. */
  readonly term: number;
  /** The version of the membership. */
  readonly version: number;
  /** Ascending by their ids. */
  readonly servers: readonly SeenServer[];
  /** Undefined if the version is the one that the caller knows. */
  readonly pins: ReadonlyMap<string, string> | undefined;
  /** Whether this server's row was renewed; false if it was not to be. */
  readonly isRenewed: boolean;
}

interface Wanted {
  /** Whether this server's row is renewed. */
  readonly renew: boolean;
  /** The version whose pins the caller has; undefined if it has none. */
  readonly known: number | undefined;
}

/**
 * Statements on the rows of servers that take part, and on the version of the membership. A transaction that changes the version locks the row of
 * `format` before those of servers, so that none of them waits for one that waits for it. Times are those of the database server alone.
 */
export class MemberRows {
  readonly #schema: string;
  readonly #self: OwnServer;
  readonly #look: Statement;

  constructor(schema: string, self: OwnServer) {
    this.#schema = schema;
    this.#self = self;
    this.#look = { name: 'look_for_members', text: lookText(schema) };
  }

  /** Looks, and renews the row in the same statement. */
  async look(connection: Connection, { renew, known }: Wanted): Promise<Sight> {
    const { id, leaseMs } = this.#self;
    const rows = await connection.query(this.#look, [id, leaseMs, renew, known ?? -1]);
    const [{ term, version, pins, is_renewed: isRenewed } = {}] = rows;
    const servers = rows.filter((row) => row['id'] !== null).map(seenServerOf);
    return {
      server: connection.server,
      term: numberOf(term),
      version: numberOf(version),
      servers: servers.sort((left, right) => (left.id < right.id ? -1 : 1)),
      pins: typeof pins === 'string' ? pinsOf(pins) : undefined,
      isRenewed: isRenewed === true,
    };
  }

  /** Adds this server's row. `former`: the id of the row that it had before, which is removed if it is still there. */
  join(connection: Connection, address: string | undefined, former: string | undefined): Promise<void> {
    const { id, described, machine, leaseMs } = this.#self;
    return this.#change(connection, async () => {
      if (former !== undefined) await this.#delete(connection, former);
      await connection.query(
        `INSERT INTO ${this.#schema}.servers (id, is_owner, described, machine, address, until, beaten_on, beats, takes_part)
         VALUES ($1::text, false, $2::text, $3::text, $4::text, clock_timestamp() + $5::float8 * interval '1 millisecond', pg_postmaster_start_time()::text, 1, true)
         ON CONFLICT (id) DO UPDATE SET until = EXCLUDED.until, beaten_on = EXCLUDED.beaten_on, beats = servers.beats + 1, address = EXCLUDED.address`,
        [id, described, machine, address ?? null, leaseMs],
      );
      return true;
    });
  }

  /** `former`: see `join`. */
  leave(connection: Connection, former: string | undefined): Promise<void> {
    return this.#change(connection, async () => {
      const isFormerGone = former !== undefined && (await this.#delete(connection, former));
      return (await this.#delete(connection, this.#self.id)) || isFormerGone;
    });
  }

  /** Removes servers that have not renewed their rows since they were seen. */
  remove(connection: Connection, dead: readonly SeenServer[]): Promise<void> {
    return this.#change(connection, async () => {
      let isChanged = false;
      for (const { id, beats } of dead) isChanged = (await this.#delete(connection, id, beats)) || isChanged;
      return isChanged;
    });
  }

  announce(connection: Connection, address: string | undefined): Promise<void> {
    const text = `UPDATE ${this.#schema}.servers SET address = $2 WHERE id = $1 AND address IS DISTINCT FROM $2 RETURNING 1`;
    return this.#change(
      connection,
      async () => (await connection.query(text, [this.#self.id, address ?? null])).length > 0,
    );
  }

  async adopt(connection: Connection, id: string, version: number): Promise<void> {
    const text = `UPDATE ${this.#schema}.servers SET adopted = greatest(adopted, $2::bigint) WHERE id = $1`;
    await connection.query(text, [id, version]);
  }

  /** Raises the version above `known`, unless another server has changed it since `seen`. */
  async raise(connection: Connection, seen: number, known: number): Promise<void> {
    const text = `UPDATE ${this.#schema}.format SET membership = greatest(membership, $2::bigint) + 1 WHERE id = 1 AND membership = $1::bigint`;
    await connection.query(text, [seen, known]);
  }

  /** Rejects with `not_owner` if this server does not own the storage. */
  setPins(connection: Connection, pins: ReadonlyMap<string, string>): Promise<void> {
    const schema = this.#schema;
    const wanted = JSON.stringify([...pins].map(([name, server]) => ({ name, server })));
    const rows = 'SELECT name, server FROM json_to_recordset($1::json) AS pin (name text, server text)';
    return this.#change(connection, async () => {
      const own = `SELECT FROM ${schema}.servers WHERE id = $1 AND is_owner`;
      if ((await connection.query(own, [this.#self.id])).length === 0) throw notCoordinator();
      const removed = await connection.query(
        `DELETE FROM ${schema}.pins WHERE name NOT IN (SELECT name FROM (${rows}) AS wanted) RETURNING 1`,
        [wanted],
      );
      const set = await connection.query(
        `INSERT INTO ${schema}.pins AS pins (name, server) ${rows}
         ON CONFLICT (name) DO UPDATE SET server = EXCLUDED.server WHERE pins.server <> EXCLUDED.server RETURNING 1`,
        [wanted],
      );
      return removed.length + set.length > 0;
    });
  }

  /** Returns the key of the storage. It is `proposed` if there was none. */
  async forwardingKey(connection: Connection, proposed: string): Promise<string> {
    const text = `UPDATE ${this.#schema}.format SET forwarding_key = coalesce(forwarding_key, $1) WHERE id = 1 RETURNING forwarding_key`;
    const [row = {}] = await connection.query(text, [proposed]);
    return String(row['forwarding_key']);
  }

  /** Runs a transaction, and raises the version if `work` says that it has changed the membership. */
  #change(connection: Connection, work: () => Promise<boolean>): Promise<void> {
    const format = `${this.#schema}.format`;
    return inTransaction(connection, async () => {
      await connection.query(`SELECT membership FROM ${format} WHERE id = 1 FOR UPDATE`);
      if (await work()) await connection.query(`UPDATE ${format} SET membership = membership + 1 WHERE id = 1`);
    });
  }

  /** `beats`: deletes the row only if it was not renewed since it had so many. */
  async #delete(connection: Connection, id: string, beats?: number): Promise<boolean> {
    const text = `DELETE FROM ${this.#schema}.servers WHERE id = $1 AND ($2::bigint IS NULL OR beats = $2::bigint) RETURNING 1`;
    return (await connection.query(text, [id, beats ?? null])).length > 0;
  }
}

/** Rows as they were before the renewal. */
function lookText(schema: string): string {
  return `WITH renewed AS (
    UPDATE ${schema}.servers SET beats = beats + 1, beaten_on = pg_postmaster_start_time()::text,
      until = clock_timestamp() + $2::float8 * interval '1 millisecond'
    WHERE $3::boolean AND id = $1::text RETURNING 1)
  SELECT format.term, format.membership AS version, EXISTS (SELECT FROM renewed) AS is_renewed,
    CASE WHEN format.membership <> $4::bigint THEN coalesce((SELECT json_object_agg(name, server)::text FROM ${schema}.pins), '{}') END AS pins,
    server.id, server.described, server.machine, server.address, server.beats, server.is_owner, server.takes_part, server.adopted,
    server.until < clock_timestamp() AND server.beaten_on = pg_postmaster_start_time()::text AS is_over
  FROM ${schema}.format AS format LEFT JOIN ${schema}.servers AS server ON server.takes_part OR server.is_owner
  WHERE format.id = 1`;
}

function seenServerOf(row: Row): SeenServer {
  return {
    ...ownerOf(row),
    isCoordinator: row['is_owner'] === true,
    takesPart: row['takes_part'] === true,
    adopted: numberOf(row['adopted']),
  };
}

function pinsOf(text: string): ReadonlyMap<string, string> {
  const pins = Object.entries(JSON.parse(text)).map(([name, server]) => [name, String(server)] as const);
  return new Map(pins.sort(([left], [right]) => (left < right ? -1 : 1)));
}

function notCoordinator(): DatabaseError {
  const reason = 'This server does not own the storage, so it can’t change which servers own which databases';
  return new DatabaseError('not_owner', `${reason}; send the request to the server that does`);
}
