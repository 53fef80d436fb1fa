/** A link and an owner that have a port beside their channels. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ByteStream, PlainRequest, PlainResponse } from '../../../../src/base/shared/message.ts';
import type { OwnerLink } from '../../../../src/browser/bridge/contract.ts';
import { aliveLock, channelName, ownerLock } from '../../../../src/browser/bridge/instance.ts';
import { createLink } from '../../../../src/browser/bridge/link/owner-link.ts';
import { createOwnerServer, type OwnerServer } from '../../../../src/browser/bridge/link/owner-server.ts';
import type { ParticipantKind, PortOffer, ToOwner } from '../../../../src/browser/bridge/wire.ts';
import { type FakeLockClient, FakeLocks } from '../../../support/fake-locks.ts';
import { bytes, messagesArrived, newInstance, readAll, reasonOf, sourceOf, streamOf, until } from './support.ts';

let table = new FakeLocks();
let instance = newInstance();
let ends: (() => void)[] = [];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
  table = new FakeLocks();
  instance = newInstance();
});

afterEach(() => {
  for (const end of ends) end();
  ends = [];
  vi.useRealTimers();
});

interface Offered {
  readonly offer: PortOffer;
  readonly port: MessagePort;
}

/** An owner that keeps the ports that it offers until the test passes them on. */
class Owner {
  readonly id = crypto.randomUUID();
  readonly offers: Offered[] = [];
  /** What came in over its channel. */
  readonly overChannel: ToOwner[] = [];
  readonly asked: string[] = [];
  readonly channel: OwnerServer;
  readonly locks: FakeLockClient = table.client();
  handle: (request: PlainRequest) => Promise<PlainResponse | undefined> = async () => answer(this.id);

  constructor() {
    const listener = new BroadcastChannel(channelName(instance, this.id));
    listener.onmessage = ({ data }: MessageEvent<ToOwner>) => this.overChannel.push(data);
    this.channel = createOwnerServer({
      instance,
      ownerId: this.id,
      handle: (request) => {
        this.asked.push(`${request.method} ${request.url.replace(instance.base, '')}`);
        return this.handle(request);
      },
      offerPort: (offer, port) => this.offers.push({ offer, port }),
    });
    ends.push(() => {
      listener.close();
      this.channel.leave();
      this.channel.close();
      vi.advanceTimersByTime(1000);
      for (const { port } of this.offers) port.close();
    });
  }

  async rise(): Promise<this> {
    for (const name of [ownerLock(instance), aliveLock(instance, this.id)]) {
      await new Promise<void>((held) => {
        const forEver = (): Promise<never> => {
          held();
          return new Promise(() => {});
        };
        this.locks.request(name, {}, forEver).catch(() => {});
      });
    }
    return this;
  }

  get requestsOverChannel(): number {
    return this.overChannel.filter(({ kind }) => kind === 'request').length;
  }

  /** The offer that came last. */
  get offered(): Offered {
    const last = this.offers.at(-1);
    if (last === undefined) throw new Error('no port was offered');
    return last;
  }

  passOn(link: OwnerLink): void {
    link.usePort(this.offered.offer, this.offered.port);
  }
}

const answer = (body: PlainResponse['body']): PlainResponse => ({ status: 200, headers: {}, body });

function newLink(carrier: ParticipantKind = 'service-worker'): OwnerLink {
  const link = createLink({ instance, carrier, locks: table.client() });
  ends.push(() => link.close());
  return link;
}

function ask(link: OwnerLink, what = 'GET a'): Promise<PlainResponse> {
  const [method = '', path = ''] = what.split(' ');
  return link.handle({ method, url: instance.base + path, headers: {}, body: null });
}

/** A link that has used its channel once, and goes on over the port. */
async function linkOverPort(owner: Owner): Promise<OwnerLink> {
  const link = newLink();
  await ask(link);
  owner.passOn(link);
  return link;
}

async function pass(ms: number): Promise<void> {
  await messagesArrived();
  for (let passed = 0; passed < ms; passed += 500) {
    vi.advanceTimersByTime(500);
    await messagesArrived();
  }
}

