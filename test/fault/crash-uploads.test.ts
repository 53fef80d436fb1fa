import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { Connection, ConnectionLost } from '../support/crash/connection.ts';
import { accountFor } from '../support/crash/folder-account.ts';
import { Ledger } from '../support/crash/ledger.ts';
import { buildServer, ServerProcess } from '../support/crash/server-process.ts';
import { observe, UploadWriter } from '../support/crash/upload-writer.ts';
import { roundsOf } from '../support/long-runs.ts';
import { SeededRandom } from '../support/seeded-random.ts';

/**
 * A server process is killed again and again while attachments are uploaded. What was acknowledged must be there with exactly its bytes, a
 * document without an acknowledged upload as it was or wholly as it was to be, and what broken-off uploads had stored must be gone.
 * SETTEE_CRASH_SEED repeats a run's choices.
 */
const ROUNDS = roundsOf(6, 30);
const MAX_ROUNDS = 10 * ROUNDS;
const seed = Number(process.env['SETTEE_CRASH_SEED'] ?? Date.now() % 2 ** 31);

const DATABASE = 'crash';
const CLIENTS = 3;
const LATEST_KILL_MS = 450;
/** One round in so many has a compaction running: its heads are written while uploads are under way. */
const COMPACTION_ROUNDS = 2;
/** After so many rounds the folder is looked at from inside, before a server opens it again. */
const ACCOUNT_ROUNDS = 3;
/** What the file may hold beside attachments, in bytes: less than one page of an attachment. */
const MAX_BESIDE = 100_000;
/** What the file may take on the disk beyond what it holds: LMDB's own pages, and what is free in them. */
const MAX_UNUSED = 2 ** 20;

let folder: string;
let server: ServerProcess | undefined;

beforeAll(() => buildServer(), 60_000);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-uploads-'));
});

afterEach(async () => {
  await server?.kill();
  await rm(folder, { recursive: true, force: true });
});

test(`uploads interrupted by kill -9 (${ROUNDS} times) are stored completely or not at all`, async () => {
  console.log(`SETTEE_CRASH_SEED=${seed} repeats what this run chooses`);
  const run = new UploadRun(seed);
  await run.createDatabase();
  // Of a few kills all may come before any page was written, or, on a busy machine, before most uploads are acknowledged.
  const isEarly = () => run.reclaimed === 0 || run.acknowledged <= ROUNDS / 3;
  for (let round = 1; round <= ROUNDS || (isEarly() && round <= MAX_ROUNDS); round++) {
    await run.uploadAndKill(round);
    if (round % ACCOUNT_ROUNDS === 0) await run.checkAccount(`seed ${seed}, round ${round}`);
    expect(await run.restartAndCheck(), `seed ${seed}, round ${round}`).toEqual([]);
  }
  console.log(run.summary);
  expect(run.acknowledged).toBeGreaterThan(ROUNDS / 3);
  expect(run.brokenOff).toBeGreaterThanOrEqual(ROUNDS);
  expect(run.reclaimed).toBeGreaterThan(0);
});

class UploadRun {
  readonly #random: SeededRandom;
  readonly #ledger = new Ledger();
  readonly #writers: readonly UploadWriter[];
  /** Uploads that were under way when the server was killed. */
  brokenOff = 0;
  /** Pages that they had left. */
  reclaimed = 0;

  constructor(runSeed: number) {
    this.#random = new SeededRandom(runSeed);
    this.#writers = Array.from({ length: CLIENTS }, (_, index) => {
      const random = new SeededRandom(this.#random.between(0, 2 ** 31));
      return new UploadWriter({ database: DATABASE, name: `w${index}`, ledger: this.#ledger, random });
    });
  }

  get acknowledged(): number {
    return this.#ledger.acknowledged;
  }

  get summary(): string {
    return `${this.acknowledged} writes acknowledged, ${this.brokenOff} uploads under way at a kill, ${this.reclaimed} of their pages reclaimed`;
  }

  async createDatabase(): Promise<void> {
    const connection = await this.#connect();
    expect((await connection.ask({ method: 'PUT', path: DATABASE })).status).toBe(201);
    connection.close();
  }

  /** All clients upload; at a random moment the server is killed. */
  async uploadAndKill(round: number): Promise<void> {
    const running = await this.#running();
    const clients = this.#writers.map((writer) => writer.run(new Connection(running.url)));
    const compaction = round % COMPACTION_ROUNDS === 0 ? this.#compact(new Connection(running.url)) : undefined;
    const all = Promise.all([...clients, compaction]);
    await Promise.race([delay(this.#random.between(0, LATEST_KILL_MS)), all]);
    this.brokenOff += this.#writers.filter((writer) => writer.isUploading).length;
    await running.kill();
    await all;
    // The first lines say where it and its administration page are, and that it has no admin.
    expect(running.output.split('\n').slice(3).join('\n').trim(), 'what the server had to complain about').toBe('');
    server = undefined;
  }

  /** No page is lost, and what the file holds is what documents refer to. */
  async checkAccount(where: string): Promise<void> {
    const { damage, reclaimed, referred, held, size } = await accountFor(folder, DATABASE);
    this.reclaimed += reclaimed;
    expect(damage, where).toEqual([]);
    expect(held, `${where}: bytes in the file, beside ${referred} of attachments`).toBeGreaterThanOrEqual(referred);
    expect(held - referred, `${where}: bytes that no attachment needs`).toBeLessThan(MAX_BESIDE);
    expect(size - held, `${where}: bytes on the disk that nothing is in`).toBeLessThan(MAX_UNUSED);
  }

  /** The documents that the last round wrote to, as the next server shows them. */
  async restartAndCheck(): Promise<string[]> {
    const connection = await this.#connect();
    const findings: string[] = [];
    for (const id of this.#ledger.takeTouched()) {
      const finding = this.#ledger.settle(id, await observe(connection, DATABASE, id));
      if (finding !== undefined) findings.push(finding);
    }
    connection.close();
    return findings;
  }

  async #running(): Promise<ServerProcess> {
    server ??= await ServerProcess.start(folder);
    return server;
  }

  async #connect(): Promise<Connection> {
    return new Connection((await this.#running()).url);
  }

  async #compact(connection: Connection): Promise<void> {
    try {
      for (;;)
        expect((await connection.ask({ method: 'POST', path: `${DATABASE}/_compact`, body: '{}' })).status).toBe(202);
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
    } finally {
      connection.close();
    }
  }
}
