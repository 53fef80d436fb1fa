import { describe, expect, test } from 'vitest';
import { Owners, serverName } from '../../../../src/node/cluster/owners.ts';
import type { Member, Membership } from '../../../../src/storage/postgres/members/membership.ts';

const member = (port: number, isCoordinator = false): Member => ({
  id: `id-${port}`,
  described: `process ${port}`,
  machine: 'here',
  address: `http://10.0.0.1:${port}/`,
  adopted: 1,
  isCoordinator,
});

const of = (members: readonly Member[], pins: Readonly<Record<string, string>> = {}): Owners => {
  const membership: Membership = { version: 1, self: 'id-1', members, pins: new Map(Object.entries(pins)) };
  return new Owners(membership);
};

const names = Array.from({ length: 3_000 }, (_, index) => `db${index}`);
const three = [member(1, true), member(2), member(3)];

describe('owners of databases', () => {
  test('are the same for everyone who knows the same members', () => {
    const [one, other] = [of(three), of([...three].reverse())];
    for (const name of names) expect(one.ownerOf(name)?.id).toBe(other.ownerOf(name)?.id);
  });

  test('have about as many databases each', () => {
    const owners = of(three);
    for (const { id } of three) {
      const count = names.filter((name) => owners.ownerOf(name)?.id === id).length;
      expect(count).toBeGreaterThan(850);
      expect(count).toBeLessThan(1_150);
    }
  });

  test('keep theirs when another one leaves or joins', () => {
    const before = of(three);
    const after = of(three.slice(0, 2));
    for (const name of names) {
      const owner = before.ownerOf(name)?.id;
      if (owner !== 'id-3') expect(after.ownerOf(name)?.id).toBe(owner);
    }
  });

  test('get the same ones when they are started again at the same address', () => {
    const again = three.map((each) => ({ ...each, id: `new-${each.id}` }));
    const [before, after] = [of(three), of(again)];
    for (const name of names) expect(after.ownerOf(name)?.id).toBe(`new-${before.ownerOf(name)?.id}`);
  });

  test('are the coordinator for databases whose names begin with an underscore', () => {
    expect(of(three).ownerOf('_users')?.id).toBe('id-1');
    expect(of([member(2), member(3)]).ownerOf('_users')).toBeUndefined();
  });

  test('are those that were chosen by hand, while they are there', () => {
    const chosen = { hot: 'settee@10.0.0.1:3' };
    expect(of(three, chosen).ownerOf('hot')?.id).toBe('id-3');
    const without = of(three.slice(0, 2), chosen);
    expect(without.ownerOf('hot')?.id).toBe(of(three.slice(0, 2)).ownerOf('hot')?.id);
  });

  test('are none of the servers that have announced no address', () => {
    const owners = of([{ ...member(1, true), address: undefined }, member(2)]);
    for (const name of names) expect(owners.ownerOf(name)?.id).toBe('id-2');
    expect(owners.ownerOf('_users')?.id).toBe('id-1');
  });

  test('are no one if there are no members', () => {
    expect(of([]).ownerOf('db')).toBeUndefined();
  });

  test('have names with their host and port', () => {
    expect(serverName(member(5984))).toBe('settee@10.0.0.1:5984');
    expect(serverName({ ...member(1), address: undefined, id: '0123456789ab' })).toBe('settee@here.01234567');
  });
});
