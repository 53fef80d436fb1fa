import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { roundsOf } from '../support/long-runs.ts';
import { patient } from '../support/patience.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { ask, FeedReader, ReadingClient } from '../support/workers/reading-client.ts';
import { SetteeProcess } from '../unit/node/settee-process.ts';

/**
 * Clients write and read through the processes of one server while these are killed and paused at random: nothing that was acknowledged is lost,
 * no client is shown less than it was shown before, or than it has written, and feeds miss nothing and tell nothing twice. SETTEE_WORKERS_SEED
 * repeats a run's choices.
 */
const ROUNDS = roundsOf(6, 60);
const seed = Number(process.env['SETTEE_WORKERS_SEED'] ?? Date.now() % 2 ** 31);
const CLIENTS = 4;
const DOCUMENTS = 12;
const PAUSE_MS = 500;

let folder: string;
let server: SetteeProcess | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-histories-'));
});

afterEach(async () => {
  await server?.stop('SIGTERM');
  server = undefined;
  await rm(folder, { recursive: true, force: true });
});

/** The processes that the server has started. Only Linux tells. */
function childrenOf({ child: { pid } }: SetteeProcess): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

describe.runIf(process.platform === 'linux')('a server of several processes', () => {
  test(`keeps its promises through ${ROUNDS} kills and pauses`, { timeout: 900_000 }, async () => {
    console.log(`SETTEE_WORKERS_SEED=${seed} repeats what this run chooses`);
    const random = new SeededRandom(seed);
    const started = new SetteeProcess(['serve', '--no-demo', '--port', '0', '--workers', '2', '--data', folder]);
    server = started;
    const base = `${await started.url()}db/`;
    await expect.poll(async () => (await ask(new Agent(), 'PUT', base)).status, patient).toBe(201);
    const clients = Array.from({ length: CLIENTS }, (_unused, index) => new ReadingClient(`client ${index}`, base));
    const feeds = [new FeedReader(), new FeedReader()];
    const following = feeds.map((feed) => feed.run(base));
    const life = { isOver: false };
    const living = clients.map((client, index) => live(client, index, new SeededRandom(seed + index + 1), life));
    const done = (): number => clients.reduce((sum, { acknowledged, reads }) => sum + Math.min(acknowledged, reads), 0);
    for (let round = 0; round < ROUNDS; round++) {
      const before = done();
      await expect.poll(done, patient).toBeGreaterThan(before + 40);
      await disturb(childrenOf(started), random);
    }
    const before = done();
    await expect.poll(done, patient).toBeGreaterThan(before + 40);
    life.isOver = true;
    await Promise.all(living);
    for (const client of clients) await client.check();
    await checkFeeds(base, feeds);
    for (const feed of feeds) feed.end();
    await Promise.all(following);
    for (const client of clients) client.close();
    expect(
      [...clients, ...feeds].flatMap(({ faults }) => faults),
      `seed ${seed}`,
    ).toEqual([]);
  });
});

/** Each client writes its own documents, and reads those of all. */
async function live(
  client: ReadingClient,
  index: number,
  random: SeededRandom,
  life: { readonly isOver: boolean },
): Promise<void> {
  while (!life.isOver) {
    const own = `doc-${index}-${random.between(1, DOCUMENTS)}`;
    const other = `doc-${random.between(0, CLIENTS - 1)}-${random.between(1, DOCUMENTS)}`;
    if (random.chance(20)) client.changeConnection();
    if (random.chance(40)) {
      await client.write(own);
      if (random.chance(30)) client.changeConnection();
      await client.read(own);
    } else if (random.chance(90)) await client.read(other);
    else await client.readList();
  }
}

/** Kills one of the processes, or pauses it for a moment. */
async function disturb(processes: readonly number[], random: SeededRandom): Promise<void> {
  const chosen = random.oneOf(processes);
  if (chosen === undefined) return;
  try {
    if (random.chance(60)) process.kill(chosen, 'SIGKILL');
    else {
      process.kill(chosen, 'SIGSTOP');
      await delay(PAUSE_MS);
      process.kill(chosen, 'SIGCONT');
    }
  } catch {
    // It ended in this moment.
  }
}

/** Each feed comes to know the last revision of every document. */
async function checkFeeds(base: string, feeds: readonly FeedReader[]): Promise<void> {
  const { text } = await ask(new Agent(), 'GET', `${base}_all_docs`);
  const { rows } = JSON.parse(text) as { rows: { id: string; value: { rev: string } }[] };
  const last = Object.fromEntries(rows.map(({ id, value }) => [id, value.rev]));
  for (const feed of feeds) await expect.poll(() => Object.fromEntries(feed.latest), patient).toEqual(last);
}
