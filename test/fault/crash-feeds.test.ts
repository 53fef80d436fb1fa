import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { arrayAt, at } from '../support/conformance/json.ts';
import { withDeadline } from '../support/conformance/with-deadline.ts';
import { inFolder } from '../support/crash/check.ts';
import { Connection, ConnectionLost } from '../support/crash/connection.ts';
import { buildServer, ServerProcess } from '../support/crash/server-process.ts';
import { allFilters, FILTER_DESIGN, FILTER_FUNCTIONS } from '../support/feeds/feed-filters.ts';
import { FollowedServer } from '../support/feeds/followed-server.ts';
import { FEED_KINDS, type FollowedService, Follower } from '../support/feeds/follower.ts';
import { roundsOf } from '../support/long-runs.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { seeAll } from '../unit/database/store/harness.ts';

/**
 * A server process is killed again and again while clients write, compact and purge, and others follow by feeds of every kind and with
 * every filter, and go on from what they had. In the end every one knows the last state of every document, and no feed told anything out
 * of order, or twice, or ended as if it were whole. SETTEE_CRASH_SEED repeats a run's choices.
 */
const ROUNDS = roundsOf(3, 10);
const seed = Number(process.env['SETTEE_CRASH_SEED'] ?? Date.now() % 2 ** 31);

const DATABASE = 'crash';
const NAMES = Array.from({ length: 60 }, (_, n) => (n % 10 === 0 ? `_design/d${n}` : `doc${n}`));
const WRITERS = 3;
/** Of a round, before it may end. */
const MIN_WRITES = 10;
const LATEST_KILL_MS = 600;

let folder: string;
let server: ServerProcess | undefined;

beforeAll(() => buildServer(), 60_000);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-feeds-'));
});

afterEach(async () => {
  await server?.kill();
  await rm(folder, { recursive: true, force: true });
});

test(`feeds of a server that is killed ${ROUNDS} times report the last state of every document`, async () => {
  console.log(`SETTEE_CRASH_SEED=${seed} repeats what this run chooses`);
  const run = new FeedRun(seed);
  await run.begin();
  for (let round = 1; round <= ROUNDS; round++) await run.writeAndKill();
  expect(await run.finish(), `seed ${seed}`).toEqual([]);
  console.log(`${run.writes} writes`);
});

class FeedRun {
  readonly #random: SeededRandom;
  readonly #followers: readonly Follower[];
  #following: Promise<unknown> = Promise.resolve();
  /** The server that is there. */
  #service: FollowedService | undefined;
  #isOver = false;
  #wake: () => void = () => undefined;
  #change = Promise.resolve();
  /** Those that were answered as done. */
  writes = 0;

  constructor(runSeed: number) {
    this.#random = new SeededRandom(runSeed);
    this.#followers = [...FEED_KINDS, undefined].flatMap((kind) =>
      allFilters(NAMES.slice(5, 12)).map((filter) => new Follower({ kind, filter, random: this.#seeded() })),
    );
    this.#expectChange();
  }

  async begin(): Promise<void> {
    const { url } = await this.#start();
    const connection = new Connection(url);
    await connection.ask({ method: 'PUT', path: DATABASE });
    const body = JSON.stringify(FILTER_FUNCTIONS);
    expect((await connection.ask({ method: 'PUT', path: `${DATABASE}/${FILTER_DESIGN}`, body })).status).toBe(201);
    connection.close();
    this.#show(new FollowedServer(new URL(DATABASE, url)));
    this.#following = Promise.all(this.#followers.map((follower) => follower.follow(() => this.#next())));
    // What a follower fails with is told at the end.
    this.#following.catch(() => undefined);
  }

  async writeAndKill(): Promise<void> {
    const running = await this.#start();
    this.#show(new FollowedServer(new URL(DATABASE, running.url)));
    const writers = Array.from({ length: WRITERS }, () => this.#write(new Connection(running.url), this.#seeded()));
    const before = this.writes;
    while (this.writes < before + MIN_WRITES) await delay(10);
    await delay(this.#random.between(0, LATEST_KILL_MS));
    this.#show(undefined);
    await running.kill();
    server = undefined;
    await Promise.all(writers);
    // The first lines say where it and its administration page are, and that it has no admin.
    expect(running.output.split('\n').slice(3).join('\n').trim(), 'what the server had to complain about').toBe('');
  }

  /** What the followers do not know of what the folder has. */
  async finish(): Promise<string[]> {
    const { documents } = await inFolder(folder, (registry) => registry.use(DATABASE, seeAll));
    const { url } = await this.#start();
    this.#show(new FollowedServer(new URL(DATABASE, url)));
    const complete = Promise.all(this.#followers.map((follower) => follower.isComplete(documents)));
    await withDeadline(Promise.race([complete, this.#following]), 'the last change').catch(() => undefined);
    this.#isOver = true;
    this.#show(undefined);
    await server?.kill();
    await this.#following;
    return this.#followers.flatMap((follower) => follower.missing(documents));
  }

  async #start(): Promise<ServerProcess> {
    server ??= await ServerProcess.start(folder);
    return server;
  }

  #seeded(): SeededRandom {
    return new SeededRandom(this.#random.between(0, 2 ** 31));
  }

  #show(service: FollowedService | undefined): void {
    this.#service = service;
    const wake = this.#wake;
    this.#expectChange();
    wake();
  }

  #expectChange(): void {
    this.#change = new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  async #next(): Promise<FollowedService | undefined> {
    // Those that read what is there, and ask again, leave time for others.
    await delay(20);
    while (this.#service === undefined && !this.#isOver) await this.#change;
    return this.#isOver ? undefined : this.#service;
  }

  async #write(connection: Connection, random: SeededRandom): Promise<void> {
    try {
      for (;;) await this.#writeSomething(connection, random);
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
    } finally {
      connection.close();
    }
  }

  async #writeSomething(connection: Connection, random: SeededRandom): Promise<void> {
    const send = async (path: string, json: unknown) => {
      const asked = { method: 'POST', path: `${DATABASE}/${path}`, body: JSON.stringify(json) };
      const { status, json: answered } = await connection.ask(asked);
      // A purge beside a compaction is refused, and a write may have a conflict.
      expect([200, 201, 202, 409, 412], `${path}: ${JSON.stringify(answered)}`).toContain(status);
      return answered;
    };
    const choice = random.between(0, 99);
    if (choice < 2) return void (await send('_compact', {}));
    const name = random.oneOf(NAMES) ?? '';
    const [row] = arrayAt(await send('_all_docs?conflicts=true&include_docs=true', { keys: [name] }), 'rows');
    const winner = at(row, 'value', 'rev');
    if (choice < 6 && typeof winner === 'string') return void (await send('_purge', { [name]: [winner] }));
    const document = { _id: name, n: random.between(0, 9), text: 'x'.repeat(random.between(0, 300)) };
    if (choice < 25) {
      const docs = [{ ...document, _rev: `1-${random.hexDigits(32)}` }];
      await send('_bulk_docs', { new_edits: false, docs });
    } else {
      const isGone = at(row, 'value', 'deleted') === true || typeof winner !== 'string';
      const deleted = choice < 40 && !isGone ? { _deleted: true } : {};
      await send('_bulk_docs', { docs: [{ ...document, ...deleted, ...(!isGone && { _rev: winner }) }] });
    }
    this.writes += 1;
  }
}
