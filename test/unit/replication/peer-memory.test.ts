import { expect, test } from 'vitest';
import { ByteBudget } from '../../../src/base/shared/byte-budget.ts';
import { type MemoryShare, PeerMemory } from '../../../src/replication/peer-memory.ts';

/** Peers get half of it. */
const BYTES = 200;
const outcomeOf = (wait: Promise<void> | undefined) =>
  wait?.then(
    () => 'granted',
    (failure: Error) => failure.message,
  );

function open(memory: PeerMemory, user: string): { readonly share: MemoryShare; readonly failures: string[] } {
  const failures: string[] = [];
  return { share: memory.open(user, ({ message }) => failures.push(message)), failures };
}

test('one run takes at most half of the bytes in flight, and counts towards them', () => {
  const budget = new ByteBudget(BYTES, 1_000);
  const memory = new PeerMemory(() => BYTES, budget);
  const { share, failures } = open(memory, 'one');
  expect(share.hold(60)).toBeUndefined();
  expect(budget.used).toBe(60);
  expect(() => share.hold(41)).toThrow('take at least 101 bytes');
  expect(failures).toEqual([expect.stringContaining('all peers together may take 100')]);
  share.end();
  expect([memory.used, budget.used]).toEqual([0, 0]);
});

test('runs of one user wait for each other, and the oldest never waits', async () => {
  const memory = new PeerMemory(() => BYTES);
  const first = open(memory, 'one');
  const second = open(memory, 'one');
  expect(first.share.hold(60)).toBeUndefined();
  expect(second.share.hold(40)).toBeUndefined();
  const waiting = outcomeOf(second.share.hold(20));
  expect(first.share.hold(20)).toBeUndefined();
  first.share.free(80);
  expect(await waiting).toBe('granted');
  expect([second.share.bytes, memory.used]).toEqual([60, 60]);
  expect([...first.failures, ...second.failures]).toEqual([]);
});

test('the largest run of the user with the most memory gives way to another user', () => {
  const memory = new PeerMemory(() => BYTES);
  const [small, large] = [open(memory, 'many'), open(memory, 'many')];
  expect(small.share.hold(30)).toBeUndefined();
  expect(large.share.hold(50)).toBeUndefined();
  const other = open(memory, 'other');
  expect(other.share.hold(40)).toBeUndefined();
  expect([small.failures, large.failures, other.failures]).toEqual([
    [],
    [expect.stringContaining('so that others can continue')],
    [],
  ]);
  expect(() => large.share.hold(1)).toThrow('so that others can continue');
  large.share.end();
  expect(memory.used).toBe(70);
});

test('a waiting request ends with its run', async () => {
  const memory = new PeerMemory(() => BYTES);
  const [first, second] = [open(memory, 'one'), open(memory, 'one')];
  expect(first.share.hold(100)).toBeUndefined();
  const waiting = outcomeOf(second.share.hold(20));
  second.share.end();
  expect(await waiting).toContain('so that others can continue');
  expect(memory.used).toBe(100);
});
