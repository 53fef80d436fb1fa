import { expose } from 'comlink';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { WorkerOptions } from '../../../../src/browser/bridge/contract.ts';
import type { WireRequest, WireResponse } from '../../../../src/browser/bridge/wire.ts';
import type { Outgoing } from '../../../../src/browser/client/outgoing-request.ts';
import { WorkerSupervisor } from '../../../../src/browser/client/worker-supervisor.ts';
import { servePageCalls } from '../../../../src/browser/worker/page-calls.ts';
import { patient } from '../../../support/patience.ts';

const base = 'https://app.example/db/';
const script = new URL('https://app.example/settee-worker.js');

/** The worker's side, as a test wants it. */
interface FakeEndpoint {
  open(options: WorkerOptions): Promise<void>;
  handle(request: WireRequest, call?: number): Promise<WireResponse>;
  abort(call: number): void;
  status(): Promise<unknown>;
  close(): Promise<void>;
}

let nextEndpoint: () => Partial<FakeEndpoint>;
let workers: FakeWorker[] = [];
let page: EventTarget;
const supervisors: Pick<WorkerSupervisor, 'close'>[] = [];

/** A worker as a page sees it: messages, an error event, and an end without notice. */
class FakeWorker extends EventTarget {
  onerror: ((event: { message?: string }) => void) | null = null;
  isTerminated = false;
  readonly #near: MessagePort;
  readonly #far: MessagePort;

  constructor() {
    super();
    const { port1, port2 } = new MessageChannel();
    this.#near = port1;
    this.#far = port2;
    const endpoint: FakeEndpoint = {
      open: async () => {},
      handle: never,
      abort: () => {},
      status: never,
      close: async () => {},
    };
    const offered = { ...endpoint, ...nextEndpoint() };
    expose(offered, port2);
    servePageCalls(port2, offered);
    port1.onmessage = ({ data }) => this.dispatchEvent(new MessageEvent('message', { data }));
    workers.push(this);
  }

  set onmessage(listener: EventListener) {
    this.addEventListener('message', listener);
  }

  postMessage(message: unknown, transfer: Transferable[]): void {
    this.#near.postMessage(message, transfer);
  }

  terminate(): void {
    this.isTerminated = true;
    this.#near.close();
    this.#far.close();
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}

async function echo({ method, url }: WireRequest): Promise<WireResponse> {
  return { status: 200, headers: {}, body: `${method} ${url}` };
}

function outgoing(init: Partial<Outgoing> = {}): Outgoing {
  return { method: 'GET', url: `${base}n/a`, headers: {}, body: null, signal: null, redirect: 'follow', ...init };
}

function createSupervisor(onLoss = () => {}, onOutdated = () => {}, onCleared = () => {}): WorkerSupervisor {
  const supervisor = new WorkerSupervisor(script, { base, protocol: 1 }, { onLoss, onOutdated, onCleared });
  supervisors.push(supervisor);
  return supervisor;
}

beforeEach(() => {
  workers = [];
  page = new EventTarget();
  nextEndpoint = () => ({ handle: echo });
  vi.stubGlobal('Worker', FakeWorker);
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page));
});

afterEach(async () => {
  for (const supervisor of supervisors.splice(0)) await supervisor.close();
  vi.unstubAllGlobals();
});

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
    nextEndpoint = () => ({ open, handle: echo });
    const supervisor = createSupervisor();
    const answers = await Promise.all([supervisor.handle(outgoing()), supervisor.handle(outgoing({ method: 'HEAD' }))]);
    expect(answers.map(({ body }) => body)).toEqual([`GET ${base}n/a`, `HEAD ${base}n/a`]);
    expect(open.mock.calls).toEqual([[{ base, protocol: 1 }]]);
    expect(workers).toHaveLength(1);
  });

  test("that reports why it can't open is ended, the reason is quoted, and the next call starts another", async () => {
    nextEndpoint = () => ({ open: () => Promise.reject(new Error('There is no IndexedDB')) });
    const supervisor = createSupervisor();
    await expect(supervisor.whenRunning()).rejects.toThrow('There is no IndexedDB');
    expect(workers[0]?.isTerminated).toBe(true);
    const { status, body } = await supervisor.handle(outgoing({ method: 'PUT' }));
    expect(status).toBe(503);
    expect(JSON.parse(String(body))).toEqual({
      error: 'service_unavailable',
      reason: expect.stringContaining('There is no IndexedDB'),
    });
    nextEndpoint = () => ({ handle: echo });
    expect((await supervisor.handle(outgoing())).status).toBe(200);
    expect(workers).toHaveLength(3);
  });

  test.for([
    ['is not there', new Response(null, { status: 404 }), '404'],
    ['is a page', new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } }), 'text/html'],
  ] as const)('whose script %s fails with an explanation', async ([, found, reason]) => {
    nextEndpoint = () => ({ open: never });
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
      nextEndpoint = () => ({ open: never });
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
      nextEndpoint = () => ({ open: () => begun, status: () => begun.then(() => ({})), handle: echo });
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
      nextEndpoint = () => ({ open: () => begun, handle: echo });
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
      nextEndpoint = () => ({ open: () => opened, status, handle: echo });
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
    nextEndpoint = () => ({ open: never });
    vi.stubGlobal('fetch', async () => new Response(null));
    const opening = createSupervisor().whenRunning();
    await vi.waitFor(() => expect(workers[0]?.onerror).toBeTypeOf('function'), patient);
    page.dispatchEvent(Object.assign(new Event('securitypolicyviolation'), { effectiveDirective: 'child-src' }));
    workers[0]?.onerror?.({});
    await expect(opening).rejects.toThrow("the page's Content-Security-Policy forbids it by child-src");
  });
});

