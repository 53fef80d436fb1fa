import { afterEach, beforeEach, describe, expect, type Mock, test, vi } from 'vitest';
import { PROTOCOL, type WireResponse } from '../../../../src/browser/bridge/wire.ts';
import { KeepaliveRequests } from '../../../../src/browser/client/keepalive-requests.ts';
import { patient } from '../../../support/patience.ts';

const base = 'https://app.example/db/';

let page: EventTarget;
let posted: { readonly message: unknown; readonly port: MessagePort | undefined }[];
let controller: ServiceWorker | undefined;
let control: Promise<unknown>;
let closing: AbortController;
let network: Mock<(input: Request | URL | string, init?: RequestInit) => Promise<Response>>;

const serviceWorker = {
  postMessage: (message: unknown, [port]: MessagePort[]) => void posted.push({ message, port }),
} as unknown as ServiceWorker;

beforeEach(() => {
  page = new EventTarget();
  posted = [];
  controller = serviceWorker;
  control = Promise.resolve();
  network = vi.fn(async () => new Response('by the network'));
  closing = new AbortController();
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page));
});

afterEach(() => {
  closing.abort();
  for (const { port } of posted) port?.close();
  vi.unstubAllGlobals();
});

function createRequests(isBypassed = true): KeepaliveRequests {
  return new KeepaliveRequests({
    base,
    isBypassed,
    network,
    serviceWorker: () => controller,
    whenControlled: () => control,
    respond: (_, { status, body }) => new Response(body as string | null, { status }),
    signal: closing.signal,
  });
}

const url = `${base}n/a`;

function put(requests: KeepaliveRequests, body: BodyInit | null, init: RequestInit = {}): Promise<Response> {
  return requests.fetch(url, url, { method: 'PUT', body, keepalive: true, ...init });
}

const statusOf = async (answer: Promise<Response>) => (await answer).status;

const reply = (response: WireResponse | undefined, index = 0) => posted[index]?.port?.postMessage({ response });
const created: WireResponse = { status: 201, headers: {}, body: '{}' };

