import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { patient } from '../../../support/patience.ts';
import {
  base,
  createSupervisor,
  echo,
  endpoints,
  type FakeWorker,
  never,
  outgoing,
  page,
  script,
  supervisors,
  useFakeWorkers,
  workers,
} from './supervised-workers.ts';

useFakeWorkers();

/** What a worker gives its page for the service worker. */
function offerPort(worker: FakeWorker | undefined): { readonly offer: object; readonly port: MessagePort } {
  const { port1, port2 } = new MessageChannel();
  supervisors.push({ close: async () => port2.close() });
  const offer = { type: 'SETTEE_PORT', base, owner: 'o', peer: 'p' };
  worker?.dispatchEvent(new MessageEvent('message', { data: offer, ports: [port1] }));
  return { offer, port: port1 };
}

describe('a worker', () => {
  test('gets a port to the service worker that controls the page, if there is one', async () => {
    const supervisor = createSupervisor();
    await supervisor.whenRunning();
    const postMessage = vi.fn();
    vi.stubGlobal('navigator', { serviceWorker: { controller: { postMessage } } });
    const { offer, port } = offerPort(workers[0]);
    expect(postMessage.mock.calls).toEqual([[offer, [port]]]);
    for (const navigator of [{ serviceWorker: { controller: null } }, {}]) {
      vi.stubGlobal('navigator', navigator);
      expect(() => offerPort(workers[0])).not.toThrow();
    }
    await supervisor.handle(outgoing());
    expect(postMessage).toHaveBeenCalledTimes(1);
    vi.stubGlobal('navigator', { serviceWorker: { controller: { postMessage } } });
    const sign = { type: 'SETTEE_ALIVE', base };
    workers[0]?.dispatchEvent(new MessageEvent('message', { data: sign }));
    expect(postMessage.mock.lastCall).toEqual([sign, []]);
  });

  test('reports that the page is outdated', async () => {
    const onOutdated = vi.fn();
    await createSupervisor(undefined, onOutdated).whenRunning();
    expect(onOutdated).not.toHaveBeenCalled();
    workers[0]?.dispatchEvent(new MessageEvent('message', { data: { type: 'SETTEE_OUTDATED' } }));
    expect(onOutdated).toHaveBeenCalledTimes(1);
  });

  test('is opened once for all calls', async () => {
    const open = vi.fn(async () => {});
    endpoints.next = () => ({ open, handle: echo });
    const supervisor = createSupervisor();
    const answers = await Promise.all([supervisor.handle(outgoing()), supervisor.handle(outgoing({ method: 'HEAD' }))]);
    expect(answers.map(({ body }) => body)).toEqual([`GET ${base}n/a`, `HEAD ${base}n/a`]);
    expect(open.mock.calls).toEqual([[{ base, protocol: 1 }]]);
    expect(workers).toHaveLength(1);
  });

  test("that reports why it can't open is ended, the reason is quoted, and the next call starts another", async () => {
    endpoints.next = () => ({ open: () => Promise.reject(new Error('There is no IndexedDB')) });
    const supervisor = createSupervisor();
    await expect(supervisor.whenRunning()).rejects.toThrow('There is no IndexedDB');
    expect(workers[0]?.isTerminated).toBe(true);
    const { status, body } = await supervisor.handle(outgoing({ method: 'PUT' }));
    expect(status).toBe(503);
    expect(JSON.parse(String(body))).toEqual({
      error: 'service_unavailable',
      reason: expect.stringContaining('There is no IndexedDB'),
    });
    endpoints.next = () => ({ handle: echo });
    expect((await supervisor.handle(outgoing())).status).toBe(200);
    expect(workers).toHaveLength(3);
  });

  test.for([
    ['is not there', new Response(null, { status: 404 }), '404'],
    ['is a page', new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } }), 'text/html'],
  ] as const)('whose script %s fails with an explanation', async ([, found, reason]) => {
    endpoints.next = () => ({ open: never });
    vi.stubGlobal('fetch', async () => found);
    const opening = createSupervisor().whenRunning();
    await vi.waitFor(() => expect(workers[0]?.onerror).toBeTypeOf('function'), patient);
    workers[0]?.onerror?.({});
    await expect(opening).rejects.toThrow(reason);
    await expect(opening).rejects.toThrow(script.href);
  });

  describe('that sends no message', () => {
    beforeEach(() => {
      vi.useFakeTimers({ toFake: ['setTimeout'] });
    });

    afterEach(() => {
      vi.useRealTimers();
    });

    const script200 = () => new Response('', { headers: { 'content-type': 'text/javascript' } });

    test('though its script exists is given up, and the error names the script', async () => {
      endpoints.next = () => ({ open: never });
      vi.stubGlobal('fetch', async () => script200());
      const opening = createSupervisor().whenRunning();
      const failure = opening.catch((error: unknown) => String(error));
      await vi.advanceTimersByTimeAsync(20_000);
      expect(await failure).toContain(`The worker ${script.href} did not start: it does not answer`);
      expect(await failure).toContain('200 text/javascript');
      expect(workers.map(({ isTerminated }) => isTerminated)).toEqual([true]);
    });

    test('because its script loads slowly is waited for', async () => {
      let arrive = (_response: Response) => {};
      const arriving = new Promise<Response>((resolve) => {
        arrive = resolve;
      });
      let begin = () => {};
      const begun = new Promise<void>((resolve) => {
        begin = resolve;
      });
      endpoints.next = () => ({ open: () => begun, status: () => begun.then(() => ({})), handle: echo });
      vi.stubGlobal('fetch', () => arriving);
      const supervisor = createSupervisor();
      const answer = supervisor.handle(outgoing());
      await vi.advanceTimersByTimeAsync(600_000);
      arrive(script200());
      await vi.advanceTimersByTimeAsync(9000);
      begin();
      expect((await answer).status).toBe(200);
      await vi.advanceTimersByTimeAsync(60_000);
      expect(workers.map(({ isTerminated }) => isTerminated)).toEqual([false]);
    });

    test("and whose script the page couldn't load either is waited for", async () => {
      let begin = () => {};
      const begun = new Promise<void>((resolve) => {
        begin = resolve;
      });
      endpoints.next = () => ({ open: () => begun, handle: echo });
      vi.stubGlobal('fetch', () => Promise.reject(new TypeError('Failed to fetch')));
      const answer = createSupervisor().handle(outgoing());
      await vi.advanceTimersByTimeAsync(60_000);
      begin();
      expect((await answer).status).toBe(200);
    });

    test('except that it has begun has all the time it needs to open', async () => {
      let open = () => {};
      const opened = new Promise<void>((resolve) => {
        open = resolve;
      });
      const status = vi.fn(async () => ({}));
      endpoints.next = () => ({ open: () => opened, status, handle: echo });
      vi.stubGlobal('fetch', async () => script200());
      const answer = createSupervisor().handle(outgoing());
      await vi.waitFor(() => expect(status).toHaveBeenCalledTimes(1), patient);
      await vi.advanceTimersByTimeAsync(60_000);
      open();
      expect((await answer).status).toBe(200);
    });
  });

  test("that can't be created fails with an explanation", async () => {
    vi.stubGlobal('fetch', async () => new Response(null));
    vi.stubGlobal('Worker', function refuse() {
      throw new DOMException('violates the policy', 'SecurityError');
    });
    await expect(createSupervisor().whenRunning()).rejects.toThrow(/violates the policy.*worker-src 'self'/);
  });

  test('that a policy forbids fails with the name of the directive', async () => {
    endpoints.next = () => ({ open: never });
    vi.stubGlobal('fetch', async () => new Response(null));
    const opening = createSupervisor().whenRunning();
    await vi.waitFor(() => expect(workers[0]?.onerror).toBeTypeOf('function'), patient);
    page.dispatchEvent(Object.assign(new Event('securitypolicyviolation'), { effectiveDirective: 'child-src' }));
    workers[0]?.onerror?.({});
    await expect(opening).rejects.toThrow("the page's Content-Security-Policy forbids it by child-src");
  });
});
