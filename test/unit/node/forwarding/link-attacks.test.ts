import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { frameOf, GREETING, NONCE, PROOF, REQUEST } from '../../../../src/node/forwarding/frames.ts';
import { proofOf } from '../../../../src/node/forwarding/link-proof.ts';
import { patient } from '../../../support/patience.ts';
import {
  afterThisTest,
  Cable,
  connect,
  errorLog,
  KEY,
  OTHER_KEY,
  ok,
  RawLink,
  request,
  serve,
  useServers,
} from './linked-servers.ts';

useServers();

const HERE = '0123456789abcdef0123456789abcdef';
const THERE = 'fedcba9876543210fedcba9876543210';

/** Counts the requests that are answered. */
async function watched(more: Parameters<typeof serve>[1] = {}) {
  const seen: string[] = [];
  const server = await serve(({ method }) => {
    seen.push(method);
    return ok;
  }, more);
  return { ...server, seen };
}

/** Answers upgrades without knowing the key. Returns its address. */
async function impostor(onSocket: (socket: Socket) => void): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  server.on('upgrade', (_incoming, socket: Socket) => {
    socket.on('error', () => undefined);
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: settee-forward-2\r\n\r\n');
    onSocket(socket);
    afterThisTest(() => socket.destroy());
  });
  await once(server, 'listening');
  afterThisTest(() => server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`;
}

const requestFrame = (more: object = {}) => {
  const head = Buffer.from(JSON.stringify({ method: 'DELETE', url: '/db', headers: {}, body: 'null', ...more }));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.length);
  return Buffer.concat([length, head]);
};

/** A link whose other end waits for that proof. */
async function proving(url: string) {
  const link = await RawLink.upgraded(url);
  const greeting = `settee-forward-2 ${HERE} ${url}`;
  link.send(GREETING, greeting);
  const nonce = await link.frame();
  const mac = (role: string) =>
    createHmac('sha256', Buffer.from(KEY, 'hex')).update(`${role}\n${greeting}\n${nonce}`).digest('hex');
  return { link, proof: mac('connecting'), mac };
}

test('a proof is an HMAC over role, greeting and nonce', () => {
  const greeting = `settee-forward-2 ${HERE} http://127.0.0.1:5984/`;
  expect(proofOf(KEY, 'connecting', greeting, THERE)).toBe(
    'dff71a8df90764fa908ebdb3e9ce9021f058a8bf2d3358b12329be80f08fe320',
  );
  expect(proofOf(KEY, 'connected', greeting, THERE)).toBe(
    '22d620697644262a9921ae5c85c9abdc1df46ea4cb5243695dd5712445df2bea',
  );
});

