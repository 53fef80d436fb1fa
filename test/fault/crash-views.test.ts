import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { must } from '../../src/base/shared/assert.ts';
import { openDataFolder } from '../../src/node/data-folder/data-folder.ts';
import { decodeIndexHead, decodeIndexRoots } from '../../src/queries/views/storing/index-head.ts';
import { createLmdbPageStore } from '../../src/storage/lmdb/lmdb-page-store.ts';
import { checkText } from '../../src/storage/paging/checksums.ts';
import { arrayAt, at, numberAt, stringAt } from '../support/conformance/json.ts';
import { type Answer, Connection, ConnectionLost } from '../support/crash/connection.ts';
import { buildServer, ServerProcess } from '../support/crash/server-process.ts';
import { roundsOf } from '../support/long-runs.ts';
import { SeededRandom } from '../support/seeded-random.ts';

/**
 * A server process is killed again and again while it builds the index of a view, and started again on the same folder.
 * Each build that has something stored must go on from there, which never goes back, and end in the right rows. A kill that
 * comes late must leave more stored than the one before. SETTEE_CRASH_SEED repeats a run's choices.
 */
const KILLS = roundsOf(6, 20);
const seed = Number(process.env['SETTEE_CRASH_SEED'] ?? Date.now() % 2 ** 31);

const DOCUMENTS = 20_000;
/** After a build was seen to go on. */
const EARLIEST_KILL_MS = 100;
const LATEST_KILL_MS = 2_200;
/** One kill in so many comes before, while the index is opened, up to so much after the query was sent. */
const EARLY_KILLS = 5;
const LATEST_EARLY_KILL_MS = 300;
/** And one in so many comes late: when the build has gone on for so long, twice over what it takes to a checkpoint (`checkpointMs`), … */
const LATE_KILLS = 3;
const LATE_KILL_MS = 6_000;
/** … and has done so many documents more. It is waited for both: a busy machine is slow. */
const LATE_DOCUMENTS = 1_000;

/** The sums of n over 0 … 19,999 by its last digit. */
const SUMS = [
  19_990_000, 19_992_000, 19_994_000, 19_996_000, 19_998_000, 20_000_000, 20_002_000, 20_004_000, 20_006_000,
  20_008_000,
];

let folder: string;
let server: ServerProcess | undefined;

beforeAll(() => buildServer(), 60_000);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-crash-views-'));
});

afterEach(async () => {
  await server?.kill();
  await rm(folder, { recursive: true, force: true });
});

test(`building an index continues after kill -9 (${KILLS} times)`, { timeout: 300_000 }, async () => {
  console.log(`SETTEE_CRASH_SEED=${seed} repeats what this run chooses`);
  const random = new SeededRandom(seed);
  server = await ServerProcess.start(folder);
  await fill(server);
  let build = await beginBuild(server, 0);
  const builds = [build];
  let [kills, resumed, lateKills] = [0, 0, 0];
  while (kills < KILLS) {
    const context = `seed ${seed}, after ${kills} kills`;
    const moment = momentOf(kills, random);
    const { answer, first, isLate } = await buildUntil(server, build, moment);
    if (first !== undefined && build.stored > 0) {
      expect(first, `${context}: documents done when the build went on`).toBeGreaterThan(build.stored);
      resumed++;
    }
    if (answer !== undefined) {
      expectSums(answer);
      build = await beginBuild(server, builds.length);
      builds.push(build);
      continue;
    }
    // An early kill alone may come before the build was seen to go on.
    if (moment.kind !== 'early') expect(first, `${context}: documents done when the build went on`).toBeDefined();
    kills++;
    if (isLate) lateKills++;
    const stored = await storedDocuments(folder, build.signature);
    const least = build.stored + (isLate ? 1 : 0);
    expect(stored, `${context}: documents in the stored index`).toBeGreaterThanOrEqual(least);
    build.stored = stored;
    server = await ServerProcess.start(folder);
  }
  for (const { path } of builds) expectSums(await ask(server, path));
  console.log(`${builds.length} builds, of ${kills} kills ${lateKills} came late, ${resumed} builds went on`);
  // What a late kill leaves is gone on with, unless so little is missing that the answer comes before it is seen.
  expect(lateKills).toBe(Math.floor(KILLS / LATE_KILLS));
  expect(resumed).toBeGreaterThanOrEqual(lateKills - 1);
});

/** When a server is killed. */
interface Moment {
  readonly kind: 'early' | 'late' | 'any';
  /** Milliseconds after the query was sent (early), or after the build was seen to go on. */
  readonly ms: number;
}

