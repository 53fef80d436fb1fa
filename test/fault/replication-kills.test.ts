/** A few kills; `test/hostile/replication-kills.test.ts` has many. */
import { beforeAll, expect, test } from 'vitest';
import { buildServer } from '../support/crash/server-process.ts';
import { replicateWithKills } from '../support/replication/kills.ts';
import { SeededRandom } from '../support/seeded-random.ts';

const seed = Number(process.env['SETTEE_REPLICATION_SEED'] ?? Date.now() % 2 ** 31);

beforeAll(buildServer, 300_000);

test(`a server that is killed while it pulls goes on from its checkpoint (seed ${seed})`, async () => {
  const random = new SeededRandom(seed);
  const told = await replicateWithKills({ direction: 'pull', documents: 3_000, kills: 2, random });
  expect(told).toMatch(/^killed [12] times/);
}, 120_000);
