import { afterAll, expect, test } from 'vitest';
import { isDatabaseError } from '../../src/base/errors/database-error.ts';
import { CacheBudget } from '../../src/base/shared/cache-budget.ts';
import type { Handle } from '../../src/base/shared/message.ts';
import { ActiveTasks } from '../../src/base/system/active-tasks.ts';
import { silentLog } from '../../src/base/system/log.ts';
import { createConfig } from '../../src/core/config/config-store.ts';
import { createDeferredCode } from '../../src/core/deferred/deferred-code.ts';
import { DatabaseFeeds } from '../../src/database/changes/feeds.ts';
import type { Registry } from '../../src/database/registry/contract.ts';
import { createHandle } from '../../src/http/http-service.ts';
import { createMemoryPageStore } from '../../src/storage/memory-page-store.ts';
import type { PageStore } from '../../src/storage/page-store.ts';
import { toStream } from '../support/conformance/body-stream.ts';
import { withDeadline } from '../support/conformance/with-deadline.ts';
import { allFilters, FILTER_DESIGN, FILTER_FUNCTIONS } from '../support/feeds/feed-filters.ts';
import { BrokenOff, FEED_KINDS, type FollowedFeed, type FollowedService, Follower } from '../support/feeds/follower.ts';
import { roundsOf } from '../support/long-runs.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { Service } from '../unit/database/registry/service.ts';
import { id, leavesOf, merge, put, rev, seeAll, TINY, TINY_PAGES } from '../unit/database/store/harness.ts';
import { clock, JSON_HEADERS, noParts, services } from '../unit/http/support.ts';
import { createTestSandbox } from '../unit/queries/sandbox/quickjs-files.ts';

/**
 * Writers, and followers that read feeds of every kind, leave them and go on behind what they had, while the database is compacted and
 * purged, snapshots are taken back, and the service dies and is opened again on what its storage has. In the end every follower knows the
 * last state of every document, and no feed told anything out of order or twice. SETTEE_CHANGES_SEED repeats a run's choices,
 * SETTEE_CHANGES_RUNS says how many runs there are.
 */
const firstSeed = Number(process.env['SETTEE_CHANGES_SEED'] ?? Date.now() % 2 ** 31);
const runs = Number(process.env['SETTEE_CHANGES_RUNS'] ?? roundsOf(3, 8));

const NAMES = Array.from({ length: 40 }, (_, n) => (n % 10 === 0 ? `_design/d${n}` : `doc${n}`));
const WRITERS = 3;
const WRITES = 60;
/** Snapshots are taken back as soon as pages of theirs are not needed any more. */
const SETTINGS = { ...TINY, snapshotMaxAgeMs: -1, cacheBytes: 2_000 };

/** The service from one start to its death. */
class Life implements FollowedService {
  readonly registry: Registry;
  readonly death: Promise<undefined>;
  isDead = false;
  readonly #handle: Handle;
  readonly #feeds: DatabaseFeeds;
  readonly #parts: OpenOptions;
  #die: () => void = () => undefined;

  private constructor(registry: Registry, store: PageStore) {
    this.registry = registry;
    this.#feeds = new DatabaseFeeds(registry);
    this.#parts = openParts(registry, store);
    const { design, find } = this.#parts;
    const parts = { ...noParts, design: () => design, find: () => find };
    this.#handle = createHandle(services({}, { registry, feeds: this.#feeds }), parts, () => false);
    this.death = new Promise((resolve) => {
      this.#die = () => resolve(undefined);
    });
  }

  static async begin(service: Service): Promise<Life> {
    const registry = await service.open({ settings: SETTINGS, supports: TINY_PAGES });
    const life = new Life(registry, createMemoryPageStore());
    if (!registry.has('db')) await registry.create('db');
    // A crash may have lost it.
    await registry.use('db', async (db) => {
      if ((await leavesOf(db, FILTER_DESIGN)).length > 0) return;
      await put(db, FILTER_DESIGN, { body: JSON.stringify(FILTER_FUNCTIONS) });
    });
    return life;
  }

  async changes(query: string, body: string | undefined): Promise<FollowedFeed> {
    const method = body === undefined ? 'GET' : 'POST';
    const request = { method, url: `/db/_changes?${query}`, headers: JSON_HEADERS, body: body ?? null };
    const { status, body: answered } = await this.#whileAlive(Promise.resolve(this.#handle(request)));
    const stream = toStream(answered);
    return {
      status,
      pull: () => this.#whileAlive(stream.pull()),
      leave: () => this.#whileAlive(stream.cancel()),
    };
  }

  /** From now on nothing that it says counts. */
  die(): void {
    this.isDead = true;
    this.#die();
  }

  async close(): Promise<void> {
    this.#feeds.end();
    await this.#parts.close();
    await this.registry.close().catch(() => undefined);
  }

