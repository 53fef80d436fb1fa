/** The locks that other tests rest on, held to what the Web Locks specification says. */
import { expect, test } from 'vitest';
import { FakeLocks } from '../../../support/fake-locks.ts';
import { messagesArrived } from './support.ts';

/** Holds the lock until told otherwise. */
function hold(locks: LockManager, options: LockOptions = {}) {
  let letGo: (value: string) => void = () => {};
  const held = { isGranted: false, outcome: 'pending', release: () => letGo('released') };
  locks
    .request('a', options, (lock) => {
      held.isGranted = lock !== null;
      return new Promise<string>((resolve) => {
        letGo = resolve;
      });
    })
    .then(
      (value) => {
        held.outcome = value;
      },
      (error: Error) => {
        held.outcome = error.name;
      },
    );
  return held;
}

test('an exclusive lock is granted to one after the other, in order', async () => {
  const table = new FakeLocks();
  const holders = [hold(table.client()), hold(table.client()), hold(table.client())];
  const granted = async (): Promise<boolean[]> => {
    await messagesArrived();
    return holders.map(({ isGranted }) => isGranted);
  };
  expect(await granted()).toEqual([true, false, false]);
  holders[0]?.release();
  expect(await granted()).toEqual([true, true, false]);
  expect(holders[0]?.outcome).toBe('released');
});

test('shared locks go together, but not past an exclusive one that waits', async () => {
  const table = new FakeLocks();
  const locks = table.client();
  const [one, two] = [hold(locks, { mode: 'shared' }), hold(locks, { mode: 'shared' })];
  const writer = hold(locks);
  const late = hold(locks, { mode: 'shared' });
  await messagesArrived();
  expect([one, two, writer, late].map(({ isGranted }) => isGranted)).toEqual([true, true, false, false]);
  one.release();
  two.release();
  await messagesArrived();
  expect([writer, late].map(({ isGranted }) => isGranted)).toEqual([true, false]);
});

test('a stolen lock fails its holder, and is the thief’s at once', async () => {
  const table = new FakeLocks();
  const owner = hold(table.client('old'));
  const waiting = hold(table.client());
  await messagesArrived();
  const thief = hold(table.client('new'), { steal: true });
  await messagesArrived();
  expect([owner.outcome, waiting.isGranted, thief.isGranted]).toEqual(['AbortError', false, true]);
  owner.release();
  await messagesArrived();
  expect(table.snapshot().held).toEqual([{ name: 'a', mode: 'exclusive', clientId: 'new' }]);
});

test('ifAvailable returns null instead of waiting', async () => {
  const table = new FakeLocks();
  hold(table.client());
  await messagesArrived();
  expect(await table.client().request('a', { ifAvailable: true }, (lock) => lock)).toBeNull();
  expect(await table.client().request('b', { ifAvailable: true }, (lock) => lock?.name)).toBe('b');
});

test('a signal ends the waiting, but no granted lock', async () => {
  const table = new FakeLocks();
  const [first, second] = [new AbortController(), new AbortController()];
  const holder = hold(table.client(), { signal: first.signal });
  const waiting = hold(table.client(), { signal: second.signal });
  await messagesArrived();
  first.abort();
  second.abort();
  await messagesArrived();
  expect([holder.outcome, waiting.outcome]).toEqual(['pending', 'AbortError']);
  expect(table.snapshot().pending).toEqual([]);
});

test('a client that is killed loses all its locks, and gets no more callbacks', async () => {
  const table = new FakeLocks();
  const client = table.client();
  const owner = hold(client);
  const next = hold(table.client());
  await messagesArrived();
  client.kill();
  await messagesArrived();
  expect([owner.outcome, next.isGranted]).toEqual(['pending', true]);
});

test('a holder that fails releases the lock', async () => {
  const table = new FakeLocks();
  await expect(table.client().request('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(table.snapshot().held).toEqual([]);
});
