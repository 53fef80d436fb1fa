import { afterAll, expect, test } from 'vitest';
import { DatabaseFeeds } from '../../src/changes/feeds.ts';
import { createHandle } from '../../src/http/http-service.ts';
import type { Registry } from '../../src/registry/contract.ts';
import type { ByteStream, Handle } from '../../src/shared/message.ts';
import { toStream } from '../support/conformance/body-stream.ts';
import { withDeadline } from '../support/conformance/with-deadline.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { id, merge, put, rev, seeAll, TINY, TINY_PAGES } from '../unit/database/harness.ts';
import { JSON_HEADERS, noParts, services } from '../unit/http/support.ts';
import { Service } from '../unit/registry/service.ts';

/**
 * Writers, and followers that read feeds of every kind, leave them and go on behind what they had, while the database is compacted and
 * purged, snapshots are taken back, and the service dies and is opened again on what its storage has. In the end every follower knows the
 * last state of every document, and no feed told anything out of order or twice. SETTEE_CHANGES_SEED repeats a run's choices,
 * SETTEE_CHANGES_RUNS says how many runs there are.
 */
const firstSeed = Number(process.env['SETTEE_CHANGES_SEED'] ?? Date.now() % 2 ** 31);
const runs = Number(process.env['SETTEE_CHANGES_RUNS'] ?? 8);

const NAMES = Array.from({ length: 40 }, (_, n) => (n % 10 === 0 ? `_design/d${n}` : `doc${n}`));
const KINDS = ['normal', 'longpoll', 'continuous', 'eventsource'];
const WRITERS = 3;
const WRITES = 60;
/** Snapshots are taken back as soon as pages of theirs are not needed any more. */
const SETTINGS = { ...TINY, snapshotMaxAgeMs: -1, cacheBytes: 2_000 };

/** The service from one start to its death. */
class Life {
  readonly registry: Registry;
  readonly handle: Handle;
  readonly death: Promise<undefined>;
  isDead = false;
  readonly #feeds: DatabaseFeeds;
  #die: () => void = () => undefined;

