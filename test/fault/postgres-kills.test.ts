/**
 * Clients write to servers on one storage in PostgreSQL. Their owner is killed again and again, and another server takes over; or PostgreSQL is restarted, or
 * crashes, and the owner goes on. What was acknowledged must be there, and what was not must be there whole or not at all. SETTEE_CRASH_SEED repeats a
 * run's choices.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { at } from '../support/conformance/json.ts';
import { checkDocuments, readUpdateSeq } from '../support/crash/check.ts';
import { type Answer, Connection, ConnectionLost } from '../support/crash/connection.ts';
import { Ledger } from '../support/crash/ledger.ts';
import { buildServer, ServerProcess } from '../support/crash/server-process.ts';
import { CrashWriter, RefusedWrite } from '../support/crash/writer.ts';
import { isLongRun, roundsOf } from '../support/long-runs.ts';
import { Cluster } from '../support/postgres/cluster.ts';
import { dropSchema, mayBeMissing, newSchema, openPool } from '../support/postgres/postgres.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { runCommand } from '../unit/node/run-command.ts';

const KILLS = roundsOf(4, 100);
const RESTARTS = roundsOf(2, 20);
const seed = Number(process.env['SETTEE_CRASH_SEED'] ?? Date.now() % 2 ** 31);

const DATABASE = 'crash';
const CLIENTS = 8;
/** Acknowledged writes in a round before something happens, at least and at most, and milliseconds more. */
const FEWEST = 10;
const MOST = 80;
const LATEST_MS = 100;
/** In a long run, the lease of a killed owner ends by itself once in so many rounds. Otherwise its row is removed, which saves 12 seconds. */
const LEASE_ROUNDS = 10;
const DURABLE = { 'x-svc-full-commit': 'true' };
const PATIENCE = { timeout: 120_000, interval: 50 };
const ROUND_MS = 60_000;

// Without the background writer of its log, what no commit waited for is lost whenever PostgreSQL crashes.
const cluster = await Cluster.start({ fsync: true, settings: ['wal_writer_delay=10s', 'wal_writer_flush_after=0'] });
if (cluster === undefined) mayBeMissing();