describe('the offer of a port', () => {
  test('is sent to a service worker once, with its first request', async () => {
    const owner = await new Owner().rise();
    const link = newLink();
    await Promise.all([ask(link), ask(link)]);
    await ask(link);
    expect(owner.offers.map(({ offer }) => offer)).toEqual([
      { type: 'SETTEE_PORT', base: instance.base, owner: owner.id, peer: owner.overChannel[0]?.from },
    ]);
    expect(owner.requestsOverChannel).toBe(3);
  });

  test("isn't sent to a tab", async () => {
    const owner = await new Owner().rise();
    await ask(newLink('tab'));
    expect(owner.offers).toEqual([]);
  });

  test('is declined if it is for another link or its owner is gone', async () => {
    const owner = await new Owner().rise();
    const [first, second] = [newLink(), newLink()];
    await Promise.all([ask(first), ask(second)]);
    const [one, other] = owner.offers;
    if (one === undefined || other === undefined) throw new Error('two ports were expected');
    const [ofFirst, ofSecond] = one.offer.peer === owner.overChannel[0]?.from ? [one, other] : [other, one];
    expect(ofFirst.offer.peer).not.toBe(ofSecond.offer.peer);
    const before = owner.requestsOverChannel;
    first.usePort(ofSecond.offer, ofSecond.port);
    second.usePort(ofFirst.offer, ofFirst.port);
    const third = new MessageChannel();
    first.usePort({ ...ofFirst.offer, owner: 'gone' }, third.port1);
    second.usePort({ ...ofSecond.offer, owner: 'gone' }, third.port2);
    await Promise.all([ask(first), ask(second)]);
    await messagesArrived();
    expect(owner.requestsOverChannel - before).toBe(2);
  });
});

describe('over a port', () => {
  test('requests and bodies are sent in both directions, and none over the channel', async () => {
    const owner = await new Owner().rise();
    const link = await linkOverPort(owner);
    owner.handle = async ({ body }) => answer(streamOf(body));
    const upload = sourceOf(Array.from({ length: 30 }, (_, index) => bytes(index)));
    const { body } = await link.handle({ method: 'PUT', url: `${instance.base}a`, headers: {}, body: upload });
    expect(await readAll(streamOf(body))).toEqual(Array.from({ length: 30 }, (_, index) => index));
    await messagesArrived();
    expect(owner.overChannel.map(({ kind }) => kind)).toEqual(['request']);
    expect(owner.offers).toHaveLength(1);
  });

  test("long chunks are transferred: each arrives in its own buffer, and the sender's data stays", async () => {
    const owner = await new Owner().rise();
    const link = await linkOverPort(owner);
    const page = new Uint8Array(100_000).map((_, index) => index % 251);
    owner.handle = async () =>
      answer(sourceOf([page.subarray(10, 60_010), page.subarray(0, 16_384), page.subarray(0, 5)]));
    const posted = vi.spyOn(MessagePort.prototype, 'postMessage');
    const body = streamOf((await ask(link)).body);
    expect(await body.pull()).toEqual(page.slice(10, 60_010));
    expect(await body.pull()).toEqual(page.slice(0, 16_384));
    expect(await body.pull()).toEqual(page.slice(0, 5));
    expect(await body.pull()).toBeUndefined();
    const moved = posted.mock.calls.map(([, transfer]) => (Array.isArray(transfer) ? transfer : []));
    posted.mockRestore();
    // They are detached where they were.
    expect(moved.flat().map((buffer) => buffer.byteLength)).toEqual([0, 0]);
    expect(page.buffer.byteLength).toBe(100_000);
  });

  test('chunks with no other user are transferred themselves', async () => {
    const owner = await new Owner().rise();
    const link = await linkOverPort(owner);
    owner.handle = async ({ body }) => answer(streamOf(body));
    const [own, part] = [new Uint8Array(20_000).fill(1), new Uint8Array(30_000).fill(2).subarray(0, 20_000)];
    const upload = { ...streamed([own, part]), isMovable: true };
    const { body } = await link.handle({ method: 'PUT', url: `${instance.base}a`, headers: {}, body: upload });
    const echo = streamOf(body);
    expect(await echo.pull()).toEqual(new Uint8Array(20_000).fill(1));
    expect(await echo.pull()).toEqual(new Uint8Array(20_000).fill(2));
    expect(await echo.pull()).toBeUndefined();
    expect([own.length, part.length]).toEqual([0, 20_000]);
  });

  test('requests that began on the channel end there', async () => {
    const owner = await new Owner().rise();
    const link = newLink();
    const numbers = Array.from({ length: 40 }, (_, index) => index);
    let goOn: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    owner.handle = async ({ url }) => {
      if (url.endsWith('held')) await held;
      return answer(url.endsWith('body') ? sourceOf(numbers.map((number) => bytes(number))) : url);
    };
    const body = streamOf((await ask(link, 'GET body')).body);
    expect(await body.pull()).toEqual(bytes(0));
    const write = ask(link, 'PUT held');
    await until(() => owner.asked.includes('PUT held'));
    owner.passOn(link);
    expect((await ask(link, 'GET other')).body).toBe(`${instance.base}other`);
    expect(await readAll(body)).toEqual(numbers.slice(1));
    // Pinged where it was sent, or the owner would not know it, and it would be sent again.
    await pass(3000);
    goOn();
    expect((await write).body).toBe(`${instance.base}held`);
    expect(owner.asked.filter((what) => what === 'PUT held')).toHaveLength(1);
    expect(owner.asked).toContain('GET other');
    expect(owner.requestsOverChannel).toBe(2);
  });

  test('a slow request is watched, and neither repeated nor given up', async () => {
    const owner = await new Owner().rise();
    const link = await linkOverPort(owner);
    let goOn: (response: PlainResponse) => void = () => {};
    owner.handle = () =>
      new Promise((resolve) => {
        goOn = resolve;
      });
    const write = ask(link, 'PUT slow');
    await pass(10_000);
    goOn(answer('done'));
    expect((await write).body).toBe('done');
    expect(owner.asked).toEqual(['GET a', 'PUT slow']);
    expect(owner.overChannel.map(({ kind }) => kind)).toEqual(['request']);
  });

  test('a request that the owner refuses is sent to the next one', async () => {
    const owner = await new Owner().rise();
    const link = await linkOverPort(owner);
    owner.channel.refuse();
    const waiting = ask(link, 'PUT b');
    await messagesArrived();
    owner.locks.kill();
    const next = await new Owner().rise();
    await pass(1000);
    expect((await waiting).body).toBe(next.id);
    expect(owner.asked).toEqual(['GET a']);
    expect(next.offers).toHaveLength(1);
    next.passOn(link);
    const before = next.requestsOverChannel;
    expect((await ask(link)).body).toBe(next.id);
    await messagesArrived();
    expect(next.requestsOverChannel).toBe(before);
  });

  test('reads are sent to the next owner when this one dies, and a write is answered 503', async () => {
    const owner = await new Owner().rise();
    const link = await linkOverPort(owner);
    owner.handle = () => new Promise(() => {});
    const [read, write] = [ask(link, 'GET b'), ask(link, 'PUT c')];
    await until(() => owner.asked.length === 3);
    const next = new Owner();
    owner.locks.kill();
    await next.rise();
    await pass(1000);
    expect((await read).body).toBe(next.id);
    expect(reasonOf(await write)).toMatch(/while it had this request: it may have been carried out or not/);
    expect(next.asked).toEqual(['GET b']);
  });
});

