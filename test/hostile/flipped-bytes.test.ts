import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, assert, beforeAll, expect, test } from 'vitest';
import { answersOf, fill } from '../support/known-database.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { AttackedServer, settee } from './support/attacked-server.ts';
import { copyFolder, type Flip, filesIn, flipByte } from './support/flips.ts';

/**
 * A random byte of a random file of a data folder is changed, and then each answer is right or an error: never other content, never
 * that something is not there. Each change that made an answer an error is found by `settee verify`.
 *
 * SETTEE_HOSTILE_FLIPS says how many bytes (150), SETTEE_HOSTILE_SEED repeats a run's choices. A server is started for several
 * databases at a time, of each of which one byte is changed; the list of databases has rounds of its own.
 */
const flips = Number(process.env['SETTEE_HOSTILE_FLIPS'] ?? 150);
const seed = Number(process.env['SETTEE_HOSTILE_SEED'] ?? Date.now() % 2 ** 31);

const DATABASES = Array.from({ length: 10 }, (_, n) => `db${n}`);
/** One round in so many damages the list of databases instead. */
const REGISTRY_ROUNDS = 5;
const rounds = Math.ceil(flips / DATABASES.length);

let work: string;
/** One that was closed in order, and one whose server was killed. */
let prepared: readonly string[];
let expected: ReadonlyMap<string, string>;
let server: AttackedServer | undefined;

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), 'settee-hostile-'));
  prepared = [await prepare('stopped'), await prepare('killed')];
  const answers = await Promise.all(prepared.map(answersOfCopy));
  expected = answers[0]?.get('db0') ?? assert.fail('no answers');
  expect([...expected.values()]).not.toContain('error');
  // What is taken for a difference below must be one that a changed byte made.
  for (const each of answers.flatMap((all) => [...all.values()])) expect(each).toEqual(expected);
}, 240_000);

afterEach(async () => {
  await server?.remove();
  server = undefined;
});

afterAll(() => rm(work, { recursive: true, force: true }));

async function prepare(name: 'stopped' | 'killed'): Promise<string> {
  const folder = join(work, name);
  const filling = await AttackedServer.start({ folder });
  for (const database of DATABASES) await fill(filling.client, database);
  await (name === 'stopped' ? filling.stop() : filling.kill());
  return folder;
}

/** What each database of an undamaged folder answers. */
async function answersOfCopy(folder: string): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> {
  await copyFolder(folder, `${folder}-copy`);
  const undamaged = await AttackedServer.start({ folder: `${folder}-copy` });
  const answers = new Map<string, ReadonlyMap<string, string>>();
  for (const database of DATABASES) answers.set(database, await answersOf(undamaged.client, database));
  await undamaged.remove();
  return answers;
}

/** What became of the changed bytes of a run. */
class Tally {
  readonly wrong: string[] = [];
  readonly missed: string[] = [];
  /** Changes that ended the process, or kept it from starting, for all databases. */
  readonly ended: string[] = [];
  #seen = 0;
  #total = 0;

  /** Compares what a database answers now. True where an answer has become an error. */
  compare(flip: Flip, database: string, answers: ReadonlyMap<string, string>): boolean {
    this.#total++;
    const differing = [...answers].filter(([question, answer]) => answer !== expected.get(question));
    for (const [question, answer] of differing) {
      if (answer === 'error') continue;
      const [found, right] = pointOfDifference(answer, expected.get(question) ?? '');
      this.wrong.push(`${describe(flip)}: ${question} of ${database} has "${found}" instead of "${right}"`);
    }
    if (differing.length > 0) this.#seen++;
    return differing.length > 0;
  }

  miss(flip: Flip, { code, stdout }: { readonly code: number | null; readonly stdout: string }): void {
    this.missed.push(`${describe(flip)} changed an answer, and verify ended with ${code}: ${stdout.slice(0, 300)}`);
  }

  get summary(): string {
    return `${this.#total} bytes changed, ${this.#seen} of them changed an answer, ${this.wrong.length} wrong answers, ${this.missed.length} not found, ${this.ended.length} ends of the process`;
  }
}

function pointOfDifference(found: string, right: string): [string, string] {
  let from = 0;
  while (from < found.length && found[from] === right[from]) from++;
  return [found.slice(Math.max(0, from - 20), from + 60), right.slice(Math.max(0, from - 20), from + 60)];
}

function describe({ file, position, mask }: Flip): string {
  return `byte ${position} of ${file}, changed by ${mask},`;
}