describe.skipIf(cluster === undefined)('clients that write to PostgreSQL', () => {
  const postgres = cluster as Cluster;
  const running = new Set<ServerProcess>();
  let storage = '';

  beforeAll(() => buildServer(), 300_000);
  beforeEach(() => {
    storage = newSchema(postgres.url());
    console.info(`SETTEE_CRASH_SEED=${seed} repeats what this run chooses`);
  });
  afterEach(async () => {
    for (const server of running) await server.kill();
    running.clear();
    const pool = await openPool(storage);
    await dropSchema(pool);
    await pool.close();
  }, 60_000);
  afterAll(() => postgres.remove());

  async function start(): Promise<ServerProcess> {
    const server = await ServerProcess.start(storage);
    running.add(server);
    return server;
  }

  async function kill(server: ServerProcess): Promise<void> {
    await server.kill();
    running.delete(server);
  }

  /** As the end of its lease would do. */
  async function forgetOwner(): Promise<void> {
    const pool = await openPool(storage);
    await pool.use((connection) => connection.query(`DELETE FROM ${pool.address.schema}.servers WHERE is_owner`));
    await pool.close();
  }

  async function verify(): Promise<void> {
    for (const server of running) await server.stop();
    running.clear();
    const { code, stdout } = await runCommand(['verify', '--storage', storage]);
    expect(stdout).toMatch(/^crash: \d+ documents, .*no damage\n$/);
    expect(code).toBe(0);
  }

  test(
    `what was acknowledged survives kill -9 of the owner (${KILLS} times)`,
    async () => {
      const load = new Load(seed);
      let [owner, next] = [await start(), await start()];
      await load.createDatabase(owner);
      for (let round = 1; round <= KILLS; round += 1) {
        const killed = owner;
        await load.write(killed, () => kill(killed));
        if (!isLongRun || round % LEASE_ROUNDS !== 0) await forgetOwner();
        owner = next;
        expect(await load.check(owner), `seed ${seed}, round ${round}`).toEqual([]);
        next = await start();
      }
      expect(await load.checkAll(owner), `seed ${seed}, all documents`).toEqual([]);
      expect(load.refused).toEqual([]);
      expect(load.acknowledged).toBeGreaterThanOrEqual(KILLS * FEWEST);
      await verify();
      console.info(`${KILLS} kills: ${load.summary}`);
    },
    60_000 + KILLS * ROUND_MS,
  );

  test.each([
    ['is restarted', false, () => postgres.shutDown().then(() => postgres.startAgain())],
    // Others may be lost then, as the interface says.
    ['crashes, if it was acknowledged as durable', true, () => postgres.crash().then(() => postgres.startAgain())],
    ['loses one of its processes, if it was acknowledged as durable', true, () => postgres.killConnection()],
  ] as const)(
    `what was acknowledged is there after PostgreSQL %s (${RESTARTS} times)`,
    async (what, isDurable, end) => {
      const load = new Load(seed, isDurable);
      const owner = await start();
      await load.createDatabase(owner);
      for (let round = 1; round <= RESTARTS; round += 1) {
        await load.write(owner, async (acknowledgedMore) => {
          await end();
          await acknowledgedMore(CLIENTS);
        });
        expect(await load.check(owner), `seed ${seed}, round ${round}`).toEqual([]);
      }
      expect(await load.checkAll(owner), `seed ${seed}, all documents`).toEqual([]);
      expect(load.acknowledged).toBeGreaterThanOrEqual(RESTARTS * FEWEST);
      await verify();
      console.info(`${RESTARTS} times PostgreSQL ${what}: ${load.summary}`);
    },
    60_000 + RESTARTS * ROUND_MS,
  );

  test('no write follows on one that PostgreSQL lost when one of its processes died, and that one is not served any more', async () => {
    const owner = await start();
    await new Load(seed).createDatabase(owner);
    const connection = await ownedBy(owner);
    const put = async (id: string, headers = {}) =>
      (await connection.ask({ method: 'PUT', path: `${DATABASE}/${id}`, body: '{}', headers })).status;
    const get = async (id: string) => (await connection.ask({ method: 'GET', path: `${DATABASE}/${id}` })).status;
    let isLost = false;
    // PostgreSQL may have written its log between the write and the crash.
    for (let round = 1; round <= 50 && !isLost; round += 1) {
      expect(await put(`durable-${round}`, DURABLE)).toBe(201);
      expect(await put(`relaxed-${round}`)).toBe(201);
      await postgres.killConnection();
      const status = await put(`next-${round}`, DURABLE);
      isLost = status === 503;
      expect(status).toBe(isLost ? 503 : 201);
      expect(await get(`durable-${round}`)).toBe(200);
      expect(await get(`relaxed-${round}`)).toBe(isLost ? 404 : 200);
      expect(await get(`next-${round}`)).toBe(isLost ? 404 : 200);
    }
    expect(isLost).toBe(true);
    expect(owner.output).toContain(
      'the PostgreSQL server crashed, or was replaced, and lacks the last relaxed commits',
    );
    expect(await put('last', DURABLE)).toBe(201);
    await verify();
  }, 120_000);
});

/** Waits until so many writes more are acknowledged, or no client writes any more. */
type AcknowledgedMore = (count: number) => Promise<void>;

/** Clients, and what they know. */
class Load {
  readonly #random: SeededRandom;
  readonly #ledger = new Ledger();
  readonly #writers: readonly CrashWriter[];
  readonly #waiting = new Set<() => void>();
  #updateSeq = 0;
  #checked = 0;
  /** Writes that were answered with 503. */
  readonly refused: string[] = [];

