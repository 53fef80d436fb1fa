import { afterEach, expect, test } from 'vitest';
import { silentLog } from '../../../../src/base/system/log.ts';
import { Cluster, type ClusterOptions } from '../../../../src/node/cluster/cluster.ts';
import type { Membership } from '../../../../src/storage/postgres/members/membership.ts';
import { patient } from '../../../support/patience.ts';

/** A server that is one of two, as the storage's rows say. */
class FakeMembers {
  membership: Membership;
  readonly isMember = true;
  readonly adopted: number[] = [];
  /** What `adopt` does. Default: nothing, as for a server without a row. */
  onAdopt: (version: number) => Promise<void> = async () => undefined;
  #listener: (membership: Membership) => void = () => undefined;

  constructor() {
    this.membership = membershipOf(1, 0);
  }

  onMembership(listener: (membership: Membership) => void): () => void {
    this.#listener = listener;
    return () => undefined;
  }

  async lookNow(): Promise<Membership> {
    return this.membership;
  }

  async adopt(version: number): Promise<void> {
    this.adopted.push(version);
    await this.onAdopt(version);
  }

  async announce(): Promise<void> {}

  setAdopted(version: number): void {
    this.change(membershipOf(this.membership.version, version));
  }

  change(membership: Membership): void {
    this.membership = membership;
    this.#listener(membership);
  }
}

function membershipOf(version: number, adopted: number): Membership {
  const row = { described: 'a process', machine: 'here' };
  const members = [
    { ...row, id: 'other', address: 'http://127.0.0.1:1/', isCoordinator: true, adopted: version },
    { ...row, id: 'self', address: 'http://127.0.0.1:2/', isCoordinator: false, adopted },
  ];
  return { version, self: 'self', members, pins: new Map() };
}

const open: Cluster[] = [];

afterEach(() => {
  for (const cluster of open.splice(0)) cluster.close();
});

function start(members: ClusterOptions['members'], options: Partial<ClusterOptions> = {}): Cluster {
  const cluster = new Cluster({
    ...{ members, ...options },
    hasOtherOwner: () => false,
    key: '0'.repeat(64),
    log: silentLog,
    headersFor: () => ({}),
  });
  open.push(cluster);
  return cluster;
}

test('while it has no row, it waits for one, and does nothing else', async () => {
  const members = new FakeMembers();
  start(members);
  // A loop without a pause would not let this happen.
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(members.adopted).toEqual([1]);
  members.onAdopt = async (version) => members.setAdopted(version);
  members.change(membershipOf(2, 0));
  await expect.poll(() => members.adopted, patient).toEqual([1, 2]);
});

test('when it is seated again, the service finds out what is its own', async () => {
  const members = new FakeMembers();
  members.onAdopt = async (adopted) => {
    const { membership } = members;
    const rows = membership.members.map((member) => (member.id === membership.self ? { ...member, adopted } : member));
    members.change({ ...membership, members: rows });
  };
  members.membership = { ...membershipOf(1, 0), pins: new Map([['mine', 'settee@127.0.0.1:2']]) };
  const cluster = start(members);
  await expect.poll(() => members.adopted, patient).toEqual([1]);
  const own: boolean[] = [];
  const { placement } = cluster.memberOptions(false);
  const rearrange = async () => void own.push(placement.owns('mine'));
  cluster.attach({ rearrange });
  // The others have removed its row, and it has joined again.
  const { membership } = members;
  const renamed = membership.members.map((member) => (member.id === 'self' ? { ...member, id: 'again' } : member));
  members.change({ ...membership, version: 2, self: 'again', members: renamed });
  await expect.poll(() => members.adopted, patient).toEqual([1, 2]);
  expect(own).toEqual([false, true]);
});

test('each service has its own settings, so that nothing of a former one goes on listening', () => {
  const cluster = start(new FakeMembers());
  cluster.settings.receive({ version: 'a', settings: { log: { level: 'info' } } });
  const configOf = () => cluster.memberOptions(false).follows?.config;
  const seen: string[] = [];
  configOf()?.onChange(() => seen.push('former'));
  const present = configOf();
  present?.onChange(({ value }) => seen.push(`present: ${value}`));
  cluster.settings.receive({ version: 'b', settings: { log: { level: 'debug' } } });
  expect(seen).toEqual(['present: debug']);
  expect(present?.get('log', 'level')).toBe('debug');
});

test('a database is waited for until all have given it up, but not for ever', async () => {
  const members = new FakeMembers();
  const pins = new Map([['mine', 'settee@127.0.0.1:2']]);
  members.membership = { ...membershipOf(1, 0), pins };
  const { placement } = start(members, { freeMs: 30 }).memberOptions(false);
  await expect.poll(() => placement.owns('mine'), patient).toBe(true);
  await expect(placement.whenFree('mine')).rejects.toMatchObject({ code: 'storage_blocked' });
  members.change({ ...membershipOf(1, 1), pins });
  await placement.whenFree('mine');
});
