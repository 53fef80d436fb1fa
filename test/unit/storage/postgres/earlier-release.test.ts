import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ConnectionPool, Row, Value } from '../../../../src/storage/postgres/connection-pool.ts';
import { prepareSchema } from '../../../../src/storage/postgres/schema.ts';
import { MemberServer, seenBy, waitFor } from '../../../support/postgres/member-server.ts';
import { dropSchema, newSchema, openPool, postgresUrl, toVersionThree } from '../../../support/postgres/postgres.ts';

const url = await postgresUrl();
const LEASE_MS = 3_600_000;

/**
 * The statements on servers of the release with version 3 of the tables, letter by letter. Servers of that release that run already check the version only at
 * their start, so they go on with the tables of this one.
 */
const EARLIER = {
  look: `SELECT format.term, owner.id, owner.described, owner.machine, owner.address, owner.beats,
         owner.until < clock_timestamp() AND owner.beaten_on = pg_postmaster_start_time()::text AS is_over
       FROM SCHEMA.format LEFT JOIN SCHEMA.servers AS owner ON owner.is_owner WHERE format.id = 1`,
  lock: 'SELECT term FROM SCHEMA.format WHERE id = 1 FOR UPDATE',
  removeDead: `DELETE FROM SCHEMA.servers WHERE id <> $1 AND (
             (until < clock_timestamp() AND (NOT is_owner OR beaten_on = pg_postmaster_start_time()::text))
             OR (id = $2::text AND beats = $3::bigint))`,
  take: `INSERT INTO SCHEMA.servers (id, is_owner, described, machine, until, beaten_on, beats, knows_followers)
           SELECT $1::text, true, $2::text, $3::text, clock_timestamp() + $4::float8 * interval '1 millisecond', pg_postmaster_start_time()::text, 1, true
           WHERE NOT EXISTS (SELECT FROM SCHEMA.servers WHERE is_owner AND id <> $1)
           ON CONFLICT (id) DO UPDATE SET is_owner = true, knows_followers = true, until = EXCLUDED.until, beaten_on = EXCLUDED.beaten_on, beats = servers.beats + 1
           RETURNING 1`,
  raiseTerm: 'UPDATE SCHEMA.format SET term = term + 1 WHERE id = 1 RETURNING term',
  standBy: `INSERT INTO SCHEMA.servers (id, is_owner, described, machine, until, beaten_on, beats)
       VALUES ($1::text, false, $2::text, $3::text, clock_timestamp() + $4::float8 * interval '1 millisecond', pg_postmaster_start_time()::text, 1)
       ON CONFLICT (id) DO UPDATE SET until = EXCLUDED.until, beaten_on = EXCLUDED.beaten_on, beats = servers.beats + 1`,
  beat: `UPDATE SCHEMA.servers SET beats = beats + 1, beaten_on = pg_postmaster_start_time()::text,
         until = clock_timestamp() + $2::float8 * interval '1 millisecond'
       WHERE id = $1 AND is_owner
       RETURNING (SELECT count(*) FROM SCHEMA.servers AS others WHERE NOT others.is_owner AND others.until > clock_timestamp())::text AS waiting,
         current_setting('synchronous_standby_names', true) AS replicas, current_setting('synchronous_commit', true) AS waits`,
  announce: 'UPDATE SCHEMA.servers SET address = $2 WHERE id = $1',
  leave: 'DELETE FROM SCHEMA.servers WHERE id = $1',
  leaseLeft: `SELECT extract(epoch FROM until - clock_timestamp())::float8::text AS left FROM SCHEMA.servers WHERE is_owner`,
  raiseGeneration: `UPDATE SCHEMA.format SET generation = greatest(generation, (SELECT max(passed) FROM SCHEMA.followers)) + 1
       WHERE id = 1 RETURNING generation`,
  registerFollower: `INSERT INTO SCHEMA.followers AS mine (id, beats, passed, lease_ms)
       SELECT $1::text, 1, generation, $2::bigint FROM SCHEMA.format WHERE format.id = 1
       ON CONFLICT (id) DO UPDATE SET beats = mine.beats + 1
       RETURNING mine.passed AS generation, NOT EXISTS (SELECT FROM SCHEMA.servers WHERE is_owner AND NOT knows_followers) AS is_awaited`,
} as const;

