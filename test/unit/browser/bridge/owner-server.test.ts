import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ByteStream, PlainRequest, PlainResponse } from '../../../../src/base/shared/message.ts';
import type { Instance } from '../../../../src/browser/bridge/contract.ts';
import { createInstance } from '../../../../src/browser/bridge/instance.ts';
import { createLink } from '../../../../src/browser/bridge/link/owner-link.ts';
import { createOwnerServer, type OwnerServer } from '../../../../src/browser/bridge/link/owner-server.ts';
import { ChannelPipes } from '../../../../src/browser/bridge/stream-transports.ts';
import { type FromOwner, PROTOCOL, type ToOwner, type WireRequest } from '../../../../src/browser/bridge/wire.ts';
import { FakeLocks } from '../../../support/fake-locks.ts';
import { patient } from '../../../support/patience.ts';

const OWNER = 'owner-id';
const SENDER = 'sender-id';

let instance: Instance;
let toOwner: BroadcastChannel;
let inbox: BroadcastChannel;
let heard: FromOwner[];
let channel: OwnerServer | undefined;

beforeEach(() => {
  instance = createInstance(`/${crypto.randomUUID()}/`, 'https://app.example');
  toOwner = new BroadcastChannel(`${instance.name}|${OWNER}`);
  inbox = new BroadcastChannel(`${instance.name}|${SENDER}`);
  heard = [];
  inbox.onmessage = ({ data }) => heard.push(data);
});

afterEach(() => {
  channel?.leave();
  channel?.close();
  toOwner.close();
  inbox.close();
  vi.useRealTimers();
});

const GET: WireRequest = { method: 'GET', url: 'https://app.example/db/a', headers: {}, body: null };
const OK: PlainResponse = { status: 200, headers: { 'x-test': 'yes' }, body: '{"ok":true}\n' };

function serve(handle: (request: PlainRequest) => Promise<PlainResponse | undefined>, keepAlive?: () => void): void {
  channel = createOwnerServer({ instance, ownerId: OWNER, handle, keepAlive });
}

function send(message: Partial<ToOwner>): void {
  toOwner.postMessage({ protocol: PROTOCOL, from: SENDER, ...message });
}

function ask(id: number, request: Partial<WireRequest> = {}, carrier: 'tab' | 'service-worker' = 'tab'): void {
  send({ kind: 'request', id, request: { ...GET, ...request }, carrier });
}

const hears = (count: number) => vi.waitFor(() => expect(heard.length).toBeGreaterThanOrEqual(count), patient);
const envelope = { protocol: PROTOCOL, from: OWNER };

/** Settles when told to. */
function gate(): { readonly passed: Promise<void>; open(): void } {
  let open = () => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}

function streamOf(chunks: readonly string[], log: string[] = []): ByteStream {
  let at = 0;
  return {
    pull: async () => {
      const chunk = chunks[at++];
      return chunk === undefined ? undefined : new TextEncoder().encode(chunk);
    },
    cancel: async (reason) => {
      log.push(String(reason));
    },
  };
}

