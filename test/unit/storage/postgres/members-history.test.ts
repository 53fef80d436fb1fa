import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { ConnectionPool } from '../../../../src/storage/postgres/connection-pool.ts';
import { roundsOf } from '../../../support/long-runs.ts';
import { patient } from '../../../support/patience.ts';
import { Cluster } from '../../../support/postgres/cluster.ts';
import { isAdopted, MemberHistory } from '../../../support/postgres/member-history.ts';
import { MemberServer, waitFor } from '../../../support/postgres/member-server.ts';
import { dropSchema, newSchema, openPool, postgresUrl } from '../../../support/postgres/postgres.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

const url = await postgresUrl();
const LEASE_MS = 900;
const STEPS = 24;
const MOST = 4;

describe.skipIf(url === undefined)('the members of a storage that come, stall and go at random', () => {
  let pool: ConnectionPool;
  const servers = new Set<MemberServer>();

  beforeAll(async () => {
    pool = await openPool(newSchema(url ?? ''));
  });
  afterEach(async () => {
    await Promise.all([...servers].map((server) => server.close()));
    servers.clear();
  });
  afterAll(async () => {
    await dropSchema(pool);
    await pool.close();
  });

  async function step(random: SeededRandom, history: MemberHistory): Promise<void> {
    const server = random.oneOf([...servers]);
    const action = random.between(1, 6);
    if (server === undefined || (action === 1 && servers.size < MOST)) {
      const joined = await MemberServer.start(pool, {
        described: `${servers.size}`,
        machine: 'here',
        leaseMs: LEASE_MS,
      });
      servers.add(joined);
      history.add(joined);
      // It wants the storage again whenever it has lost it.
      joined.keepTaking();
    } else if (action === 2 && servers.size > 1) {
      servers.delete(server);
      await server.close();
      history.remove(server);
    } else if (action <= 4) {
      server.isCutOff = random.chance(60);
    } else if (action === 5) {
      const pins = new Map([[`db${random.between(1, 3)}`, `${random.between(1, 9)}`]]);
      void server.members.setPins(pins).catch(() => undefined);
    }
    // Some stalls are longer than the lease.
    await wait(random.between(0, random.chance(25) ? 2 * LEASE_MS : LEASE_MS / 3));
  }

  const seeds = Array.from({ length: roundsOf(2, 25) }, () => Math.floor(Math.random() * 1e9));
  test.each(seeds)(
    'no one answers who is gone from what the others have adopted (seed %i)',
    async (seed) => {
      const random = new SeededRandom(seed);
      const history = new MemberHistory();
      const checking = setInterval(() => history.check(), 5);
      try {
        for (let at = 0; at < STEPS; at += 1) await step(random, history);
        for (const server of servers) server.isCutOff = false;
        const isSettled = (server: MemberServer) =>
          waitFor(
            server,
            (now) =>
              now.members.length === servers.size &&
              now.members.filter(({ isCoordinator }) => isCoordinator).length === 1 &&
              isAdopted(now),
          );
        await Promise.all([...servers].map(isSettled));
      } finally {
        clearInterval(checking);
      }
      expect(history.violations).toEqual([]);
      expect(history.versions).toBeGreaterThan(3);
    },
    120_000,
  );
});

describe.skipIf(url === undefined)('the members of a storage whose PostgreSQL is restarted', () => {
  let cluster: Cluster | undefined;

  beforeAll(async () => {
    cluster = await Cluster.start({ fsync: true });
  }, 60_000);
  afterAll(() => cluster?.remove());

  test('stay members under their ids, and the coordinator stays one', async () => {
    if (cluster === undefined) throw new Error('there is no PostgreSQL');
    const pool = await openPool(newSchema(cluster.url()));
    const options = { machine: 'here', leaseMs: 30_000 };
    const [one, two] = await Promise.all(
      ['one', 'two'].map((described) => MemberServer.start(pool, { ...options, described })),
    );
    if (one === undefined || two === undefined) throw new Error('a server is missing');
    await one.lease.tryTake();
    await one.members.adopt(1);
    const hasBoth = (server: MemberServer) =>
      waitFor(server, ({ members }) => members.length === 2 && members.some(({ isCoordinator }) => isCoordinator));
    const [before] = await Promise.all([hasBoth(one), hasBoth(two)]);
    const ended = [() => cluster?.shutDown(), () => cluster?.crash()];
    for (const end of ended) {
      await end();
      expect(await one.members.lookNow()).toBeUndefined();
      await cluster.startAgain();
      const text = `SELECT FROM ${pool.address.schema}.servers WHERE beaten_on = pg_postmaster_start_time()::text`;
      const renewed = () => pool.repeat('looking', (connection) => connection.query(text));
      await expect.poll(renewed, patient).toHaveLength(2);
    }
    for (const server of [one, two]) {
      const now = await server.members.lookNow();
      expect([now?.version, now?.members.map(({ id }) => id)]).toEqual([
        before.version,
        before.members.map(({ id }) => id),
      ]);
      expect(server.members.isMember).toBe(true);
    }
    expect([one.lease.isHeld, one.lost]).toEqual([true, []]);
    const later = before.version + 1;
    const seen = waitFor(two, ({ members }) => members.some(({ adopted }) => adopted === later));
    await one.members.adopt(later);
    await seen;
    for (const server of [one, two]) await server.close();
    await pool.close();
  }, 180_000);
});
