/** Processes on one storage in PostgreSQL: one owns a file and is killed again and again, others follow the file. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { build } from 'vite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { must } from '../../src/base/shared/assert.ts';
import type { Commit, FollowedPoint, FollowedState, PageStore } from '../../src/storage/page-store.ts';
import type { ConnectionPool } from '../../src/storage/postgres/connection-pool.ts';
import { createPostgresPageStore } from '../../src/storage/postgres/postgres-page-store.ts';
import { rejects, relaxed } from '../conformance/storage/expectations.ts';
import { roundsOf } from '../support/long-runs.ts';
import { patient } from '../support/patience.ts';
import { Cluster } from '../support/postgres/cluster.ts';
import { type CountedState, countedOf } from '../support/postgres/counted-state.ts';
import { dropSchema, mayBeMissing, newSchema, openPool, recordNumbers } from '../support/postgres/postgres.ts';
import { SeededRandom } from '../support/seeded-random.ts';

const KILLS = roundsOf(5, 100);
/** Acknowledged writes before a kill, at least and at most. */
const [FEWEST, MOST] = [20, 150];
const seed = Number(process.env['SETTEE_CRASH_SEED'] ?? Date.now() % 2 ** 31);
const root = join(import.meta.dirname, '../..');

// Without the background writer of its log, what no commit waited for is lost whenever PostgreSQL crashes.
const cluster = await Cluster.start({ fsync: true, settings: ['wal_writer_delay=10s', 'wal_writer_flush_after=0'] });
if (cluster === undefined) mayBeMissing();

describe.skipIf(cluster === undefined)('processes that follow a file in PostgreSQL', () => {
  const postgres = cluster as Cluster;
  const running = new Set<Process>();
  let folder = '';
  let storage = '';
  let pool: ConnectionPool;
  let store: PageStore;

  beforeAll(async () => {
    // Where it finds the packages.
    folder = await mkdtemp(join(root, 'node_modules', '.following-'));
    await build({
      ...{ root, configFile: false, logLevel: 'warn' },
      build: {
        ...{ ssr: 'test/support/postgres/following-process.ts', outDir: folder, target: 'node20' },
        rolldownOptions: { output: { entryFileNames: 'process.mjs', codeSplitting: false } },
      },
    });
  }, 120_000);
  beforeEach(async () => {
    storage = newSchema(postgres.url());
    pool = await openPool(storage);
    store = createPostgresPageStore(pool);
    console.info(`SETTEE_CRASH_SEED=${seed} repeats what this run chooses`);
  });
  afterEach(async () => {
    for (const process of running) await process.kill();
    running.clear();
    await store.close();
    await dropSchema(pool);
    await pool.close();
  }, 60_000);
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
    await postgres.remove();
  });

  function start(role: 'owner' | 'follower', own = 0): Process {
    const process = new Process([join(folder, 'process.mjs'), role, storage, `${own}`]);
    running.add(process);
    return process;
  }

  test(
    `what was acknowledged is seen, and the pages of a state that is held are there (${KILLS} kills of the owner)`,
    async () => {
      const random = new SeededRandom(seed);
      const followers = [new Checked(store), new Checked(store)];
      let [acknowledged, polls] = [0, 0];
      for (let kill = 1; kill <= KILLS; kill += 1) {
        const owner = start('owner', random.between(1, 2 ** 30));
        owner.onLine = (line) => {
          acknowledged = Math.max(acknowledged, Number(line.slice('wrote '.length)));
        };
        const enough = acknowledged + random.between(FEWEST, MOST);
        await expect.poll(() => acknowledged, { ...patient, interval: 5 }).toBeGreaterThan(0);
        while (acknowledged < enough) {
          for (const follower of followers) {
            const least = acknowledged;
            const { last } = await follower.poll();
            expect(last, `seed ${seed}, kill ${kill}`).toBeGreaterThanOrEqual(least);
            polls += 1;
            await delay(random.between(0, 10));
            expect(await follower.pages(), `seed ${seed}, kill ${kill}`).toEqual(follower.expectedPages);
            if (random.chance(50)) follower.releaseOldest();
          }
        }
        await owner.kill();
        running.delete(owner);
        for (const follower of followers) {
          expect((await follower.poll()).last, `seed ${seed}, after kill ${kill}`).toBeGreaterThanOrEqual(acknowledged);
        }
      }
      expect(followers[0]?.state.last).toBe(followers[1]?.state.last);
      console.info(`${KILLS} kills: ${acknowledged} writes, ${polls} polls`);
    },
    60_000 + KILLS * 30_000,
  );

  test('a follower that is frozen for longer than its lease finds its pages gone, and does not block the owner', async () => {
    const file = await store.open('a', 'create');
    await file.commit(relaxed({ head: '7 2', writePages: [{ number: 2, value: 'page 7' }] }));
    const follower = start('follower');
    expect(await follower.line()).toBe('ready');
    expect(await follower.ask('poll')).toBe('false 7');
    expect(await follower.ask('read')).toBe('page: page 7');
    follower.child.kill('SIGSTOP');
    await file.commit(relaxed({ head: '8 4', writePages: [{ number: 4, value: 'page 8' }] }));
    const passed = must(file.whenFollowersPass?.());
    expect(await Promise.race([passed, delay(500, 'waits')])).toBe('waits');
    await passed;
    await file.commit(relaxed({ dropPages: [2] }));
    follower.child.kill('SIGCONT');
    expect(await follower.ask('read')).toBe('page: undefined');
    expect(await follower.ask('poll')).toBe('false 8');
    expect(await follower.ask('read')).toBe('page: page 8');
    expect(await follower.ask('poll')).toBe('undefined 8');
  }, 120_000);

  test.each([
    ['is restarted', false, () => postgres.shutDown().then(() => postgres.startAgain())],
    ['crashes', true, () => postgres.crash().then(() => postgres.startAgain())],
    ['recovers from the death of one of its processes', true, () => postgres.killConnection()],
  ])(
    'a follower goes on after PostgreSQL %s, without what was lost',
    async (_, loses, end) => {
      let isLost = await goesOnAfter(end);
      // PostgreSQL may have written its log between the commit and the crash.
      while (loses && !isLost) isLost = await goesOnAfter(end);
      expect(isLost).toBe(loses);
    },
    120_000,
  );

  /** Returns whether a relaxed commit was lost. */
  async function goesOnAfter(end: () => Promise<void>): Promise<boolean> {
    // A beat would make durable what was committed before it.
    const reader = createPostgresPageStore(pool, undefined, { followerLeaseMs: 3_600_000 });
    let file = await store.open('a', 'create');
    await file.commit({ durability: 'strict', head: 'one', journal: { number: 2, text: 'two' } });
    const followed = must(await reader.follow?.('a'));
    await followed.poll();
    await file.commit(relaxed({ journal: { number: 3, text: 'three' } }));
    const before = must(await followed.poll());
    expect(before.records).toEqual([
      { number: 2, text: 'two' },
      { number: 3, text: 'three' },
    ]);
    await end();
    const isLost = !(await recordNumbers(pool, 'a')).includes(3);
    const next: Commit = { durability: 'strict', journal: { number: 4, text: 'next' } };
    if (isLost) {
      await rejects('storage_closed', () => file.commit(next));
      expect(await followed.poll(before.point)).toBeUndefined();
      await file.close();
      file = await store.open('a', 'open');
    }
    await file.commit(next);
    const after = must(await followed.poll(before.point));
    expect(after.continues).toBe(!isLost);
    const known = after.continues ? before.records : [];
    const texts = [...known, ...after.records].map(({ text }) => text);
    expect(texts).toEqual(isLost ? ['two', 'next'] : ['two', 'three', 'next']);
    await file.commit({ durability: 'strict', head: 'two' });
    const passed = must(file.whenFollowersPass?.());
    before.release();
    after.release();
    await reader.close();
    await passed;
    await store.destroy('a');
    return isLost;
  }
});