describe('a server that accepts links', () => {
  test('answers nobody before the proof', async () => {
    const { url, seen } = await watched();
    const early = await RawLink.upgraded(url);
    early.send(REQUEST, requestFrame());
    await early.closed;
    const greeted = await RawLink.upgraded(url);
    greeted.send(GREETING, `settee-forward-2 ${HERE} ${url}`);
    expect(await greeted.frame()).toMatch(/^[\da-f]{32}$/);
    greeted.send(REQUEST, requestFrame());
    await greeted.closed;
    const guesser = await RawLink.upgraded(url);
    guesser.send(GREETING, `settee-forward-2 ${HERE} ${url}`);
    await guesser.frame();
    guesser.send(PROOF, '0'.repeat(64));
    guesser.send(REQUEST, requestFrame());
    await guesser.closed;
    expect([early, greeted, guesser].map(({ received }) => received.toString('latin1'))).toEqual(['', '', '']);
    expect(seen).toEqual([]);
  });

  test('answers who knows the key, also if the request comes with the proof', async () => {
    const { url, seen } = await watched();
    const { link, proof, mac } = await proving(url);
    link.send(PROOF, proof);
    link.send(REQUEST, requestFrame(), 7);
    expect(await link.frame()).toBe(mac('connected'));
    expect(await link.frame()).toContain('"status":200');
    expect(seen).toEqual(['DELETE']);
  });

  test.each([
    { user: 'admin' },
    { user: null },
    { user: { name: 1, roles: [] } },
    { user: { name: 'a' } },
    { user: { name: 'a', roles: ['_admin', 1] } },
    { hops: -1 },
    { hops: '1' },
    { hops: 1.5 },
  ])('ends a link over which comes a request with %j', async (more) => {
    const { url, seen } = await watched();
    const { link, proof } = await proving(url);
    link.send(PROOF, proof);
    link.send(REQUEST, requestFrame(more), 7);
    await link.closed;
    expect(seen).toEqual([]);
  });

  test('refuses what was recorded of another link', async () => {
    const { errors, log } = errorLog();
    const server = await watched({ log });
    const cable = await Cable.to(server.url);
    server.addresses.push(cable.url);
    await connect().forward(cable.url, request('GET'));
    const recorded = Buffer.concat(cable.sent[0] ?? []);
    const replay = new RawLink(server.url);
    replay.socket.write(recorded);
    await replay.closed;
    expect(server.seen).toEqual(['GET']);
    expect(errors).toHaveLength(1);
  });

  test('refuses a link that was meant for another address, which somebody else relays', async () => {
    const [there, here] = [errorLog(), errorLog()];
    const server = await watched({ log: there.log });
    const relay = await Cable.to(server.url);
    const links = connect({ waitMs: 10, log: here.log });
    links.retain([relay.url]);
    await expect.poll(() => here.errors.length, patient).toBe(1);
    expect((await links.forward(relay.url, request('PUT'))).status).toBe(503);
    expect(server.seen).toEqual([]);
    expect(there.errors).toEqual([
      `A server of this cluster at 127.0.0.1 meant to reach ${relay.url}, and has reached this server, which is ${server.url}; the link was refused. Start each server with an address in --announce that leads to it alone.`,
    ]);
  });

  test('refuses a relay that changes the address in the greeting', async () => {
    const server = await watched();
    let refused = 0;
    const relay = async (socket: Socket) => {
      const onward = await RawLink.upgraded(server.url);
      onward.send(GREETING, `settee-forward-2 ${HERE} ${server.url}`);
      for (const part of frameOf(NONCE, 0, await onward.frame())) socket.write(part);
      const [proof] = await once(socket, 'data');
      onward.socket.write(proof);
      await onward.closed;
      refused++;
      socket.destroy();
    };
    const address = await impostor((socket) => socket.once('data', () => void relay(socket).catch(() => undefined)));
    const links = connect({ waitMs: 10 });
    links.retain([address]);
    await expect.poll(() => refused, patient).toBeGreaterThan(0);
    expect((await links.forward(address, request('PUT'))).status).toBe(503);
    expect(server.seen).toEqual([]);
    expect(server.links.count).toBe(0);
  });

  test('closes a link whose other end is silent', async () => {
    const { url } = await watched({ proofMs: 20 });
    const silent = await RawLink.upgraded(url);
    const half = await RawLink.upgraded(url);
    half.send(GREETING, `settee-forward-2 ${HERE} ${url}`);
    const part = await RawLink.upgraded(url);
    part.socket.write(Buffer.from([0, 0]));
    await Promise.all([silent.closed, half.closed, part.closed]);
  });

  test('takes no long frame before the proof', async () => {
    const { url } = await watched({ proofMs: 60_000 });
    const giant = await RawLink.upgraded(url);
    const header = Buffer.from([0, 0x10, 0, 1, GREETING, 0, 0, 0, 0]);
    giant.socket.write(header);
    await giant.closed;
    const longer = await RawLink.upgraded(url);
    longer.send(GREETING, `settee-forward-2 ${HERE} http://${'x'.repeat(4_096)}/`);
    await longer.closed;
  });

  test.each([
    '',
    'settee-forward-1 0123456789abcdef0123456789abcdef http://x/',
    'settee-forward-2 0123456789ABCDEF0123456789abcdef http://x/',
    'settee-forward-2 0123456789abcdef http://x/',
    'settee-forward-2 0123456789abcdef0123456789abcdef',
    'settee-forward-2 0123456789abcdef0123456789abcdef http://x/ more',
  ])('refuses the greeting %j', async (greeting) => {
    const { url } = await watched();
    const link = await RawLink.upgraded(url);
    link.send(GREETING, greeting);
    await link.closed;
    expect(link.received.length).toBe(0);
  });

  test('has a limit for links without a proof, and is there for others meanwhile', async () => {
    const { url, seen } = await watched({ proofMs: 60_000 });
    const strangers = await Promise.all(
      Array.from({ length: 1_000 }, () => RawLink.upgraded(url).catch(() => undefined)),
    );
    const open = () => strangers.filter((link) => link?.socket.destroyed === false).length;
    await expect.poll(open, patient).toBe(32);
    expect((await connect().forward(url, request('GET'))).status).toBe(200);
    expect(seen).toEqual(['GET']);
  });

  // Only Linux has all of 127.0.0.0/8.
  test.runIf(process.platform === 'linux')('drops those of the address that has the most', async () => {
    const { url } = await watched({ proofMs: 60_000 });
    const other = await RawLink.upgraded(url, '127.0.0.2');
    for (let count = 0; count < 40; count++) await RawLink.upgraded(url);
    other.send(GREETING, `settee-forward-2 ${HERE} ${url}`);
    expect(await other.frame()).toMatch(/^[\da-f]{32}$/);
  });

  test('logs once what has another key, and neither key, nonce nor proof', async () => {
    const entries: string[] = [];
    const note = (...said: unknown[]) => void entries.push(said.map(String).join(' '));
    const log = { error: note, info: note, debug: note };
    const { url } = await watched({ log });
    const cable = await Cable.to(url);
    const links = connect({ key: OTHER_KEY, log });
    links.retain([url, cable.url]);
    await expect.poll(() => cable.sent.length, patient).toBeGreaterThan(4);
    const text = entries.join('\n');
    expect(text.match(/does not know the key of this cluster has tried/g)).toHaveLength(1);
    expect(text).not.toMatch(/[\da-f]{32}/);
  });
});