  private constructor(registry: Registry) {
    this.registry = registry;
    this.#feeds = new DatabaseFeeds(registry);
    this.handle = createHandle(services({}, { registry, feeds: this.#feeds }), noParts, () => false);
    this.death = new Promise((resolve) => {
      this.#die = () => resolve(undefined);
    });
  }

  static async begin(service: Service): Promise<Life> {
    const life = new Life(await service.open({ settings: SETTINGS, supports: TINY_PAGES }));
    if (!life.registry.has('db')) await life.registry.create('db');
    return life;
  }

  /** From now on nothing that it says counts. */
  die(): void {
    this.isDead = true;
    this.#die();
  }

  async close(): Promise<void> {
    this.#feeds.end();
    await this.registry.close().catch(() => undefined);
  }
}

class Run {
  readonly random: SeededRandom;
  readonly lives: Life[] = [];
  readonly #followers: Follower[];
  #service = new Service();
  #isOver = false;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    const filters = ['', '', 'filter=_design', `filter=_doc_ids&doc_ids=${JSON.stringify(NAMES.slice(5, 12))}`];
    this.#followers = KINDS.flatMap((kind) => filters.map((filter) => new Follower(kind, filter)));
    // Some that change from one kind to another.
    for (const filter of filters) this.#followers.push(new Follower(undefined, filter));
  }

  get life(): Life {
    const life = this.lives.at(-1);
    if (life === undefined) throw new Error('the service was not begun');
    return life;
  }

  /** What the followers do not know in the end. */
  async finish(): Promise<string[]> {
    this.lives.push(await Life.begin(this.#service));
    const following = this.#followers.map((follower) => follower.follow(this, () => this.#isOver));
    await Promise.all(Array.from({ length: WRITERS }, () => this.#write()));
    const seen = await this.life.registry.use('db', seeAll);
    const last = new Map(
      Object.entries(seen.documents).map(([name, { seq, leaves }]) => [name, shown(seq, leaves[0])]),
    );
    const complete = Promise.all(this.#followers.map((follower) => follower.isComplete(last)));
    await withDeadline(complete, 'the last change').catch(() => undefined);
    this.#isOver = true;
    this.life.die();
    await Promise.all(following);
    for (const life of this.lives) await life.close();
    return this.#followers.flatMap((follower) => follower.missing(last));
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

/** One that wants to know all: it goes on from feed to feed, each of them left or cut off somewhere. */
class Follower {
  readonly #kind: string | undefined;
  readonly #filter: string;
  /** What was told last of each document. */
  readonly #known = new Map<string, string>();
  readonly #problems: string[] = [];
  #since = 0;
  #progress: () => void = () => undefined;

  constructor(kind: string | undefined, filter: string) {
    this.#kind = kind;
    this.#filter = filter;
  }

  async follow(run: Run, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const { life, random } = run;
      const kind = this.#kind ?? random.oneOf(KINDS) ?? 'normal';
      const limit = random.chance(30) ? `&limit=${random.between(1, 5)}` : '';
      // Some feeds are left after some rows.
      const most = random.chance(50) ? random.between(1, 10) : Number.POSITIVE_INFINITY;
      const parameters = `feed=${kind}&since=${this.#since}&heartbeat=60000&style=all_docs${limit}&${this.#filter}`;
      if (!life.isDead) await this.#read(life, parameters, most);
      await turn();
    }
  }

  async #read(life: Life, parameters: string, most: number): Promise<void> {
    const url = `/db/_changes?${parameters}`;
    const answer = await Promise.race([
      life.handle({ method: 'GET', url, headers: JSON_HEADERS, body: null }),
      life.death,
    ]);
    if (answer === undefined || life.isDead) return;
    const stream = toStream(answer.body);
    if (answer.status !== 200) this.#problems.push(`${url} was answered with ${answer.status}`);
    else await this.#readRows(life, stream, most, url);
    await Promise.race([stream.cancel(), life.death]);
  }

  async #readRows(life: Life, stream: ByteStream, most: number, url: string): Promise<void> {
    let text = '';
    let rows = 0;
    let last = this.#since;
    for (;;) {
      const chunk = await Promise.race([stream.pull(), life.death]);
      if (chunk === undefined || life.isDead) return;
      const lines = (text + new TextDecoder().decode(chunk)).split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) {
        const end = /"last_seq":(\d+)/.exec(line)?.[1];
        if (end !== undefined) this.#since = this.#goneOn(Number(end), last - 1, url);
        const row = /^(?:data: )?(\{"seq".*\}),?$/.exec(line)?.[1];
        if (row === undefined) continue;
        last = this.#take(row, last, url);
        rows += 1;
        if (rows === most) return;
      }
    }
  }

  #take(row: string, last: number, url: string): number {
    const { seq, id: name, changes, deleted = false } = JSON.parse(row);
    this.#known.set(name, shown(seq, `${changes[0].rev}${deleted ? '!' : ''}=`));
    this.#since = this.#goneOn(seq, last, url);
    this.#progress();
    return seq;
  }

  #goneOn(seq: number, last: number, url: string): number {
    if (seq <= last) this.#problems.push(`${seq} came behind ${last} in ${url}`);
    return seq;
  }

  async isComplete(last: ReadonlyMap<string, string>): Promise<void> {
    while (this.missing(last).length > 0) {
      await new Promise<void>((resolve) => {
        this.#progress = resolve;
      });
    }
  }

  missing(last: ReadonlyMap<string, string>): string[] {
    const wanted = [...last].filter(([name]) => this.#isWanted(name));
    const late = wanted.filter(([name, state]) => this.#known.get(name) !== state);
    const name = `${this.#kind ?? 'any feed'} ${this.#filter}`;
    return [...this.#problems, ...late.map(([doc, state]) => `${name}: ${doc} ${this.#known.get(doc)}, not ${state}`)];
  }

  #isWanted(name: string): boolean {
    if (this.#filter === 'filter=_design') return name.startsWith('_design/');
    return !this.#filter.includes('_doc_ids') || NAMES.slice(5, 12).includes(name);
  }
}

/** `leaf` as `showLeaf` shows it. */
function shown(seq: number, leaf = ''): string {
  return `${seq} ${leaf.slice(0, leaf.indexOf('='))}`;
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

let restarts = 0;

afterAll(() => {
  console.log(`${runs} runs with ${restarts} deaths; SETTEE_CHANGES_SEED=${firstSeed} repeats what they chose`);
});

test.each(Array.from({ length: runs }, (_, n) => firstSeed + n))(
  'every feed has told the last state of every document, with seed %i',
  async (seed) => {
    const run = new Run(seed);
    expect(await run.finish(), `SETTEE_CHANGES_SEED=${seed}`).toEqual([]);
    restarts += run.lives.length - 1;
  },
  60_000,
);
