import { expose } from 'comlink';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Settee, StartOptions } from '../../../../src/browser/client/contract.ts';
import { start } from '../../../../src/browser/client/index.ts';
import { servePageCalls } from '../../../../src/browser/worker/page-calls.ts';
import { patient } from '../../../support/patience.ts';

/** Several parts of a page start the database of one base, and close it, in any order. */

let workers: FakeWorker[] = [];
let open: () => Promise<void>;
let given: Promise<Settee>[] = [];

/** Answers everything with 200. */
class FakeWorker extends EventTarget {
  onerror: unknown = null;
  isTerminated = false;
  readonly #near: MessagePort;
  readonly #far: MessagePort;

  constructor() {
    super();
    const { port1, port2 } = new MessageChannel();
    this.#near = port1;
    this.#far = port2;
    const handle = async () => ({ status: 200, headers: {}, body: 'answered' });
    const endpoint = { open: () => open(), handle, abort: () => {}, status: async () => ({}), close: async () => {} };
    expose(endpoint, port2);
    servePageCalls(port2, endpoint);
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

beforeEach(() => {
  workers = [];
  open = async () => {};
  given = [];
  vi.stubGlobal('Worker', FakeWorker);
  vi.stubGlobal('document', { baseURI: 'https://app.example/page' });
  vi.stubGlobal('addEventListener', () => {});
  vi.stubGlobal('navigator', { userAgent: '' });
});

afterEach(async () => {
  for (const settee of await Promise.allSettled(given)) if (settee.status === 'fulfilled') await settee.value.close();
  vi.unstubAllGlobals();
});

function startIt(options: Partial<StartOptions> = {}): Promise<Settee> {
  const starting = start({ base: '/db/', serviceWorker: false, ...options });
  given.push(starting);
  return starting;
}

const answerOf = async ({ fetch }: Pick<Settee, 'fetch'>) => (await fetch('https://app.example/db/notes')).text();

describe('calls of start for one base', () => {
  test('share one worker, which ends when the last one is closed', async () => {
    const [one, other] = [await startIt(), await startIt()];
    expect(one).not.toBe(other);
    await one.close();
    expect(await answerOf(other)).toBe('answered');
    expect(workers.map(({ isTerminated }) => isTerminated)).toEqual([false]);
    await other.close();
    expect(workers.map(({ isTerminated }) => isTerminated)).toEqual([true]);
  });

  test('end by their own close only: a closed one refuses requests, while others continue', async () => {
    const [one, other] = [await startIt(), await startIt()];
    await one.close();
    const { fetch } = one;
    await expect(fetch('https://app.example/db/notes')).rejects.toMatchObject({ name: 'InvalidStateError' });
    await expect(one.status()).rejects.toMatchObject({ name: 'InvalidStateError' });
    expect(await answerOf(other)).toBe('answered');
  });

  test('closed twice count once', async () => {
    const [one, other] = [await startIt(), await startIt()];
    await Promise.all([one.close(), one.close()]);
    await one.close();
    expect(await answerOf(other)).toBe('answered');
  });

  test("as made by React's StrictMode: the clean-up of the first leaves the second running", async () => {
    const effect = () => {
      const starting = startIt();
      return () => starting.then((settee) => settee.close());
    };
    const cleanUp = effect();
    const closing = cleanUp();
    const second = startIt();
    await closing;
    expect(await answerOf(await second)).toBe('answered');
  });

  test('closed while another one is starting leave it the worker', async () => {
    let opened = () => {};
    open = () => new Promise((resolve) => (opened = resolve));
    const [first, second] = [startIt(), startIt()];
    void first.then((settee) => settee.close());
    await vi.waitFor(() => expect(workers).toHaveLength(1), patient);
    await new Promise((resolve) => setTimeout(resolve));
    opened();
    await (await first).close();
    expect(await answerOf(await second)).toBe('answered');
  });

  test('after the last one was closed start another worker, also while the first is ending', async () => {
    const one = await startIt();
    const closing = one.close();
    const other = await startIt();
    await closing;
    expect(workers).toHaveLength(2);
    expect(await answerOf(other)).toBe('answered');
  });

  test('all fail if the worker fails, and the next one tries again', async () => {
    open = () => Promise.reject(new Error('no storage here'));
    const failed = [startIt(), startIt()];
    for (const each of failed) await expect(each).rejects.toThrow('no storage here');
    open = async () => {};
    expect(await answerOf(await startIt())).toBe('answered');
  });
});

describe('a later call', () => {
  test.for([
    [{ settings: { svc: { max_document_size: '1000' } } }, 'settings'],
    [{ worker: '/elsewhere/settee-worker.js' }, 'worker'],
    [{ serviceWorker: '/sw.js' }, 'serviceWorker'],
    [{ logLevel: 'debug' }, 'logLevel'],
  ] as const)('with another option is refused, and the option named: %j', async ([options, name]) => {
    const one = await startIt();
    await expect(startIt(options)).rejects.toThrow(`another value of the option ${name}`);
    expect(await answerOf(one)).toBe('answered');
    await one.close();
    vi.stubGlobal('navigator', { userAgent: '' });
    await expect(startIt(options)).resolves.toBeDefined();
  });

  test('can repeat or omit the options', async () => {
    const options = { settings: { svc: { max_document_size: '1000' } }, worker: '/settee-worker.js' };
    await startIt(options);
    await startIt(options);
    await startIt();
    expect(workers).toHaveLength(1);
  });

  test("has its own replaceFetch: the page's fetch is restored when the last call with it is closed", async () => {
    const network = vi.fn(async () => new Response('from the network'));
    vi.stubGlobal('fetch', network);
    const plain = await startIt();
    expect(globalThis.fetch).toBe(network);
    const [one, other] = [await startIt({ replaceFetch: true }), await startIt({ replaceFetch: true })];
    await one.close();
    expect(await answerOf(globalThis)).toBe('answered');
    await other.close();
    expect(globalThis.fetch).toBe(network);
    expect(await answerOf(plain)).toBe('answered');
  });
});