describe('a port that breaks', () => {
  test('while its owner lives has reads continue over the channel, and a write answered 503', async () => {
    const owner = await new Owner().rise();
    const link = newLink();
    await ask(link);
    const deaf = new MessageChannel();
    ends.push(() => deaf.port2.close());
    link.usePort(owner.offered.offer, deaf.port1);
    const [read, write] = [ask(link, 'GET b'), ask(link, 'PUT c')];
    await pass(2000);
    expect(owner.asked).toEqual(['GET a']);
    await pass(2500);
    expect((await read).body).toBe(owner.id);
    expect(reasonOf(await write)).toMatch(/while it had this request/);
    expect((await ask(link, 'PUT d')).body).toBe(owner.id);
    expect(owner.asked).toEqual(['GET a', 'GET b', 'PUT d']);
  });

  test('is distinguished from a silent owner, which is waited for', async () => {
    const owner = await new Owner().rise();
    const link = newLink();
    await ask(link);
    const { port1, port2 } = new MessageChannel();
    ends.push(() => port2.close());
    link.usePort(owner.offered.offer, port1);
    // Neither way answers.
    const write = ask(link, 'PUT c');
    owner.channel.leave();
    owner.channel.close();
    vi.advanceTimersByTime(1000);
    let isSettled = false;
    void write.then(() => {
      isSettled = true;
    });
    await pass(10_000);
    expect(isSettled).toBe(false);
    owner.locks.kill();
    await pass(1000);
    expect(reasonOf(await write)).toMatch(/while it had this request/);
  });
});

describe('with many ports', () => {
  test('an owner closes the first idle one, whose link continues over the channel', async () => {
    const owner = await new Owner().rise();
    const busy = await linkOverPort(owner);
    owner.handle = ({ url }) => (url.endsWith('long') ? new Promise(() => {}) : Promise.resolve(answer(url)));
    void ask(busy, 'GET long');
    await until(() => owner.asked.includes('GET long'));
    const idle = await linkOverPort(owner);
    expect((await ask(idle, 'GET b')).body).toBe(`${instance.base}b`);
    for (let more = 0; more < 6; more++) await linkOverPort(owner);
    const last = newLink();
    // The ninth: what the idle one sends before it hears of the closing is not lost.
    const [, sent] = await Promise.all([ask(last), ask(idle, 'PUT c')]);
    expect(sent.body).toBe(`${instance.base}c`);
    await messagesArrived();
    const before = owner.requestsOverChannel;
    expect((await ask(idle, 'GET d')).body).toBe(`${instance.base}d`);
    expect((await ask(busy, 'GET e')).body).toBe(`${instance.base}e`);
    await messagesArrived();
    expect(owner.requestsOverChannel - before).toBe(1);
    expect(owner.asked.filter((what) => what === 'PUT c')).toHaveLength(1);
  });
});

function streamed(chunks: readonly Uint8Array[]): ByteStream {
  const left = [...chunks];
  return { pull: async () => left.shift(), cancel: async () => {} };
}