/** In turn, so that each run has all kinds. */
function momentOf(kills: number, random: SeededRandom): Moment {
  if (kills % LATE_KILLS === LATE_KILLS - 1) return { kind: 'late', ms: LATE_KILL_MS };
  if (kills % EARLY_KILLS === EARLY_KILLS - 1) return { kind: 'early', ms: random.between(0, LATEST_EARLY_KILL_MS) };
  return { kind: 'any', ms: random.between(EARLIEST_KILL_MS, LATEST_KILL_MS) };
}

interface Build {
  /** The query whose answer needs it. */
  readonly path: string;
  readonly signature: string;
  /** Documents that the stored index had at the last kill. */
  stored: number;
}

async function ask(target: ServerProcess, path: string, method = 'GET', body?: unknown): Promise<Answer> {
  const connection = new Connection(target.url);
  try {
    return await connection.ask({ method, path, body: body === undefined ? undefined : JSON.stringify(body) });
  } finally {
    connection.close();
  }
}

async function fill(target: ServerProcess): Promise<void> {
  expect((await ask(target, 'db', 'PUT')).status).toBe(201);
  const docs = Array.from({ length: DOCUMENTS }, (_, n) => ({ _id: `d${100_000 + n}`, n }));
  expect((await ask(target, 'db/_bulk_docs', 'POST', { docs })).status).toBe(201);
  expect((await ask(target, 'db/_ensure_full_commit', 'POST', {})).status).toBe(201);
}

/** A millisecond and more for each document, so that a build outlives several servers. Asks nothing of it yet. */
async function beginBuild(target: ServerProcess, number: number): Promise<Build> {
  const map = `function (doc) { /* ${number} */ for (var i = 0, x = 0; i < 24000; i++) x = (x + i) % 9; emit(doc.n % 10, doc.n); }`;
  const name = `db/_design/d${number}`;
  expect((await ask(target, name, 'PUT', { views: { sums: { map, reduce: '_sum' } } })).status).toBe(201);
  const { json } = await ask(target, `${name}/_info`);
  return {
    path: `${name}/_view/sums?group=true`,
    signature: stringAt(json, 'view_index', 'signature'),
    stored: 0,
  };
}

interface KilledBuild {
  /** Undefined where the server was killed before. */
  readonly answer: Answer | undefined;
  /** What `_active_tasks` told first that was done; undefined where the kill came early, or the answer. */
  readonly first: number | undefined;
  /** The kill came late, as it was to. */
  readonly isLate: boolean;
}

/** Asks the query, and kills the server at that moment unless it answers before. */
async function buildUntil(target: ServerProcess, { path }: Build, { kind, ms }: Moment): Promise<KilledBuild> {
  const question = ask(target, path).catch((error: unknown) => {
    if (error instanceof ConnectionLost) return undefined;
    throw error;
  });
  const isAnswered = question.then(() => true);
  const first = kind === 'early' ? undefined : await progress(target, isAnswered, 1);
  let isOver = await Promise.race([isAnswered, delay(ms, false)]);
  if (kind === 'late' && first !== undefined && !isOver) {
    isOver = (await progress(target, isAnswered, first + LATE_DOCUMENTS)) === undefined;
  }
  if (!isOver) await target.kill();
  return { answer: await question, first, isLate: kind === 'late' && !isOver };
}

/** What `_active_tasks` first tells that is at least so much; undefined where the query is answered before. */
async function progress(
  target: ServerProcess,
  isAnswered: Promise<boolean>,
  least: number,
): Promise<number | undefined> {
  for (;;) {
    const { json } = await ask(target, '_active_tasks');
    const task = arrayAt(json).find((one) => at(one, 'type') === 'indexer');
    const done = task === undefined ? 0 : numberAt(task, 'changes_done');
    if (done >= least) return done;
    if (await Promise.race([isAnswered, delay(10, false)])) return undefined;
  }
}

/** How many documents the index has on disk, seen from another process than the one that made it. */
async function storedDocuments(dataFolder: string, signature: string): Promise<number> {
  const opened = await openDataFolder(dataFolder);
  const store = createLmdbPageStore(opened.databases);
  try {
    const name = (await store.list()).find((file) => file.endsWith(`.${signature}`));
    if (name === undefined) return 0;
    const file = await store.open(name, 'open');
    const { head } = file.opening;
    if (head === undefined) return 0;
    const { rootsPage } = must(decodeIndexHead(head, crc32));
    const { firstPass } = decodeIndexRoots(must(checkText(crc32, rootsPage, must(await file.read(rootsPage, 'text')))));
    return firstPass === undefined ? DOCUMENTS : Number(firstPass.after.slice(1)) - 100_000 + 1;
  } finally {
    await store.close();
    await opened.release();
  }
}

function expectSums({ status, json }: Answer): void {
  expect(status).toBe(200);
  expect(json).toEqual({ rows: SUMS.map((value, key) => ({ key, value })) });
}