test(
  `no wrong answer after ${rounds * DATABASES.length} flipped bytes, and verify finds those that change one`,
  async () => {
    console.log(`SETTEE_HOSTILE_SEED=${seed} repeats what this run chooses`);
    const random = new SeededRandom(seed);
    const tally = new Tally();
    for (let round = 0; round < rounds; round++) {
      const folder = join(work, `round-${round}`);
      await copyFolder(prepared[round % 2] ?? '', folder);
      if (round % REGISTRY_ROUNDS === REGISTRY_ROUNDS - 1) await damageRegistry(random, folder, tally);
      else await damageDatabases(random, folder, tally);
      await rm(folder, { recursive: true });
    }
    console.log(tally.summary);
    expect({ wrong: tally.wrong, missed: tally.missed }, `seed ${seed}: ${tally.summary}`).toEqual({
      wrong: [],
      missed: [],
    });
  },
  60_000 + rounds * 30_000,
);

/** One byte of each database or of one of its indexes. */
async function damageDatabases(random: SeededRandom, folder: string, tally: Tally): Promise<void> {
  const damaged: (readonly [string, Flip])[] = [];
  for (const database of DATABASES) {
    const files = filesIn(folder).filter((file) => file.includes(`/${database}.`));
    damaged.push([database, await flipByte(random, folder, files)]);
  }
  // `verify` looks at a copy, since a server may repair what it finds.
  await copyFolder(folder, `${folder}-copy`);
  for (const [database, flip] of damaged) {
    server = await keepRunning(folder, flip, tally);
    if (server === undefined) continue;
    const hasChanged = tally.compare(flip, database, await answersOf(server.client, database));
    await askSomethingElse(flip, tally);
    if (!hasChanged) continue;
    const outcome = await settee(['verify', database, '--data', `${folder}-copy`]);
    if (outcome.code !== 1) tally.miss(flip, outcome);
  }
  await server?.kill();
  await rm(`${folder}-copy`, { recursive: true });
}

/** The running server, or a new one; undefined where that does not start, though only databases are damaged. */
async function keepRunning(folder: string, flip: Flip, tally: Tally): Promise<AttackedServer | undefined> {
  if (server?.isRunning) return server;
  try {
    return await AttackedServer.start({ folder });
  } catch (error) {
    tally.ended.push(`${describe(flip)} or one before: ${error}`);
    return undefined;
  }
}

/** A damaged database is no reason to answer nothing. */
async function askSomethingElse(flip: Flip, tally: Tally): Promise<void> {
  try {
    await server?.client.must(200, 'GET', '/');
  } catch (error) {
    tally.ended.push(`${describe(flip)} ended the process: ${error}`);
    await server?.kill();
  }
}

/** One byte of the list of databases. A server may refuse to start with it, and says why. */
async function damageRegistry(random: SeededRandom, folder: string, tally: Tally): Promise<void> {
  for (let count = 0; count < DATABASES.length; count++) {
    const copy = `${folder}-${count}`;
    await copyFolder(folder, copy);
    const files = filesIn(copy).filter((file) => file.includes('/registry/'));
    const flip = await flipByte(random, copy, files);
    await copyFolder(copy, `${copy}-copy`);
    const hasChanged = await serveRegistry(copy, flip, tally);
    if (hasChanged) {
      const outcome = await settee(['verify', '--data', `${copy}-copy`]);
      if (outcome.code !== 1) tally.miss(flip, outcome);
    }
    await rm(copy, { recursive: true });
    await rm(`${copy}-copy`, { recursive: true });
  }
}

async function serveRegistry(folder: string, flip: Flip, tally: Tally): Promise<boolean> {
  try {
    server = await AttackedServer.start({ folder });
  } catch (error) {
    if (!/it ended instead: \S/.test(`${error}`))
      tally.ended.push(`${describe(flip)} ended the process, which says nothing`);
    return true;
  }
  // Any of them: the list has nothing but their names and places.
  let hasChanged = tally.compare(flip, 'db3', await answersOf(server.client, 'db3'));
  const listed = await server.client.ask('GET', '/_all_dbs').catch(() => undefined);
  if (listed === undefined) tally.ended.push(`${describe(flip)} ended the process`);
  else if (listed.status === 200 && listed.text !== `${JSON.stringify(DATABASES)}\n`) {
    tally.wrong.push(`${describe(flip)}: _all_dbs has ${listed.text.slice(0, 200)}`);
  }
  if (listed?.text !== `${JSON.stringify(DATABASES)}\n`) hasChanged = true;
  await server.kill();
  return hasChanged;
}
