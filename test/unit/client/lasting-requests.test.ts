import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { PROTOCOL, type WireResponse } from '../../../src/bridge/wire/wire.ts';
import { LastingRequests } from '../../../src/client/lasting-requests.ts';
import type { Outgoing } from '../../../src/client/outgoing-request.ts';

const base = 'https://app.example/db/';

let page: EventTarget;
let posted: { readonly message: unknown; readonly port: MessagePort | undefined }[];
let controller: ServiceWorker | undefined;
let control: Promise<unknown>;
let closing: AbortController;

const serviceWorker = {
  postMessage: (message: unknown, [port]: MessagePort[]) => void posted.push({ message, port }),
} as unknown as ServiceWorker;

beforeEach(() => {
  page = new EventTarget();
  posted = [];
  controller = serviceWorker;
  control = Promise.resolve();
  closing = new AbortController();
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page));
});

afterEach(() => {
  closing.abort();
  for (const { port } of posted) port?.close();
  vi.unstubAllGlobals();
});

function createRequests(): LastingRequests {
  const whenControlled = () => control;
  return new LastingRequests({ base, serviceWorker: () => controller, whenControlled, signal: closing.signal });
}

function put(body: Outgoing['body'], init: Partial<Outgoing> = {}): Outgoing {
  return { method: 'PUT', url: `${base}n/a`, headers: {}, body, signal: null, redirect: 'follow', ...init };
}

const reply = (response: WireResponse | undefined, index = 0) => posted[index]?.port?.postMessage({ response });
const created: WireResponse = { status: 201, headers: {}, body: '{}' };

describe('a request with keepalive', () => {
  test('is posted to the service worker in the turn of its call, and answered by it', async () => {
    const answer = createRequests().handle(put('{}'));
    const { method, url, headers, body } = put('{}');
    expect(posted.map(({ message }) => message)).toEqual([
      { type: 'SETTEE_LASTING', base, protocol: PROTOCOL, request: { method, url, headers, body } },
    ]);
    reply(undefined);
    reply(created);
    expect(await answer).toEqual(created);
  });

  test.for([
    ['text', 'é'.repeat(32_769)],
    ['bytes', new Uint8Array(65_537)],
    ['a Blob', new Blob([new Uint8Array(65_537)])],
  ] as const)('is refused with %s of more than 64 KiB', async ([, body]) => {
    await expect(createRequests().handle(put(body))).rejects.toThrow(/at most 65536 bytes together/);
    expect(posted).toEqual([]);
  });

  test('is refused with a stream, and what to do instead', async () => {
    const handled = createRequests().handle(put(new ReadableStream()));
    await expect(handled).rejects.toThrow('give text, bytes or a Blob, or leave keepalive away');
    await expect(handled).rejects.toBeInstanceOf(TypeError);
  });

  test('counts with those that are not answered yet', async () => {
    const requests = createRequests();
    const first = requests.handle(put(new Uint8Array(60_000)));
    await expect(requests.handle(put(new Uint8Array(6_000)))).rejects.toThrow('65536 bytes together');
    expect(requests.send(put(new Uint8Array(6_000)))).toBe(false);
    reply(undefined);
    reply(created);
    await first;
    void requests.handle(put(new Uint8Array(6_000)));
    expect(posted).toHaveLength(2);
  });

  test('waits for a service worker that is on its way while the page is shown', async () => {
    controller = undefined;
    let resolve = () => {};
    control = new Promise<void>((done) => (resolve = done));
    const answer = createRequests().handle(put('{}'));
    controller = serviceWorker;
    resolve();
    await vi.waitFor(() => expect(posted).toHaveLength(1));
    reply(undefined);
    reply(created);
    expect(await answer).toEqual(created);
  });

  test.for([
    ['there is none', () => Promise.resolve(false)],
    ['it could not be started', () => Promise.reject(new Error('missing'))],
  ] as const)('is refused with the remedy where %s', async ([, controlled]) => {
    controller = undefined;
    control = controlled();
    control.catch(() => {});
    await expect(createRequests().handle(put('{}'))).rejects.toThrow('wait for settee.controlled to be true first');
    expect(createRequests().send(put('{}'))).toBe(false);
  });

  test('is refused at once where the page is left before there is one', async () => {
    controller = undefined;
    control = new Promise(() => {});
    const requests = createRequests();
    page.dispatchEvent(new Event('pagehide'));
    await expect(requests.handle(put('{}'))).rejects.toBeInstanceOf(TypeError);
  });

  test('asks for no answer while the page is left; one that is shown again is told to look', async () => {
    const requests = createRequests();
    const before = requests.handle(put('{"n":1}'));
    page.dispatchEvent(new Event('pagehide'));
    const after = requests.handle(put('{"n":2}'));
    expect(posted.map(({ port }) => port !== undefined)).toEqual([true, false]);
    page.dispatchEvent(new Event('pageshow'));
    for (const answer of [before, after]) {
      expect(await answer).toMatchObject({ status: 503, body: expect.stringContaining('read before you write again') });
    }
    void requests.handle(put('{"n":3}'));
    expect(posted.at(-1)?.port).toBeDefined();
  });

  test('is not waited for in a service worker that says nothing', async () => {
    vi.useFakeTimers();
    try {
      const answer = createRequests().handle(put('{}'));
      await vi.advanceTimersByTimeAsync(11_000);
      expect(await answer).toMatchObject({ status: 503, body: expect.stringContaining('does not answer') });
    } finally {
      vi.useRealTimers();
    }
  });

  test('whose signal has fired already is not posted', async () => {
    const reason = new Error('no more');
    await expect(createRequests().handle(put('{}', { signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
    expect(posted).toEqual([]);
  });
});