describe('a server that connects', () => {
  test('believes nobody who sends its own proof back', async () => {
    const { errors, log } = errorLog();
    const address = await impostor((socket) => {
      socket.once('data', () => {
        for (const part of frameOf(NONCE, 0, HERE)) socket.write(part);
        socket.on('data', (proof: Buffer) => socket.write(proof));
      });
    });
    const links = connect({ log, waitMs: 10 });
    links.retain([address]);
    await expect
      .poll(() => errors, patient)
      .toEqual([`The server at ${address} can't be reached. It does not know the key of this cluster.`]);
    expect((await links.forward(address, request('PUT'))).status).toBe(503);
  });

  test('believes nobody who sends no proof, and takes no long frame from it', async () => {
    const settings: unknown[] = [];
    let attempts = 0;
    const address = await impostor((socket) => {
      attempts++;
      // The header of a response, and of settings that never come to their end.
      socket.write(
        attempts % 2 === 0 ? Buffer.from([0, 0, 0, 2, 2, 0, 0, 0, 0, 0x7b, 0x7d]) : Buffer.from([0, 0x10, 0, 0, 3]),
      );
      socket.resume();
      if (attempts % 2 === 1) socket.write(Buffer.from([0, 0, 0, 0]));
    });
    const links = connect({ waitMs: 10, onSettings: (sent) => void settings.push(sent) });
    links.followSettings(address);
    await expect.poll(() => attempts, patient).toBeGreaterThan(4);
    expect(settings).toEqual([]);
    expect(links.isConnected(address)).toBe(false);
  });

  test('does not wait for one that is silent', async () => {
    let attempts = 0;
    const address = await impostor((socket) => {
      attempts++;
      socket.resume();
    });
    const links = connect({ waitMs: 10, proofMs: 20 });
    links.retain([address]);
    await expect.poll(() => attempts, patient).toBeGreaterThan(2);
    expect(links.isConnected(address)).toBe(false);
  });

  test('says what answers in place of a server of the cluster', async () => {
    const { errors, log } = errorLog();
    const other = createServer((_incoming, outgoing) => void outgoing.writeHead(404).end()).listen(0, '127.0.0.1');
    await once(other, 'listening');
    afterThisTest(() => other.close());
    const bound = other.address();
    const address = `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}/`;
    connect({ log }).retain([address]);
    await expect
      .poll(() => errors, patient)
      .toEqual([
        `The server at ${address} can't be reached. It answers with 404 instead of changing to settee-forward-2: it is of another version, or does not belong to the cluster.`,
      ]);
  });
});
