import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Connection, ConnectionPool } from '../../../../src/storage/postgres/connection-pool.ts';
import { MemberRows, type SeenServer } from '../../../../src/storage/postgres/members/member-rows.ts';
import { ServerRows } from '../../../../src/storage/postgres/server-rows.ts';
import { dropSchema, newSchema, openPool, postgresUrl } from '../../../support/postgres/postgres.ts';

const url = await postgresUrl();
const LEASE_MS = 3_600_000;

/** The statements alone, without members that would raise the version if one of these forgot to. */
describe.skipIf(url === undefined)('statements on members', () => {
  let pool: ConnectionPool;
  let member: MemberRows;
  let server: ServerRows;

  beforeAll(async () => {
    pool = await openPool(newSchema(url ?? ''));
  });
  beforeEach(() => {
    member = rowsOf('member', true).member;
    server = rowsOf('member', true).server;
  });
  afterEach(() => sql('DELETE FROM SCHEMA.servers'));
  afterAll(async () => {
    await dropSchema(pool);
    await pool.close();
  });

  function rowsOf(id: string, takesPart: boolean) {
    const self = { id, described: id, machine: 'here', leaseMs: LEASE_MS, takesPart };
    return { member: new MemberRows(pool.address.schema, self), server: new ServerRows(pool.address.schema, self) };
  }

  function sql(text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return pool.use((connection) => connection.query(text.replaceAll('SCHEMA', pool.address.schema)));
  }

  /** By how much the version is higher after `work`. */
  async function raisedBy(work: (connection: Connection) => Promise<unknown>): Promise<number> {
    const version = async () => Number((await sql('SELECT membership FROM SCHEMA.format'))[0]?.['membership']);
    const before = await version();
    await pool.use(work);
    return (await version()) - before;
  }

  async function seen(): Promise<readonly SeenServer[]> {
    return (await pool.use((connection) => member.look(connection, { renew: false, known: undefined }))).servers;
  }

  const join = (connection: Connection) => member.join(connection, undefined, undefined);

  test('a member that joins and leaves raises the version, one that had left does not', async () => {
    expect(await raisedBy(join)).toBe(1);
    expect(await raisedBy((connection) => member.leave(connection, undefined))).toBe(1);
    expect(await raisedBy((connection) => member.leave(connection, 'former'))).toBe(0);
  });

  test('one that joins again and the row that it had before are one change', async () => {
    await pool.use(join);
    const again = rowsOf('again', true).member;
    expect(await raisedBy((connection) => again.join(connection, 'http://10.0.0.1/', 'member'))).toBe(1);
    expect((await seen()).map(({ id, address }) => [id, address])).toEqual([['again', 'http://10.0.0.1/']]);
  });

  test('an address raises the version if it is another one', async () => {
    await pool.use(join);
    expect(await raisedBy((connection) => member.announce(connection, 'http://10.0.0.1/'))).toBe(1);
    expect(await raisedBy((connection) => member.announce(connection, 'http://10.0.0.1/'))).toBe(0);
  });

  test('a removal raises the version, unless the member has renewed its row since', async () => {
    await pool.use(join);
    const before = await seen();
    expect(await raisedBy((connection) => member.look(connection, { renew: true, known: undefined }))).toBe(0);
    expect(await raisedBy((connection) => member.remove(connection, before))).toBe(0);
    const now = await seen();
    expect(now.map(({ id, beats }) => [id, beats])).toEqual([['member', 2]]);
    expect(await raisedBy((connection) => member.remove(connection, now))).toBe(1);
    expect(await seen()).toEqual([]);
  });

  test('a look renews the row only when it is to, and says whether it did', async () => {
    await pool.use(join);
    const look = (renew: boolean) => pool.use((connection) => member.look(connection, { renew, known: undefined }));
    expect([(await look(true)).isRenewed, (await look(false)).isRenewed]).toEqual([true, false]);
    expect((await seen()).map(({ beats }) => beats)).toEqual([2]);
    await sql('DELETE FROM SCHEMA.servers');
    expect((await look(true)).isRenewed).toBe(false);
    expect(await seen()).toEqual([]);
  });

  test('a member that takes the storage raises the version; one without a row does not take it', async () => {
    expect(await raisedBy(async (connection) => expect(await server.take(connection, undefined)).toBeUndefined())).toBe(
      0,
    );
    expect(await seen()).toEqual([]);
    await pool.use(join);
    expect(await raisedBy((connection) => server.take(connection, undefined))).toBe(1);
    expect((await seen()).map(({ isCoordinator }) => isCoordinator)).toEqual([true]);
  });

  test.each([
    ['whose lease has ended', `until = clock_timestamp() - interval '1 second'`, 1],
    [
      'whose lease has ended by the clock of another database server',
      `until = clock_timestamp() - interval '1 hour', beaten_on = 'another'`,
      0,
    ],
  ])('a server that does not take part and takes the storage: a member %s', async (_what, set, raised) => {
    await pool.use(join);
    await sql(`UPDATE SCHEMA.servers SET ${set}`);
    const other = rowsOf('other', false).server;
    expect(await raisedBy((connection) => other.take(connection, undefined))).toBe(raised);
    expect((await seen()).filter(({ takesPart }) => takesPart)).toHaveLength(1 - raised);
  });

  test('the version goes above what a server has seen, once', async () => {
    const [row] = await sql('SELECT membership FROM SCHEMA.format');
    const version = Number(row?.['membership']);
    expect(await raisedBy((connection) => member.raise(connection, version, version + 5))).toBe(6);
    expect(await raisedBy((connection) => member.raise(connection, version, version + 5))).toBe(0);
  });
});
