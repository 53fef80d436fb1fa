import { afterEach, beforeEach, expect, test } from 'vitest';
import { at } from '../support/conformance/json.ts';
import { nextPoll } from '../support/conformance/toolkit.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { AttackedServer } from './support/attacked-server.ts';
import { designDocument, RandomWrites } from './support/random-writes.ts';
import { WrittenState } from './support/written-state.ts';

/**
 * Whatever is accepted can be stored: groups of writes of any kind and size, each followed by a checkpoint, the end of the process
 * (in order or by SIGKILL), `settee verify`, a new process and another write. All that was acknowledged is then read back.
 * SETTEE_HOSTILE_ROUNDS says how many groups (24), SETTEE_HOSTILE_SEED repeats a run's choices.
 */
const rounds = Number(process.env['SETTEE_HOSTILE_ROUNDS'] ?? 24);
const seed = Number(process.env['SETTEE_HOSTILE_SEED'] ?? Date.now() % 2 ** 31);

/** Groups after which a new database takes the place of the one that they went to. */
const ROUNDS_PER_DATABASE = 6;

let server: AttackedServer;

beforeEach(async () => {
  server = await AttackedServer.start();
});

afterEach(() => server.remove());

test(
  `everything that is accepted is stored, in ${rounds} groups of writes`,
  async () => {
    console.log(`SETTEE_HOSTILE_SEED=${seed} repeats what this run chooses`);
    const random = new SeededRandom(seed);
    for (let round = 0; round < rounds; round += ROUNDS_PER_DATABASE) {
      await writeToDatabase(random, `db${round}`, Math.min(ROUNDS_PER_DATABASE, rounds - round));
    }
  },
  30_000 + rounds * 20_000,
);

async function writeToDatabase(random: SeededRandom, database: string, groups: number): Promise<void> {
  const state = new WrittenState();
  const writes = new RandomWrites(random, database, state, server.client);
  await server.client.must(201, 'PUT', `/${database}`);
  await server.client.must(201, 'PUT', `/${database}/_design/writes`, { json: designDocument });
  for (let group = 0; group < groups; group++) {
    try {
      for (let count = random.between(2, 8); count > 0; count--) await writes.write();
      await endAndVerify(random, database);
      writes.client = server.client;
      await server.client.must(201, 'PUT', `/${database}/after-${group}`, { json: {} });
      await state.check(server.client, database);
    } catch (error) {
      throw new Error(`seed ${seed}, group ${group} of ${database}, after:\n${writes.script.join('\n')}`, {
        cause: error,
      });
    }
  }
  // Nothing of this database is asked for any more, and the next one's verification shall not take longer for it.
  await server.client.must(200, 'DELETE', `/${database}`);
}

/** A checkpoint is what a compaction and an orderly end both make; after SIGKILL the next process makes it. */
async function endAndVerify(random: SeededRandom, database: string): Promise<void> {
  if (random.chance(40)) await server.client.must(200, 'GET', `/${database}/_design/writes/_view/by_text`);
  if (random.chance(40)) await compact(database);
  if (random.chance(50)) await server.kill();
  else await server.stop();
  const { code, stderr } = await server.verify();
  expect({ code, stderr: stderr.slice(0, 1_000) }).toEqual({ code: 0, stderr: '' });
  await server.startAgain();
}

async function compact(database: string): Promise<void> {
  await server.client.must(202, 'POST', `/${database}/_compact`, { headers: { 'content-type': 'application/json' } });
  while (at((await server.client.must(200, 'GET', `/${database}`)).json, 'compact_running') === true) await nextPoll();
}
