import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { ConnectionPool } from '../../../../src/storage/postgres/connection-pool.ts';
import { DurableHistory } from '../../../../src/storage/postgres/durable-history.ts';
import type { Member, Membership } from '../../../../src/storage/postgres/members/membership.ts';
import { type LeaseOptions, StorageLease } from '../../../../src/storage/postgres/storage-lease.ts';
import { rejects } from '../../../conformance/storage/expectations.ts';
import { patient } from '../../../support/patience.ts';
import { MemberServer, seenBy, waitFor } from '../../../support/postgres/member-server.ts';
import { dropSchema, newSchema, openPool, postgresUrl } from '../../../support/postgres/postgres.ts';

const url = await postgresUrl();
/** No lease of this length ends while a test runs. */
const LONG_MS = 3_600_000;

describe.skipIf(url === undefined)('the members of a storage', () => {
  let pool: ConnectionPool;
  const servers = new Set<MemberServer>();

  beforeAll(async () => {
    pool = await openPool(newSchema(url ?? ''));
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    for (const server of servers) await server.close();
    servers.clear();
    await sql('DELETE FROM SCHEMA.servers');
    await sql('DELETE FROM SCHEMA.pins');
  });
  afterAll(async () => {
    await dropSchema(pool);
    await pool.close();
  });

  async function open(described: string, options: Partial<LeaseOptions> = {}): Promise<MemberServer> {
    const server = await MemberServer.start(pool, { described, machine: 'here', leaseMs: LONG_MS, ...options });
    servers.add(server);
    return server;
  }

  function sql(text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return pool.use((connection) => connection.query(text.replaceAll('SCHEMA', pool.address.schema)));
  }

  test('a server that takes part is one from the start, and all see the same', async () => {
    const first = await open('first');
    expect(first.members.isMember).toBe(true);
    await first.lease.announce('http://10.0.0.1:5984/');
    const second = await open('second');
    expect(seenBy(second)).toEqual(['first', 'second']);
    await waitFor(first, (now) => now.members.length === 2);
    expect(first.members.membership?.version).toBe(second.members.membership?.version);
    expect(first.members.membership?.members).toEqual(second.members.membership?.members);
    const ids = second.members.membership?.members.map(({ id }) => id) ?? [];
    expect(ids).toEqual([...ids].sort());
    expect(second.members.membership?.self).not.toBe(first.members.membership?.self);
    const seen = second.members.membership?.members.find(({ described }) => described === 'first');
    expect(seen).toEqual({
      id: first.members.membership?.self,
      described: 'first',
      machine: 'here',
      address: 'http://10.0.0.1:5984/',
      isCoordinator: false,
      adopted: 0,
    });
  });

  test('a server that does not take part is none, and has no part of this', async () => {
    const member = await open('member');
    const version = member.members.membership?.version;
    const lease = await StorageLease.open(pool, new DurableHistory(), { described: 'other', machine: 'here' });
    expect(lease.members).toBeUndefined();
    expect(await lease.tryTake()).toBe(true);
    await lease.announce('http://10.0.0.2:5984/');
    const seen = await member.members.lookNow();
    expect([seen?.version, seen?.members.map(({ isCoordinator }) => isCoordinator)]).toEqual([version, [false]]);
    expect(await member.lease.tryTake()).toBe(false);
    expect(member.lease.owner?.address).toBe('http://10.0.0.2:5984/');
    await lease.release();
    expect((await member.members.lookNow())?.version).toBe(version);
  });

  test('each change raises the version: an address, a coordinator, one that leaves, pins; adoption does not', async () => {
    const one = await open('one');
    const two = await open('two');
    const versions: number[] = [];
    const note = async () => versions.push((await two.members.lookNow())?.version ?? -1);
    await note();
    await one.lease.announce('http://10.0.0.1:5984/');
    await note();
    await one.lease.announce('http://10.0.0.1:5984/');
    await note();
    expect(await one.lease.tryTake()).toBe(true);
    await note();
    await one.members.adopt(versions[0] ?? 0);
    await note();
    await one.members.setPins(new Map([['db', 'two']]));
    await note();
    await one.members.setPins(new Map([['db', 'two']]));
    await note();
    await one.lease.release();
    await note();
    const [first = 0] = versions;
    expect(versions).toEqual([0, 1, 1, 2, 2, 3, 3, 4].map((more) => first + more));
    expect(seenBy(two)).toEqual(['two']);
  });

  test('one owns the storage, and is the coordinator; the next one takes over, as a member', async () => {
    const one = await open('one');
    const two = await open('two');
    expect(await one.lease.tryTake()).toBe(true);
    expect(await two.lease.tryTake()).toBe(false);
    const coordinators = (now: Membership) => now.members.filter((member) => member.isCoordinator);
    await waitFor(two, (now) => coordinators(now)[0]?.described === 'one');
    expect([one.members.isMember, two.members.isMember]).toEqual([true, true]);
    const taken = two.lease.take();
    await one.lease.release();
    expect(one.members.isMember).toBe(false);
    await taken;
    await waitFor(two, (now) => now.members.length === 1 && coordinators(now)[0]?.described === 'two');
    expect([two.lease.isHeld, two.members.isMember]).toEqual([true, true]);
    expect(await sql('SELECT described, is_owner FROM SCHEMA.servers')).toEqual([{ described: 'two', is_owner: true }]);
  });

  test('an owner that gives the storage up is no member, and one again when it wants the storage', async () => {
    const one = await open('one');
    await one.lease.tryTake();
    const before = one.members.membership?.self;
    await one.lease.giveUp();
    expect(one.members.isMember).toBe(false);
    expect(await sql('SELECT FROM SCHEMA.servers')).toEqual([]);
    expect(await one.members.lookNow()).toBeUndefined();
    await one.lease.take();
    expect([one.lease.isHeld, one.members.isMember]).toEqual([true, true]);
    const now = await one.members.lookNow();
    expect(now?.members.map(({ id, isCoordinator }) => [id, isCoordinator])).toEqual([[now?.self, true]]);
    expect(now?.self).not.toBe(before);
  });

  test('what one has adopted is seen by all, never goes back, and may be said twice', async () => {
    const one = await open('one');
    const two = await open('two');
    const adopted = (now: Membership | undefined) => now?.members.find(({ described }) => described === 'one')?.adopted;
    const seen = waitFor(two, (now) => adopted(now) === 7);
    await one.members.adopt(7);
    expect(adopted(one.members.membership)).toBe(7);
    await seen;
    await one.members.adopt(7);
    await one.members.adopt(6);
    expect(adopted(await two.members.lookNow())).toBe(7);
  });

  test('what one has adopted while it could not say so is stored when it can', async () => {
    const one = await open('one');
    const two = await open('two');
    one.isCutOff = true;
    await rejects('storage_blocked', () => one.members.adopt(7));
    one.isCutOff = false;
    await waitFor(two, ({ members }) => members.some(({ adopted }) => adopted === 7));
  });

  test('pins are set by the coordinator alone, as a whole', async () => {
    const one = await open('one');
    const two = await open('two');
    await rejects('not_owner', () => two.members.setPins(new Map([['db', 'two']])));
    await one.lease.tryTake();
    await one.members.setPins(
      new Map([
        ['b', 'two'],
        ['__proto__', 'one'],
        ['a\'"\\', 'one'],
      ]),
    );
    const pins = [
      ['__proto__', 'one'],
      ['a\'"\\', 'one'],
      ['b', 'two'],
    ];
    expect([...((await two.members.lookNow())?.pins ?? [])]).toEqual(pins);
    const later = await open('later');
    expect([...(later.members.membership?.pins ?? [])]).toEqual(pins);
    const changed = waitFor(two, (now) => now.pins.get('b') === 'one' && now.pins.size === 1);
    await one.members.setPins(new Map([['b', 'one']]));
    await changed;
    await one.members.setPins(new Map());
    expect((await two.members.lookNow())?.pins.size).toBe(0);
  });

  test('the key is the same for all, also for those that ask first at the same time', async () => {
    const all = await Promise.all(Array.from({ length: 5 }, (_, at) => open(`${at}`)));
    const keys = await Promise.all(all.map(({ members }) => members.forwardingKey()));
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(await (await open('later')).members.forwardingKey()).toBe(keys[0]);
  });

  test('those that start at the same moment find each other, under one version', async () => {
    const all = await Promise.all(Array.from({ length: 6 }, (_, at) => open(`${at}`)));
    await Promise.all(all.map((server) => waitFor(server, (now) => now.members.length === 6)));
    const [first] = await sql('SELECT membership FROM SCHEMA.format');
    for (const { members } of all) expect(`${members.membership?.version}`).toBe(first?.['membership']);
    const taken = await Promise.all(all.map(({ lease }) => lease.tryTake()));
    expect(taken.filter(Boolean)).toHaveLength(1);
  });

  test('callers that look in one turn share a look', async () => {
    const { members } = await open('one');
    const [left, right] = [members.lookNow(), members.lookNow()];
    expect(left).toBe(right);
    expect((await left)?.members).toHaveLength(1);
  });

  test.each([
    ['a member', false],
    ['the coordinator', true],
  ])('%s whose beats stop is removed by the others, and had stopped before; it joins again', async (_what, takes) => {
    const cutOff = await open('cut off', { leaseMs: 3_000 });
    const other = await open('other', { leaseMs: 3_000 });
    if (takes) await cutOff.lease.tryTake();
    for (const server of [other, cutOff]) {
      await waitFor(server, ({ members }) => members.length === 2 && members.some(isCoordinator) === takes);
    }
    const before = cutOff.members.membership?.self;
    const states: boolean[] = [];
    cutOff.members.onMembership(() => states.push(cutOff.members.isMember));
    const removed = new Promise<boolean>((resolve) => {
      const end = other.members.onMembership((now) => {
        if (now.members.some(({ id }) => id === before)) return;
        end();
        resolve(cutOff.members.isMember);
      });
    });
    cutOff.isCutOff = true;
    expect(await removed).toBe(false);
    await expect.poll(() => other.members.isMember, patient).toBe(true);
    cutOff.isCutOff = false;
    await waitFor(other, (now) => now.members.length === 2);
    await waitFor(cutOff, (now) => now.members.length === 2 && now.self !== before);
    expect(states[0]).toBe(false);
    expect(cutOff.lease.isOwner).toBe(false);
    await expect.poll(() => cutOff.members.isMember, patient).toBe(true);
  });

  test('one whose row is gone says so at once, and joins again with nothing adopted', async () => {
    const one = await open('one');
    await one.lease.tryTake();
    await one.members.adopt(1);
    const before = one.members.membership;
    const states: (readonly [boolean, boolean, boolean])[] = [];
    const again = new Promise<void>((resolve) => {
      one.members.onMembership(({ self }) => {
        states.push([one.members.isMember, one.lease.isOwner, self === before?.self]);
        if (self !== before?.self) resolve();
      });
    });
    await sql('DELETE FROM SCHEMA.servers');
    await again;
    expect(states).toEqual([
      [false, false, true],
      [true, false, false],
    ]);
    expect(one.lost).toEqual(['another server has removed its row']);
    const now = one.members.membership;
    expect(now?.members.map(({ id, adopted }) => [id, adopted])).toEqual([[now?.self, 0]]);
    expect(now?.version).toBe((before?.version ?? 0) + 1);
    expect(await sql('SELECT is_owner FROM SCHEMA.servers')).toEqual([{ is_owner: false }]);
    await one.lease.take();
    expect([one.lease.isHeld, one.members.isMember]).toEqual([true, true]);
  });

  test('the version is raised by those who see that a server of an earlier release has removed a member', async () => {
    const one = await open('one');
    const two = await open('two');
    await waitFor(one, (now) => now.members.length === 2);
    const before = one.members.membership?.version ?? 0;
    const dead = await open('dead');
    await waitFor(one, (now) => now.members.length === 3);
    await waitFor(two, (now) => now.members.length === 3);
    dead.isCutOff = true;
    await sql(`DELETE FROM SCHEMA.servers WHERE described = 'dead'`);
    await Promise.all([
      waitFor(one, (now) => now.members.length === 2),
      waitFor(two, (now) => now.members.length === 2),
    ]);
    expect([one.members.membership?.version, two.members.membership?.version]).toEqual([before + 2, before + 2]);
  });

  test('the version never goes back, although that of the database has', async () => {
    const one = await open('one');
    const two = await open('two');
    const before = (await one.members.lookNow())?.version ?? 0;
    await two.members.lookNow();
    await sql('UPDATE SCHEMA.format SET membership = membership - 1');
    const seen = [(await one.members.lookNow())?.version, (await two.members.lookNow())?.version];
    expect(seen).toEqual([before + 1, before + 1]);
  });

  test('a member that another database server has heard last is removed after it was watched for a lease, and not by the clock', async () => {
    const one = await open('one', { leaseMs: 8_000 });
    await sql(
      `INSERT INTO SCHEMA.servers (id, is_owner, described, machine, until, beaten_on, beats, takes_part)
       VALUES ('dead', false, 'elsewhere', 'there', clock_timestamp() - interval '1 hour', 'another server', 7, true)`,
    );
    await sql('UPDATE SCHEMA.format SET membership = membership + 1');
    await waitFor(one, (now) => now.members.length === 2);
    // It is alive: its beats are counted until the end of this test begins.
    for (let beats = 0; beats < 20; beats += 1) {
      await sql(`UPDATE SCHEMA.servers SET beats = beats + 1 WHERE id = 'dead'`);
      await new Promise((done) => setTimeout(done, 200));
    }
    expect((await one.members.lookNow())?.members).toHaveLength(2);
    await waitFor(one, (now) => now.members.length === 1);
    expect(await sql(`SELECT FROM SCHEMA.servers WHERE id = 'dead'`)).toEqual([]);
  });

  test('a member is not believed after its machine was suspended, when only one of its clocks went on', async () => {
    const { members } = await open('suspended');
    const now = Date.now();
    vi.spyOn(Date, 'now').mockReturnValue(now + (LONG_MS * 2) / 3 - 60_000);
    expect(members.isMember).toBe(true);
    vi.spyOn(Date, 'now').mockReturnValue(now + (LONG_MS * 2) / 3);
    expect(members.isMember).toBe(false);
  });

  test('none is a member on a database that has gone back to before its last change of owner', async () => {
    const one = await open('one');
    const two = await open('two');
    await one.lease.tryTake();
    await two.members.lookNow();
    const states: boolean[] = [];
    two.members.onMembership(() => states.push(two.members.isMember));
    const taken = two.lease.take().catch(String);
    await sql('UPDATE SCHEMA.format SET term = term - 1');
    expect(await taken).toMatch(/^DatabaseError: storage_rolled_back: /);
    await expect.poll(() => states.at(-1), patient).toBe(false);
    expect(await two.members.lookNow()).toBeUndefined();
  });

  test('a server that is closed ends its wait and leaves, and can’t join again', async () => {
    const one = await open('one');
    await one.lease.tryTake();
    const two = await open('two');
    const taken = rejects('storage_closed', () => two.lease.take());
    await two.lease.release();
    await taken;
    expect(two.members.isMember).toBe(false);
    await rejects('storage_closed', () => two.members.join());
    expect((await one.members.lookNow())?.members).toHaveLength(1);
  });
});

function isCoordinator(member: Member): boolean {
  return member.isCoordinator;
}
