import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ReplicationMessage } from '../../../../src/browser/bridge/wire.ts';
import { PendingReplications } from '../../../../src/browser/client/pending-replications.ts';

const base = 'https://app.example/db/';
const say = (activity: ReplicationMessage['activity']): ReplicationMessage => ({
  type: 'SETTEE_REPLICATION',
  base,
  activity,
});

const register = vi.fn(async () => {});
const postMessage = vi.fn();
let pending: PendingReplications;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.clearAllMocks();
  withNavigator(true);
  pending = new PendingReplications(base);
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function withNavigator(onLine: boolean): void {
  const serviceWorker = { ready: Promise.resolve({ sync: { register } }), controller: { postMessage } };
  vi.stubGlobal('navigator', { onLine, serviceWorker });
}

test('replications that finish quickly register nothing with the browser', async () => {
  pending.note(say('busy'));
  await vi.advanceTimersByTimeAsync(1_900);
  pending.note(say('resting'));
  await vi.advanceTimersByTimeAsync(10_000);
  pending.leave();
  expect(register).not.toHaveBeenCalled();
  expect(postMessage).not.toHaveBeenCalled();
});

test('lasting replications are registered with the browser: without a network at once, with one after two seconds', async () => {
  pending.note(say('failing'));
  await vi.advanceTimersByTimeAsync(2_000);
  expect(register.mock.calls).toEqual([[`settee ${base}`]]);
  withNavigator(false);
  pending.note(say('busy'));
  await vi.advanceTimersByTimeAsync(0);
  expect(register).toHaveBeenCalledTimes(2);
});

test('a page that is left notifies the service worker once', async () => {
  pending.note(say('busy'));
  await vi.advanceTimersByTimeAsync(0);
  pending.leave();
  pending.leave();
  expect(postMessage.mock.calls).toEqual([[say('busy')]]);
  expect(register).toHaveBeenCalledTimes(1);
});

test('in a browser without service workers nothing is registered', async () => {
  vi.stubGlobal('navigator', { onLine: true });
  pending.note(say('busy'));
  await vi.advanceTimersByTimeAsync(5_000);
  expect(() => pending.leave()).not.toThrow();
});