/** A follower that keeps several states at a time. */
class Checked {
  readonly #store: PageStore;
  readonly #held: { readonly state: CountedState; readonly release: () => void }[] = [];
  #followed: ReturnType<NonNullable<PageStore['follow']>> | undefined;
  #point: FollowedPoint | undefined;
  state = countedOf(undefined, []);

  constructor(store: PageStore) {
    this.#store = store;
  }

  async poll(): Promise<CountedState> {
    this.#followed ??= must(this.#store.follow?.('a'));
    const next: FollowedState | undefined = await (await this.#followed).poll(this.#point);
    if (next === undefined) return this.state;
    this.state = countedOf(next.point.head, next.records, next.continues ? this.state : undefined);
    this.#point = next.point;
    this.#held.push({ state: this.state, release: () => next.release() });
    if (this.#held.length > 5) this.releaseOldest();
    return this.state;
  }

  releaseOldest(): void {
    if (this.#held.length > 1) this.#held.shift()?.release();
  }

  async pages(): Promise<readonly (string | undefined)[]> {
    const followed = await must(this.#followed);
    return Promise.all(
      this.#held.map(async ({ state: { page } }) => (page === undefined ? undefined : followed.read(page, 'text'))),
    );
  }

  get expectedPages(): readonly (string | undefined)[] {
    return this.#held.map(({ state: { page, inPage } }) => (page === undefined ? undefined : `page ${inPage}`));
  }
}

class Process {
  readonly child: ChildProcess;
  readonly #lines: string[] = [];
  readonly #ended: Promise<unknown>;
  #onLine: (() => void) | undefined;
  /** Gets each line, instead of `line`. */
  onLine: ((line: string) => void) | undefined;

  constructor(command: readonly string[]) {
    this.child = spawn(process.execPath, command, { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#ended = new Promise((resolve) => this.child.once('exit', resolve));
    createInterface({ input: must(this.child.stdout) }).on('line', (line) => {
      if (this.onLine !== undefined) return this.onLine(line);
      this.#lines.push(line);
      this.#onLine?.();
    });
  }

  async line(): Promise<string> {
    for (;;) {
      const line = this.#lines.shift();
      if (line !== undefined) return line;
      await new Promise<void>((resolve) => {
        this.#onLine = resolve;
      });
    }
  }

  ask(line: string): Promise<string> {
    this.child.stdin?.write(`${line}\n`);
    return this.line();
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.#ended;
  }
}
