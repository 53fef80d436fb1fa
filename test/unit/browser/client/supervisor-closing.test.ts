import { describe, expect, test } from 'vitest';
import { createSupervisor, echo, endpoints, outgoing, page, useFakeWorkers, workers } from './supervised-workers.ts';

useFakeWorkers();

describe('closing the supervisor', () => {
  test('happens after the requests of the same turn', async () => {
    const steps: string[] = [];
    endpoints.next = () => ({
      handle: (request) => {
        steps.push(request.method);
        return echo(request);
      },
      close: async () => {
        steps.push('close');
      },
    });
    const supervisor = createSupervisor();
    await supervisor.whenRunning();
    const answer = supervisor.handle(outgoing({ method: 'PUT' }));
    await supervisor.close();
    expect(steps).toEqual(['PUT', 'close']);
    expect((await answer).status).toBe(200);
  });

  function holdClose(): { finish(): void } {
    let finish = () => {};
    const closed = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let calls = 0;
    // As the endpoint does: only the first call has something to wait for.
    endpoints.next = () => ({ handle: echo, close: () => (++calls === 1 ? closed : Promise.resolve()) });
    return { finish: () => finish() };
  }

  test('ends the worker at once if the page is left meanwhile, as a frozen worker would keep the storage', async () => {
    holdClose();
    const supervisor = createSupervisor();
    await supervisor.whenRunning();
    const closing = supervisor.close();
    page.dispatchEvent(new Event('pagehide'));
    expect(workers.map(({ isTerminated }) => isTerminated)).toEqual([true]);
    await closing;
    page.dispatchEvent(new Event('pageshow'));
    await expect(supervisor.handle(outgoing())).rejects.toMatchObject({ name: 'InvalidStateError' });
    expect(workers).toHaveLength(1);
  });

  test("twice doesn't shorten what the first call waits for", async () => {
    const { finish } = holdClose();
    const supervisor = createSupervisor();
    await supervisor.whenRunning();
    let isClosed = false;
    const both = Promise.all([supervisor.close(), supervisor.close()]).then(() => {
      isClosed = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(isClosed).toBe(false);
    expect(workers[0]?.isTerminated).toBe(false);
    finish();
    await both;
    expect(workers[0]?.isTerminated).toBe(true);
  });
});

describe('closing', () => {
  test('lets the worker finish, ends it, and refuses what comes later', async () => {
    const steps: string[] = [];
    endpoints.next = () => ({
      handle: echo,
      close: async () => {
        steps.push(`closed while ${workers[0]?.isTerminated ? 'gone' : 'there'}`);
      },
    });
    const supervisor = createSupervisor();
    await supervisor.whenRunning();
    await supervisor.close();
    expect(steps).toEqual(['closed while there']);
    expect(workers[0]?.isTerminated).toBe(true);
    await expect(supervisor.handle(outgoing())).rejects.toMatchObject({ name: 'InvalidStateError' });
    page.dispatchEvent(new Event('pagehide'));
    page.dispatchEvent(new Event('pageshow'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(workers).toHaveLength(1);
  });
});
