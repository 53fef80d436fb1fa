import { describe, expect, test, vi } from 'vitest';
import { patient } from '../../../support/patience.ts';
import {
  base,
  createSupervisor,
  echo,
  endpoints,
  never,
  outgoing,
  page,
  useFakeWorkers,
  workers,
} from './supervised-workers.ts';

useFakeWorkers();

describe('leaving the page', () => {
  test('ends the worker at once, and coming back starts another', async () => {
    const onLoss = vi.fn();
    const supervisor = createSupervisor(onLoss);
    await supervisor.whenRunning();
    page.dispatchEvent(new Event('pagehide'));
    expect(workers.map(({ isTerminated }) => isTerminated)).toEqual([true]);
    expect(onLoss).toHaveBeenCalledTimes(1);
    page.dispatchEvent(new Event('pageshow'));
    await vi.waitFor(() => expect(workers).toHaveLength(2), patient);
    expect((await supervisor.handle(outgoing())).status).toBe(200);
  });

  test('repeats reads in progress, and reports that the outcome of writes is unknown', async () => {
    const handle = vi.fn(never);
    endpoints.next = () => ({ handle });
    const supervisor = createSupervisor();
    const read = supervisor.handle(outgoing());
    const query = supervisor.handle(outgoing({ method: 'POST', url: `${base}n/_all_docs`, body: '{"keys":[]}' }));
    const write = supervisor.handle(outgoing({ method: 'PUT', body: '{}' }));
    await vi.waitFor(() => expect(handle).toHaveBeenCalledTimes(3), patient);
    endpoints.next = () => ({ handle: echo });
    page.dispatchEvent(new Event('pagehide'));
    const { status, body } = await write;
    expect(status).toBe(503);
    expect(JSON.parse(String(body))).toEqual({
      error: 'service_unavailable',
      reason: expect.stringContaining('it may have been carried out or not'),
    });
    page.dispatchEvent(new Event('pageshow'));
    expect((await read).body).toBe(`GET ${base}n/a`);
    expect((await query).body).toBe(`POST ${base}n/_all_docs`);
  });

  test('while the worker is being opened only delays calls, and starts one more worker', async () => {
    endpoints.next = () => ({ open: never });
    const supervisor = createSupervisor();
    const opening = supervisor.whenRunning();
    await vi.waitFor(() => expect(workers).toHaveLength(1), patient);
    page.dispatchEvent(new Event('pagehide'));
    const later = supervisor.handle(outgoing());
    endpoints.next = () => ({ handle: echo });
    page.dispatchEvent(new Event('pageshow'));
    await opening;
    expect((await later).status).toBe(200);
    expect(workers.map(({ isTerminated }) => isTerminated)).toEqual([true, false]);
  });

  test('lets no worker start before the page is back', async () => {
    const supervisor = createSupervisor();
    await supervisor.whenRunning();
    page.dispatchEvent(new Event('pagehide'));
    const answer = supervisor.handle(outgoing());
    await new Promise((resolve) => setImmediate(resolve));
    expect(workers).toHaveLength(1);
    page.dispatchEvent(new Event('pageshow'));
    expect((await answer).status).toBe(200);
  });
});