describe('requests', () => {
  it('are answered on the channel of the link that sent them', async () => {
    const requests: PlainRequest[] = [];
    serve(async (request) => {
      requests.push(request);
      return OK;
    });
    ask(7, { method: 'PUT', headers: { accept: 'application/json' }, body: '{"n":1}' });
    await hears(1);
    expect(heard).toEqual([{ ...envelope, kind: 'answer', id: 7, response: OK }]);
    expect(requests[0]).toMatchObject({ method: 'PUT', url: GET.url, headers: { accept: 'application/json' } });
    expect(requests[0]?.body).toBe('{"n":1}');
  });

  it('of another protocol version are refused unread', async () => {
    const handle = vi.fn();
    serve(handle);
    send({ protocol: PROTOCOL + 1, kind: 'request', id: 1, request: GET, carrier: 'tab' });
    await hears(1);
    expect(heard).toEqual([{ ...envelope, kind: 'refused', id: 1, why: 'protocol' }]);
    expect(handle).not.toHaveBeenCalled();
  });

  it('are refused while the owner leaves, and those in progress are answered', async () => {
    const { passed, open } = gate();
    serve(async () => {
      await passed;
      return OK;
    });
    ask(1);
    send({ kind: 'ping' });
    await hears(1);
    channel?.refuse();
    ask(2);
    await hears(2);
    expect(heard[1]).toEqual({ ...envelope, kind: 'refused', id: 2, why: 'leaving' });
    const answered = channel?.answered();
    open();
    await answered;
    await hears(3);
    expect(heard[2]).toMatchObject({ kind: 'answer', id: 1 });
  });

  it('that the owner did not begin are returned', async () => {
    serve(async () => undefined);
    ask(1);
    await hears(1);
    expect(heard).toEqual([{ ...envelope, kind: 'refused', id: 1, why: 'leaving' }]);
  });

  it('can be aborted', async () => {
    let signal: AbortSignal | undefined;
    serve(async (request) => {
      signal = request.signal;
      return new Promise(() => {});
    });
    ask(1);
    ask(2);
    await vi.waitFor(() => expect(signal).toBeDefined(), patient);
    send({ kind: 'abort', id: 2 });
    await vi.waitFor(() => expect(signal?.aborted).toBe(true), patient);
  });

  it('whose reader is gone release the body of their response', async () => {
    const log: string[] = [];
    const { passed, open } = gate();
    serve(async () => {
      await passed;
      return { ...OK, body: streamOf(['a'], log) };
    });
    ask(1);
    send({ kind: 'abort', id: 1 });
    send({ kind: 'ping' });
    await hears(1);
    open();
    await vi.waitFor(() => expect(log).toHaveLength(1), patient);
    expect(heard.map(({ kind }) => kind)).toEqual(['pong']);
  });

  it('whose response fails before it is sent get 503', async () => {
    const short: ByteStream = { length: 10, pull: async () => undefined, cancel: async () => {} };
    serve(async () => ({ ...OK, body: short }));
    ask(1);
    await hears(1);
    expect(heard[0]).toMatchObject({ kind: 'answer', id: 1, response: { status: 503 } });
  });
});

describe('pings', () => {
  it('are answered while a request is in progress, whatever the protocol version', async () => {
    serve(() => new Promise(() => {}));
    ask(1);
    send({ kind: 'ping' });
    send({ protocol: PROTOCOL + 1, kind: 'ping' });
    await hears(2);
    expect(heard).toEqual([
      { ...envelope, kind: 'pong' },
      { ...envelope, kind: 'pong' },
    ]);
  });

  it('are answered with the requests that never arrived', async () => {
    serve(() => new Promise(() => {}));
    ask(1);
    send({ kind: 'ping', pending: [1, 2] });
    await hears(1);
    expect(heard).toEqual([{ ...envelope, kind: 'pong', unknown: [2] }]);
  });
});

describe('a link that sent its request before the owner listened', () => {
  it('sends it again when the owner says that it never arrived, even a write, and it is carried out once', async () => {
    const table = new FakeLocks();
    const owner = table.client();
    const forEver = new Promise<never>(() => {});
    void owner.request(`${instance.name}|owner`, () => forEver);
    void owner.request(`${instance.name}|alive|${OWNER}`, () => forEver);
    const link = createLink({ instance, carrier: 'tab', locks: table.client() });
    const answer = link.handle({ ...GET, method: 'PUT', body: '{}' });
    await new Promise((resolve) => setTimeout(resolve, 50));
    const handle = vi.fn(async () => OK);
    serve(handle);
    expect(await answer).toEqual(OK);
    expect(handle).toHaveBeenCalledTimes(1);
    link.close();
  });
});