  constructor(runSeed: number, isDurable = false) {
    this.#random = new SeededRandom(runSeed);
    this.#writers = Array.from({ length: CLIENTS }, (_, index) => {
      const random = new SeededRandom(this.#random.between(0, 2 ** 31));
      const onAcknowledged = () => {
        for (const look of this.#waiting) look();
      };
      const parts = { database: DATABASE, name: `w${index}`, ledger: this.#ledger };
      return new CrashWriter({ ...parts, random, isDurable, onAcknowledged });
    });
  }

  get acknowledged(): number {
    return this.#ledger.acknowledged;
  }

  get summary(): string {
    const { length } = this.refused;
    const figures = `${this.acknowledged} writes to ${this.#ledger.size} documents acknowledged, ${this.#checked} looked at again, ${length} refused, update_seq ${this.#updateSeq}`;
    return [figures, ...new Set(this.refused)].join('\n  ');
  }

  async createDatabase(server: ServerProcess): Promise<void> {
    const connection = await ownedBy(server);
    expect((await connection.ask({ method: 'PUT', path: DATABASE })).status).toBe(201);
    connection.close();
  }

  /** All clients write; at a random moment `disturb` is called, and when it is done, they end with the response that they wait for. */
  async write({ url }: ServerProcess, disturb: (acknowledgedMore: AcknowledgedMore) => Promise<void>): Promise<void> {
    const end = new AbortController();
    const all = Promise.all(this.#writers.map((writer) => this.#run(writer, new Connection(url), end.signal)));
    const acknowledgedMore: AcknowledgedMore = async (count) => {
      await Promise.race([this.#acknowledgedMore(count), all]);
    };
    await acknowledgedMore(this.#random.between(FEWEST, MOST));
    await delay(this.#random.between(0, LATEST_MS));
    await disturb(acknowledgedMore);
    end.abort();
    await all;
  }

  /** Compares what the last round wrote. */
  check(server: ServerProcess): Promise<string[]> {
    return this.#check(server, this.#ledger.takeTouched());
  }

  checkAll(server: ServerProcess): Promise<string[]> {
    return this.#check(server, this.#ledger.ids());
  }

  async #run(writer: CrashWriter, connection: Connection, signal: AbortSignal): Promise<void> {
    try {
      await writer.run(connection, signal);
    } catch (error) {
      // It says that it is not known whether the write was carried out, or that the owner was without PostgreSQL for too long.
      if (!(error instanceof RefusedWrite) || error.status !== 503) throw error;
      this.refused.push(error.message.replace(/^.*? was answered with /, ''));
    }
  }

  #acknowledgedMore(count: number): Promise<void> {
    const target = this.acknowledged + count;
    return new Promise((resolve) => {
      const look = () => {
        if (this.acknowledged < target) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
    });
  }

  async #check(server: ServerProcess, ids: readonly string[]): Promise<string[]> {
    const connection = await ownedBy(server);
    const updateSeq = await readUpdateSeq(connection, DATABASE);
    const findings = await checkDocuments(connection, DATABASE, this.#ledger, ids);
    if (updateSeq < this.#updateSeq) findings.push(`update_seq went back from ${this.#updateSeq} to ${updateSeq}`);
    this.#updateSeq = updateSeq;
    this.#checked += ids.length;
    connection.close();
    return findings;
  }
}

/** Asks again as long as the server has not reached PostgreSQL for a while, which a slow machine may cause at any time. */
class PatientConnection extends Connection {
  override async ask(question: Parameters<Connection['ask']>[0]): Promise<Answer> {
    for (;;) {
      const answer = await super.ask(question);
      if (answer.status !== 503 || at(answer.json, 'error') !== 'service_unavailable') return answer;
      if (question.path === '_up') return answer;
      await delay(PATIENCE.interval);
    }
  }
}

/** A connection to the server, once that owns the storage. */
async function ownedBy({ url }: ServerProcess): Promise<Connection> {
  const connection = new PatientConnection(url);
  await expect.poll(() => statusOf(connection), PATIENCE).toBe(200);
  return connection;
}

async function statusOf(connection: Connection): Promise<number | undefined> {
  try {
    return (await connection.ask({ method: 'GET', path: '_up' })).status;
  } catch (error) {
    if (error instanceof ConnectionLost) return undefined;
    throw error;
  }
}
