/** Kills in the middle of a replication of 20,000 documents, 20 times at random moments. */
import { beforeAll, describe, expect, test } from 'vitest';
import { buildServer } from '../support/crash/server-process.ts';
import { replicateWithKills } from '../support/replication/kills.ts';
import { SeededRandom } from '../support/seeded-random.ts';

const seed = Number(process.env['SETTEE_HOSTILE_SEED'] ?? Date.now() % 2 ** 31);

beforeAll(buildServer, 300_000);

describe.each(['pull', 'push'] as const)('a server that is killed in a %s', (direction) => {
  test('continues from its checkpoint, and copies everything', async () => {
    console.log(`SETTEE_HOSTILE_SEED=${seed} repeats what this run chooses`);
    const random = new SeededRandom(seed);
    const told = await replicateWithKills({ direction, documents: 20_000, kills: 20, random });
    console.log(told);
    expect(told).toMatch(/^killed 20 times/);
  }, 600_000);
});
