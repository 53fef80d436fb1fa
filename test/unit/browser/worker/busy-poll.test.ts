import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createBusyPoll } from '../../../../src/browser/worker/page-calls.ts';

/** A channel whose messages arrive when the test says so. */
class ManualChannel {
  static latest: ManualChannel;
  sent = 0;
  readonly port1: { onmessage: () => void } = { onmessage: () => undefined };
  readonly port2 = { postMessage: () => this.sent++ };

  constructor() {
    ManualChannel.latest = this;
  }
}

let now = 0;

beforeEach(() => {
  now = 1_000;
  vi.stubGlobal('MessageChannel', ManualChannel);
  vi.spyOn(performance, 'now').mockImplementation(() => now);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** Lets turns arrive, a twentieth of a millisecond each, until none is on its way; gives how many there were. */
function turns(): number {
  const { latest } = ManualChannel;
  for (let arrived = 0; ; arrived++) {
    if (latest.sent === 0 || arrived === 1_000) return arrived;
    latest.sent--;
    now += 0.05;
    latest.port1.onmessage();
  }
}

test('after a single response the worker sleeps', () => {
  const busyPoll = createBusyPoll();
  busyPoll.onAnswer();
  expect(turns()).toBe(0);
  now += 5;
  busyPoll.onAnswer();
  expect(turns()).toBe(0);
});

test('after a response that soon follows another the worker polls for 0.3 ms', () => {
  const busyPoll = createBusyPoll();
  busyPoll.onAnswer();
  now += 1;
  busyPoll.onAnswer();
  const began = now;
  expect(turns()).toBeGreaterThan(4);
  expect(now - began).toBeLessThan(0.4);
});

test('only one poll runs at a time, and it ends when a request arrives', () => {
  const busyPoll = createBusyPoll();
  for (let answer = 0; answer < 3; answer++) busyPoll.onAnswer();
  expect(ManualChannel.latest.sent).toBe(1);
  busyPoll.onRequest();
  expect(turns()).toBe(1);
  busyPoll.onAnswer();
  expect(turns()).toBeGreaterThan(4);
});