describe('streams', () => {
  /** The sender's side of bodies. */
  function pipes(): ChannelPipes {
    const made = new ChannelPipes((_peer, stream, step) => send({ kind: 'body', stream, step }));
    inbox.onmessage = ({ data }: MessageEvent<FromOwner>) => {
      if (data.kind === 'body') made.deliver(OWNER, data.stream, data.step);
      else heard.push(data);
    };
    return made;
  }

  async function openAnswer(made: ChannelPipes): Promise<ByteStream> {
    await hears(1);
    const [answer] = heard;
    if (answer?.kind !== 'answer') throw new Error('no answer came');
    const { body } = answer.response;
    if (body === null || typeof body !== 'object' || !('stream' in body)) throw new Error('its body is no stream');
    return made.transportFor(OWNER).open(body.stream, body.length);
  }

  it('are sent with requests and with responses', async () => {
    const made = pipes();
    serve(async ({ body }) => ({ ...OK, body: body as ByteStream }));
    ask(1, { body: { stream: made.transportFor(OWNER).offer(streamOf(['abc', 'def'])) } });
    const answer = await openAnswer(made);
    const decoder = new TextDecoder();
    let text = '';
    for (let chunk = await answer.pull(); chunk !== undefined; chunk = await answer.pull())
      text += decoder.decode(chunk);
    expect(text).toBe('abcdef');
  });

  it('fail when the owner leaves', async () => {
    const made = pipes();
    const log: string[] = [];
    serve(async () => ({ ...OK, body: { ...streamOf([], log), pull: () => new Promise(() => {}) } }));
    ask(1);
    const answer = await openAnswer(made);
    const read = answer.pull();
    await new Promise((resolve) => setTimeout(resolve, 20));
    channel?.leave();
    await expect(read).rejects.toThrow();
    expect(log).toHaveLength(1);
  });
});

describe('an owner that has left', () => {
  it('answers no more requests, but refuses those that arrive late', async () => {
    const { passed, open } = gate();
    serve(async () => {
      await passed;
      return OK;
    });
    ask(1);
    send({ kind: 'ping' });
    await hears(1);
    channel?.leave();
    open();
    ask(2);
    await hears(2);
    expect(heard.map((message) => message.kind)).toEqual(['pong', 'refused']);
  });

  it("doesn't report a request that it aborted as never received", async () => {
    serve(() => new Promise(() => {}));
    ask(1);
    send({ kind: 'ping', pending: [1] });
    await hears(1);
    channel?.leave();
    send({ kind: 'ping', pending: [1] });
    ask(2);
    await vi.waitFor(() => expect(heard.at(-1)?.kind).toBe('refused'), patient);
    expect(heard.filter((message) => 'unknown' in message)).toEqual([]);
  });
});

describe('a service worker', () => {
  it('is kept alive every 10 s exactly while a request or a body of it is open', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const keepAlive = vi.fn();
    const { passed, open } = gate();
    const log: string[] = [];
    let body: ByteStream | undefined;
    serve(async () => {
      await passed;
      body = streamOf(['a'], log);
      return { ...OK, body };
    }, keepAlive);
    ask(1, {}, 'service-worker');
    send({ kind: 'ping' });
    await vi.waitFor(() => expect(heard).toHaveLength(1), { ...patient, interval: 0 });
    vi.advanceTimersByTime(25_000);
    expect(keepAlive).toHaveBeenCalledTimes(2);
    open();
    await vi.waitFor(() => expect(heard).toHaveLength(2), { ...patient, interval: 0 });
    const [, answer] = heard;
    if (answer?.kind !== 'answer' || answer.response.body === null || typeof answer.response.body !== 'object') {
      throw new Error('no stream came');
    }
    vi.advanceTimersByTime(10_000);
    const whileOpen = keepAlive.mock.calls.length;
    expect(whileOpen).toBeGreaterThanOrEqual(3);
    const stream = 'stream' in answer.response.body ? String(answer.response.body.stream) : '';
    send({ kind: 'body', stream, step: { step: 'cancel', reason: 'seen enough' } });
    await vi.waitFor(() => expect(log).toEqual(['seen enough']), { ...patient, interval: 0 });
    vi.advanceTimersByTime(60_000);
    expect(keepAlive).toHaveBeenCalledTimes(whileOpen);
  });

  it('is not kept alive in a tab', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const keepAlive = vi.fn();
    serve(() => new Promise(() => {}), keepAlive);
    ask(1);
    send({ kind: 'ping' });
    await vi.waitFor(() => expect(heard).toHaveLength(1), { ...patient, interval: 0 });
    vi.advanceTimersByTime(60_000);
    expect(keepAlive).not.toHaveBeenCalled();
  });
});
