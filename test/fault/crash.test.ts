import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { at } from '../support/conformance/json.ts';
import { checkDocuments, readSequences, readUpdateSeq, verifyFolder } from '../support/crash/check.ts';
import { Connection, ConnectionLost } from '../support/crash/connection.ts';
import { isLocal, Ledger } from '../support/crash/ledger.ts';
import { buildServer, ServerProcess } from '../support/crash/server-process.ts';
import { CrashWriter } from '../support/crash/writer.ts';
import { roundsOf } from '../support/long-runs.ts';
import { SeededRandom } from '../support/seeded-random.ts';

/**
 * A server process is killed again and again while clients write, and started again on the same folder, which goes on
 * growing. What was acknowledged must be there, what was not must be there whole or not at all, and no number may be
 * given twice. SETTEE_CRASH_ROUNDS says how often (10, in a long run 50), SETTEE_CRASH_SEED repeats a run's choices.
 */
const rounds = Number(process.env['SETTEE_CRASH_ROUNDS'] ?? roundsOf(10, 50));
const seed = Number(process.env['SETTEE_CRASH_SEED'] ?? Date.now() % 2 ** 31);

const DATABASE = 'crash';
const CLIENTS = 8;
/** After the first acknowledged write. */
const EARLIEST_KILL_MS = 5;
const LATEST_KILL_MS = 300;
/** One round in so many is killed once more while it opens the database again. */
const OPENING_ROUNDS = 5;
/** One round in so many has a compaction running; every other time the server lives to write behind it. */
const COMPACTION_ROUNDS = 4;
/** After so many rounds the whole folder is looked at from inside. */
const VERIFY_ROUNDS = 10;
/** Documents whose numbers are looked at in each round. */
const SEQUENCE_SAMPLE = 60;

let folder: string;
let server: ServerProcess | undefined;

beforeAll(() => buildServer(), 60_000);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-crash-'));
});

afterEach(async () => {
  await server?.kill();
  await rm(folder, { recursive: true, force: true });
});

test(
  `acknowledged writes survive kill -9 (${rounds} times)`,
  async () => {
    console.log(`SETTEE_CRASH_SEED=${seed} repeats what this run chooses`);
    const run = new CrashRun(seed);
    await run.createDatabase();
    for (let round = 1; round <= rounds; round++) {
      await run.writeAndKill(round);
      if (round % OPENING_ROUNDS === 0) await run.killWhileOpening();
      expect(await run.restartAndCheck(), `seed ${seed}, round ${round}`).toEqual([]);
      if (round % VERIFY_ROUNDS === 0) expect(await run.verify(), `seed ${seed}, round ${round}`).toEqual([]);
    }
    expect(await run.checkAll(), `seed ${seed}, all documents`).toEqual([]);
    expect(await run.verify(), `seed ${seed}, at the end`).toEqual([]);
    expect(run.acknowledged).toBeGreaterThan(rounds * 10);
    console.log(run.summary);
  },
  30_000 + rounds * 6_000,
);

class CrashRun {
  readonly #random: SeededRandom;
  readonly #ledger = new Ledger();
  readonly #writers: readonly CrashWriter[];
  #firstAcknowledged = () => {};
  /** The highest that anyone has seen. */
  #updateSeq = 0;
  #sequences = new Map<string, number>();
  #checked = 0;