describe.skipIf(url === undefined)(
  'a server of an earlier release that runs while the tables are brought up to date',
  () => {
    let pool: ConnectionPool;
    let member: MemberServer | undefined;

    beforeAll(async () => {
      pool = await openPool(newSchema(url ?? ''));
    });
    beforeEach(() => toVersionThree(pool));
    afterEach(async () => {
      await member?.close();
      member = undefined;
      await sql('DELETE FROM SCHEMA.servers');
    });
    afterAll(async () => {
      await dropSchema(pool);
      await pool.close();
    });

    function sql(text: string, values: readonly Value[] = []): Promise<readonly Row[]> {
      return pool.use((connection) => connection.query(text.replaceAll('SCHEMA', pool.address.schema), values));
    }

    async function earlierTakes(): Promise<boolean> {
      await sql(EARLIER.lock);
      await sql(EARLIER.removeDead, ['earlier', null, null]);
      const isTaken = (await sql(EARLIER.take, ['earlier', 'process 1 on there', 'there', LEASE_MS])).length > 0;
      if (isTaken) await sql(EARLIER.raiseTerm);
      return isTaken;
    }

    async function startMember(): Promise<MemberServer> {
      member = await MemberServer.start(pool, { described: 'member', machine: 'here', leaseMs: LEASE_MS });
      return member;
    }

    test('owns the storage on, beside members, which take it when it leaves', async () => {
      expect(await earlierTakes()).toBe(true);
      await prepareSchema(pool);
      const { lease, members } = await startMember();
      expect(await sql(EARLIER.beat, ['earlier', LEASE_MS])).toMatchObject([{ waiting: '1' }]);
      await sql(EARLIER.announce, ['earlier', 'http://10.0.0.1:5984/']);
      expect(await sql(EARLIER.look)).toMatchObject([{ id: 'earlier', beats: '2', is_over: false }]);
      expect(Number((await sql(EARLIER.leaseLeft))[0]?.['left'])).toBeGreaterThan(0);
      expect(await sql(EARLIER.registerFollower, ['follower', 1000])).toMatchObject([{ is_awaited: true }]);
      expect(await sql(EARLIER.raiseGeneration)).toHaveLength(1);
      expect(await lease.tryTake()).toBe(false);
      expect(lease.owner).toMatchObject({ described: 'process 1 on there', address: 'http://10.0.0.1:5984/' });
      const seen = await members.lookNow();
      expect(seen?.members.map(({ described, isCoordinator }) => [described, isCoordinator])).toEqual([
        ['member', false],
      ]);
      const taken = lease.take();
      await sql(EARLIER.leave, ['earlier']);
      await taken;
      expect([lease.isHeld, members.isMember]).toEqual([true, true]);
    });

    test('stands by on, and takes the storage when the coordinator has gone', async () => {
      await sql(EARLIER.standBy, ['earlier', 'process 1 on there', 'there', LEASE_MS]);
      await prepareSchema(pool);
      const coordinator = await startMember();
      expect(await coordinator.lease.tryTake()).toBe(true);
      await waitFor(coordinator, ({ members }) => members.some(({ isCoordinator }) => isCoordinator));
      await sql(EARLIER.standBy, ['earlier', 'process 1 on there', 'there', LEASE_MS]);
      expect(seenBy(coordinator)).toEqual(['member']);
      expect(await earlierTakes()).toBe(false);
      await coordinator.close();
      expect(await earlierTakes()).toBe(true);
      expect(await sql(EARLIER.look)).toMatchObject([{ id: 'earlier', term: expect.any(String) }]);
      await sql(EARLIER.leave, ['earlier']);
    });
  },
);