describe('a call', () => {
  test("that the worker can't carry out rejects with a TypeError", async () => {
    nextEndpoint = () => ({ handle: () => Promise.reject(new Error('the stream broke')) });
    const failure = await createSupervisor()
      .handle(outgoing())
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TypeError);
    expect(String(failure)).toContain('the stream broke');
  });

  test('that is aborted rejects at once, and is aborted in the worker', async () => {
    const abort = vi.fn();
    const handle = vi.fn((_request: WireRequest, _call?: number) => never());
    nextEndpoint = () => ({ handle, abort });
    const controller = new AbortController();
    const answer = createSupervisor().handle(outgoing({ signal: controller.signal }));
    await vi.waitFor(() => expect(handle).toHaveBeenCalled(), patient);
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(answer).rejects.toBe(reason);
    await vi.waitFor(() => expect(abort).toHaveBeenCalledTimes(1), patient);
    expect(abort.mock.calls[0]?.[0]).toBe(handle.mock.calls[0]?.[1]);
  });

  test('that was aborted before does not wait for a worker', async () => {
    nextEndpoint = () => ({ open: never });
    await expect(createSupervisor().handle(outgoing({ signal: AbortSignal.abort('no') }))).rejects.toBe('no');
    expect(workers).toEqual([]);
  });

  test('that was aborted before is never sent', async () => {
    const handle = vi.fn(echo);
    nextEndpoint = () => ({ handle });
    const supervisor = createSupervisor();
    await expect(supervisor.handle(outgoing({ signal: AbortSignal.abort('no') }))).rejects.toBe('no');
    await supervisor.handle(outgoing());
    expect(handle).toHaveBeenCalledTimes(1);
  });
});

describe('closing the supervisor', () => {
  test('happens after the requests of the same turn', async () => {
    const steps: string[] = [];
    nextEndpoint = () => ({
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
    nextEndpoint = () => ({ handle: echo, close: () => (++calls === 1 ? closed : Promise.resolve()) });
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
    nextEndpoint = () => ({ handle, status: () => (isStuck ? never() : Promise.resolve({})) });
    const supervisor = createSupervisor();
    const read = supervisor.handle(outgoing());
    const write = supervisor.handle(outgoing({ method: 'PUT', body: '{}' }));
    await vi.waitFor(() => expect(handle).toHaveBeenCalledTimes(2), patient);
    isStuck = true;
    nextEndpoint = () => ({ handle: echo });
    await vi.advanceTimersByTimeAsync(24_000);
    expect(workers).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(workers.map(({ isTerminated }) => isTerminated)).toEqual([true, false]);
    expect((await read).body).toBe(`GET ${base}n/a`);
    expect((await write).status).toBe(503);
  });

  test('is replaced when the data of the site are cleared: reads are repeated, writes have an unknown outcome, and bodies break off', async () => {
    const handle = vi.fn(never);
    nextEndpoint = () => ({ handle, status: async () => ({}) });
    const onLoss = vi.fn();
    const onCleared = vi.fn();
    const supervisor = createSupervisor(onLoss, () => {}, onCleared);
    const read = supervisor.handle(outgoing());
    const write = supervisor.handle(outgoing({ method: 'PUT', body: '{}' }));
    await vi.waitFor(() => expect(handle).toHaveBeenCalledTimes(2), patient);
    nextEndpoint = () => ({ handle: echo });
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
    nextEndpoint = () => ({ handle, status: async () => ({}) });
    createSupervisor()
      .handle(outgoing())
      .catch(() => undefined);
    await vi.waitFor(() => expect(handle).toHaveBeenCalledTimes(1), patient);
    for (let second = 0; second < 600; second++) await vi.advanceTimersByTimeAsync(1_000);
    expect(workers.map(({ isTerminated }) => isTerminated)).toEqual([false]);
  });
});

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
    nextEndpoint = () => ({ handle });
    const supervisor = createSupervisor();
    const read = supervisor.handle(outgoing());
    const query = supervisor.handle(outgoing({ method: 'POST', url: `${base}n/_all_docs`, body: '{"keys":[]}' }));
    const write = supervisor.handle(outgoing({ method: 'PUT', body: '{}' }));
    await vi.waitFor(() => expect(handle).toHaveBeenCalledTimes(3), patient);
    nextEndpoint = () => ({ handle: echo });
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
    nextEndpoint = () => ({ open: never });
    const supervisor = createSupervisor();
    const opening = supervisor.whenRunning();
    await vi.waitFor(() => expect(workers).toHaveLength(1), patient);
    page.dispatchEvent(new Event('pagehide'));
    const later = supervisor.handle(outgoing());
    nextEndpoint = () => ({ handle: echo });
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

describe('closing', () => {
  test('lets the worker finish, ends it, and refuses what comes later', async () => {
    const steps: string[] = [];
    nextEndpoint = () => ({
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