  constructor(runSeed: number) {
    this.#random = new SeededRandom(runSeed);
    this.#writers = Array.from({ length: CLIENTS }, (_, index) => {
      const random = new SeededRandom(this.#random.between(0, 2 ** 31));
      const onAcknowledged = () => this.#firstAcknowledged();
      return new CrashWriter({ database: DATABASE, name: `w${index}`, ledger: this.#ledger, random, onAcknowledged });
    });
  }

  get acknowledged(): number {
    return this.#ledger.acknowledged;
  }

  get summary(): string {
    return `${this.acknowledged} writes to ${this.#ledger.size} documents acknowledged, ${this.#checked} looked at again, update_seq ${this.#updateSeq}`;
  }

  async createDatabase(): Promise<void> {
    const connection = await this.#connect();
    expect((await connection.ask({ method: 'PUT', path: DATABASE })).status).toBe(201);
    connection.close();
  }

  /** All clients write; at a random moment after the first acknowledged write the server is killed. */
  async writeAndKill(round: number): Promise<void> {
    const running = await this.#running();
    const acknowledged = new Promise<void>((resolve) => {
      this.#firstAcknowledged = resolve;
    });
    const clients = this.#writers.map((writer) => writer.run(new Connection(running.url)));
    const watch = this.#watchUpdateSeq(new Connection(running.url));
    const compaction = round % COMPACTION_ROUNDS === 0 ? this.#compact(new Connection(running.url)) : undefined;
    const all = Promise.all([...clients, watch, compaction]);
    await Promise.race([acknowledged, all]);
    if (round % (2 * COMPACTION_ROUNDS) === 0) await Promise.race([compaction, all]);
    await Promise.race([delay(this.#random.between(EARLIEST_KILL_MS, LATEST_KILL_MS)), all]);
    await running.kill();
    await all;
    // The first lines say where it and its administration page are, and that it has no admin.
    expect(running.output.split('\n').slice(3).join('\n').trim(), 'what the server had to complain about').toBe('');
  }

  /** The restarted server dies while it opens the database, which it does at the first request. */
  async killWhileOpening(): Promise<void> {
    this.#restart();
    const connection = await this.#connect();
    const opened = connection.ask({ method: 'GET', path: DATABASE }).catch((error: unknown) => {
      if (!(error instanceof ConnectionLost)) throw error;
    });
    await delay(this.#random.between(0, 20));
    await server?.kill();
    await opened;
    connection.close();
  }

  /** What the last round wrote, as the next server shows it. */
  restartAndCheck(): Promise<string[]> {
    this.#restart();
    return this.#check(this.#ledger.takeTouched());
  }

  checkAll(): Promise<string[]> {
    return this.#check(this.#ledger.ids());
  }

  /** The whole folder, without a server. */
  async verify(): Promise<readonly string[]> {
    await server?.kill();
    server = undefined;
    const known = new Set(this.#ledger.ids());
    return (await verifyFolder(folder, DATABASE, known)).damage;
  }

  #restart(): void {
    server = undefined;
  }

  async #running(): Promise<ServerProcess> {
    server ??= await ServerProcess.start(folder);
    return server;
  }

  async #connect(): Promise<Connection> {
    return new Connection((await this.#running()).url);
  }

  async #check(ids: readonly string[]): Promise<string[]> {
    const connection = await this.#connect();
    const updateSeq = await readUpdateSeq(connection, DATABASE);
    const findings = await checkDocuments(connection, DATABASE, this.#ledger, ids);
    if (updateSeq < this.#updateSeq) findings.push(`update_seq went back from ${this.#updateSeq} to ${updateSeq}`);
    findings.push(...(await this.#checkSequences(connection, ids, updateSeq)));
    this.#updateSeq = Math.max(this.#updateSeq, updateSeq);
    this.#checked += ids.length;
    connection.close();
    return findings;
  }

  /** A document's number changes only upwards, and no two documents ever have the same. */
  async #checkSequences(connection: Connection, ids: readonly string[], updateSeq: number): Promise<string[]> {
    const findings: string[] = [];
    const sample = ids.filter((id) => !isLocal(id)).slice(0, SEQUENCE_SAMPLE);
    const sequences = await readSequences(connection, DATABASE, [...sample, ...this.#sequences.keys()]);
    const owners = new Map<number, string>();
    for (const [id, seq] of sequences) {
      const former = this.#sequences.get(id) ?? 0;
      if (seq < former) findings.push(`${id}: its number went back from ${former} to ${seq}`);
      if (seq > updateSeq) findings.push(`${id}: its number ${seq} is above update_seq, ${updateSeq}`);
      if (owners.has(seq)) findings.push(`${id} and ${owners.get(seq)} have the same number ${seq}`);
      owners.set(seq, id);
    }
    this.#sequences = new Map([...sequences].slice(0, SEQUENCE_SAMPLE));
    return findings;
  }

  async #watchUpdateSeq(connection: Connection): Promise<void> {
    try {
      for (;;) {
        const seen = await readUpdateSeq(connection, DATABASE);
        expect(seen, 'update_seq while writing').toBeGreaterThanOrEqual(this.#updateSeq);
        this.#updateSeq = seen;
      }
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
    } finally {
      connection.close();
    }
  }

  async #compact(connection: Connection): Promise<void> {
    try {
      const answer = await connection.ask({ method: 'POST', path: `${DATABASE}/_compact`, body: '{}' });
      expect(answer.status).toBe(202);
      while (at((await connection.ask({ method: 'GET', path: DATABASE })).json, 'compact_running') === true);
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
    } finally {
      connection.close();
    }
  }
}