  /** Snapshots that are taken back break off what reads bodies of them. */
  async #whileAlive<T>(asked: Promise<T>): Promise<T> {
    const gone = this.death.then((): never => {
      throw new BrokenOff();
    });
    const answer = await Promise.race([asked, gone]).catch((error: unknown): never => {
      throw isDatabaseError(error, 'cancelled') ? new BrokenOff() : error;
    });
    if (this.isDead) throw new BrokenOff();
    return answer;
  }
}

type OpenOptions = ReturnType<typeof openParts>;

/** What filters need beside the database: the sandbox, and selectors. Indexes are never built, but would lie in `store`. */
function openParts(databases: Registry, store: PageStore) {
  const sandbox = createTestSandbox();
  const code = createDeferredCode(() => sandbox);
  const config = createConfig({});
  const needs = { clock, config, log: silentLog };
  const { programs, close } = code.queryServer(needs);
  const cache = new CacheBudget(1_000_000);
  const tasks = new ActiveTasks(clock);
  const views = code.views({ ...needs, databases, store, cache, tasks, sandbox, engine: undefined });
  return {
    design: code.design({ programs, views: views.service }),
    find: code.find(views.service, clock, { get: () => undefined }),
    close: async () => {
      await views.close();
      close();
    },
  };
}

class Run {
  readonly random: SeededRandom;
  readonly lives: Life[] = [];
  readonly #followers: Follower[];
  #service = new Service();
  #isOver = false;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    const filters = allFilters(NAMES.slice(5, 12));
    this.#followers = [...FEED_KINDS, undefined].flatMap((kind) =>
      filters.map((filter) => new Follower({ kind, filter, random: this.random })),
    );
  }

  get life(): Life {
    const life = this.lives.at(-1);
    if (life === undefined) throw new Error('the service was not begun');
    return life;
  }

  /** What the followers do not know in the end. */
  async finish(): Promise<string[]> {
    this.lives.push(await Life.begin(this.#service));
    const following = this.#followers.map((follower) => follower.follow(() => this.#next()));
    await Promise.all(Array.from({ length: WRITERS }, () => this.#write()));
    const { documents } = await this.life.registry.use('db', seeAll);
    const complete = Promise.all(this.#followers.map((follower) => follower.isComplete(documents)));
    await withDeadline(complete, 'the last change').catch(() => undefined);
    this.#isOver = true;
    this.life.die();
    await Promise.all(following);
    for (const life of this.lives) await life.close();
    return this.#followers.flatMap((follower) => follower.missing(documents));
  }

  /** The service that is there, a turn later. */
  async #next(): Promise<FollowedService | undefined> {
    do await turn();
    while (this.life.isDead && !this.#isOver);
    return this.#isOver ? undefined : this.life;
  }

  async #write(): Promise<void> {
    for (let count = 0; count < WRITES; count += 1) {
      const { life } = this;
      // What fails, fails for a reason: a conflict, a purge beside a compaction, a life that is over.
      await Promise.race([this.#step(life).catch(() => undefined), life.death]);
      if (this.random.chance(30)) await turn();
      if (this.random.chance(2)) await this.#restart();
    }
  }

  /** Somewhere in the middle of all that is under way. */
  async #restart(): Promise<void> {
    const { life } = this;
    if (life.isDead) return;
    for (let turns = this.random.between(0, 3); turns > 0; turns -= 1) await turn();
    if (life.isDead || life !== this.life) return;
    life.die();
    this.#service = this.#service.crashed();
    this.lives.push(await Life.begin(this.#service));
  }

  #step({ registry }: Life): Promise<unknown> {
    const { random } = this;
    const name = random.oneOf(NAMES) ?? '';
    const body = JSON.stringify({ n: random.between(0, 9), text: 'x'.repeat(random.between(0, 300)) });
    const choice = random.between(0, 99);
    return Promise.resolve(
      registry.use('db', async (db) => {
        if (choice < 4) return db.compact();
        const leaves = (await seeAll(db)).documents[name]?.leaves ?? [];
        const revs = leaves.map((leaf) => leaf.slice(0, leaf.search(/[!=]/)));
        if (choice < 10) return db.purge(new Map([[id(name), revs.slice(random.between(0, 1)).map(rev)]]));
        if (choice < 30) return merge(db, name, { rev: `1-${random.hexDigits(4)}`, body });
        const deleted = choice < 45;
        const parent = revs[random.between(0, revs.length - 1)];
        return put(db, name, { body, deleted, ...(parent === undefined ? {} : { rev: parent }) });
      }),
    );
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

let restarts = 0;

afterAll(() => {
  console.log(`${runs} runs with ${restarts} deaths; SETTEE_CHANGES_SEED=${firstSeed} repeats what they chose`);
});

test.each(Array.from({ length: runs }, (_, n) => firstSeed + n))(
  'every feed reports the last state of every document, with seed %i',
  async (seed) => {
    const run = new Run(seed);
    expect(await run.finish(), `SETTEE_CHANGES_SEED=${seed}`).toEqual([]);
    restarts += run.lives.length - 1;
  },
  60_000,
);