describe('a request with keepalive', () => {
  test('is posted to the service worker in the turn of its call, and answered by it', async () => {
    const answer = put(createRequests(), '{}');
    const headers = { accept: '*/*', 'content-type': 'text/plain;charset=UTF-8' };
    expect(posted.map(({ message }) => message)).toEqual([
      { type: 'SETTEE_LASTING', base, protocol: PROTOCOL, request: { method: 'PUT', url, headers, body: '{}' } },
    ]);
    reply(undefined);
    reply(created);
    expect(await statusOf(answer)).toBe(201);
  });

  test.for([
    ['text', 'é'.repeat(32_769)],
    ['bytes', new Uint8Array(65_537)],
    ['a Blob', new Blob([new Uint8Array(65_537)])],
  ] as const)('is refused with %s of more than 64 KiB', async ([, body]) => {
    await expect(put(createRequests(), body)).rejects.toThrow(/at most 65536 bytes together/);
    expect(posted).toEqual([]);
  });

  test('is refused with a stream, and the error says what to do instead', async () => {
    const handled = put(createRequests(), new ReadableStream());
    await expect(handled).rejects.toThrow('pass text, bytes or a Blob, or omit keepalive');
    await expect(handled).rejects.toBeInstanceOf(TypeError);
  });

  test('counts its bytes with those of unanswered ones', async () => {
    const requests = createRequests();
    const first = put(requests, new Uint8Array(60_000));
    await expect(put(requests, new Uint8Array(6_000))).rejects.toThrow('65536 bytes together');
    expect(requests.sendBeacon(`${base}n`, new Uint8Array(6_000))).toBe(false);
    reply(undefined);
    reply(created);
    await first;
    void put(requests, new Uint8Array(6_000));
    expect(posted).toHaveLength(2);
  });

  test('waits for a service worker that is being registered while the page is shown', async () => {
    controller = undefined;
    let resolve = () => {};
    control = new Promise<void>((done) => (resolve = done));
    const answer = put(createRequests(), '{}');
    controller = serviceWorker;
    resolve();
    await vi.waitFor(() => expect(posted).toHaveLength(1), patient);
    reply(undefined);
    reply(created);
    expect(await statusOf(answer)).toBe(201);
  });

  test.for([
    ['there is none', () => Promise.resolve(false)],
    ['it could not be started', () => Promise.reject(new Error('missing'))],
  ] as const)('is refused with the remedy if %s', async ([, controlled]) => {
    controller = undefined;
    control = controlled();
    control.catch(() => {});
    await expect(put(createRequests(), '{}')).rejects.toThrow('first wait until settee.controlled');
    expect(createRequests().sendBeacon(`${base}n`, '{}')).toBe(false);
  });

  test('is refused at once if the page is left before there is a service worker', async () => {
    controller = undefined;
    control = new Promise(() => {});
    const requests = createRequests();
    page.dispatchEvent(new Event('pagehide'));
    await expect(put(requests, '{}')).rejects.toBeInstanceOf(TypeError);
  });

  test('needs no answer while the page is left, and on a page shown again fails with the advice to check', async () => {
    const held = vi.fn();
    vi.stubGlobal(
      'XMLHttpRequest',
      class {
        open = held;
        send(): void {}
      },
    );
    const requests = createRequests();
    const before = put(requests, '{"n":1}');
    page.dispatchEvent(new Event('pagehide'));
    const after = put(requests, '{"n":2}');
    expect(posted.map(({ port }) => port !== undefined)).toEqual([true, false]);
    // Each holds the page up until the service worker says something.
    const sign = ['GET', `${base}_settee/alive`, false];
    expect(held.mock.calls).toEqual([sign, sign]);
    page.dispatchEvent(new Event('pageshow'));
    for (const answer of [before, after]) {
      expect(await statusOf(answer)).toBe(503);
    }
    void put(requests, '{"n":3}');
    expect(posted.at(-1)?.port).toBeDefined();
  });

  test("is refused if the service worker doesn't respond", async () => {
    vi.useFakeTimers();
    try {
      const answer = put(createRequests(), '{}');
      await vi.advanceTimersByTimeAsync(11_000);
      expect(await (await answer).text()).toContain('does not answer');
    } finally {
      vi.useRealTimers();
    }
  });

  test('with an aborted signal is not posted', async () => {
    const reason = new Error('no more');
    await expect(put(createRequests(), '{}', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(posted).toEqual([]);
  });

  test("is refused as a Request with a body, which can't be read synchronously", async () => {
    const request = new Request(url, { method: 'PUT', body: '{}', keepalive: true });
    await expect(createRequests().fetch(url, request)).rejects.toThrow('pass fetch the address');
    expect(posted).toEqual([]);
  });
});

describe('if a plain request with keepalive reaches the service worker', () => {
  test('it is sent in the turn of the call, whatever its body', async () => {
    const requests = createRequests(false);
    const answer = put(requests, '{}');
    const request = new Request(url, { method: 'PUT', body: '{}' });
    const another = requests.fetch(url, request);
    expect(network.mock.calls).toEqual([
      [url, { method: 'PUT', body: '{}', keepalive: true }],
      [request, { keepalive: true }],
    ]);
    expect(await (await answer).text()).toBe('by the network');
    await another;
    expect(posted).toEqual([]);
    expect(requests.sendBeacon(`${base}n`, '{}')).toBeUndefined();
  });

  test('it is still refused without a service worker, and the web server gets nothing', async () => {
    controller = undefined;
    const requests = createRequests(false);
    await expect(put(requests, '{}')).rejects.toThrow('omit keepalive');
    await expect(put(requests, 'x'.repeat(65_537))).rejects.toThrow('65536 bytes together');
    await expect(put(requests, new ReadableStream())).rejects.toThrow('no stream');
    expect(requests.sendBeacon(`${base}n`, '{}')).toBe(false);
    expect(network).not.toHaveBeenCalled();
  });
});
