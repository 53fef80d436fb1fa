import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { patient } from '../../../support/patience.ts';
import {
  base,
  createSupervisor,
  echo,
  endpoints,
  never,
  outgoing,
  useFakeWorkers,
  workers,
} from './supervised-workers.ts';

useFakeWorkers();

describe('a worker that stops answering', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  test('and sends no sign of life is ended: reads are repeated, and writes have an unknown outcome', async () => {
    const handle = vi.fn(never);
    let isStuck = false;
    endpoints.next = () => ({ handle, status: () => (isStuck ? never() : Promise.resolve({})) });
    const supervisor = createSupervisor();
    const read = supervisor.handle(outgoing());
    const write = supervisor.handle(outgoing({ method: 'PUT', body: '{}' }));
    await vi.waitFor(() => expect(handle).toHaveBeenCalledTimes(2), patient);
    isStuck = true;
    endpoints.next = () => ({ handle: echo });
    await vi.advanceTimersByTimeAsync(24_000);
    expect(workers).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(workers.map(({ isTerminated }) => isTerminated)).toEqual([true, false]);
    expect((await read).body).toBe(`GET ${base}n/a`);
    expect((await write).status).toBe(503);
  });

  test('is replaced when the data of the site are cleared: reads are repeated, writes have an unknown outcome, and bodies break off', async () => {
    const handle = vi.fn(never);
    endpoints.next = () => ({ handle, status: async () => ({}) });
    const onLoss = vi.fn();
    const onCleared = vi.fn();
    const supervisor = createSupervisor(onLoss, () => {}, onCleared);
    const read = supervisor.handle(outgoing());
    const write = supervisor.handle(outgoing({ method: 'PUT', body: '{}' }));
    await vi.waitFor(() => expect(handle).toHaveBeenCalledTimes(2), patient);
    endpoints.next = () => ({ handle: echo });
    workers[0]?.dispatchEvent(new MessageEvent('message', { data: { type: 'SETTEE_CLEARED' } }));
    expect(workers[0]?.isTerminated).toBe(true);
    const reason = 'The browser has cleared the data of this site during this request';
    expect(onLoss.mock.calls).toEqual([[reason]]);
    expect(onCleared).toHaveBeenCalledTimes(1);
    expect((await read).body).toBe(`GET ${base}n/a`);
    expect(await write).toMatchObject({ status: 503, body: expect.stringContaining(reason) });
    expect(workers.map(({ isTerminated }) => isTerminated)).toEqual([true, false]);
    // What the one before still says concerns nobody.
    workers[0]?.dispatchEvent(new MessageEvent('message', { data: { type: 'SETTEE_CLEARED' } }));
    expect(onCleared).toHaveBeenCalledTimes(1);
  });

  test('but sends signs of life is kept, however long an answer takes', async () => {
    const handle = vi.fn(never);
    endpoints.next = () => ({ handle, status: async () => ({}) });
    createSupervisor()
      .handle(outgoing())
      .catch(() => undefined);
    await vi.waitFor(() => expect(handle).toHaveBeenCalledTimes(1), patient);
    for (let second = 0; second < 600; second++) await vi.advanceTimersByTimeAsync(1_000);
    expect(workers.map(({ isTerminated }) => isTerminated)).toEqual([false]);
  });
});
