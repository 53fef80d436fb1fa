import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, assert, beforeEach, describe, expect, test } from 'vitest';
import { AttackedServer } from './support/attacked-server.ts';
import { Neighbour } from './support/neighbour.ts';
import { observed } from './support/observation.ts';
import { highestMemory, megabytes, noProcessFiles } from './support/process-use.ts';

/** Clients that announce bodies, and send them slowly or not to their end, take neither memory nor anybody's turn. */
const timeout = 240_000;
/** On Linux all addresses of this net are those of the machine. */
const ATTACKERS = process.platform === 'linux' ? '127.0.0.2' : '127.0.0.1';
const OTHERS = '127.0.0.1';
const BUDGET = 268_435_456;
/** Beyond the budget. */
const MAX_BYTES = 100_000_000;

let server: AttackedServer;
const sockets: Socket[] = [];

beforeEach(async () => {
  server = await AttackedServer.start();
  await server.client.must(201, 'PUT', '/db');
});

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  return server.remove();
});

interface Attack {
  /** The status of its answer, once it has come. */
  status: number | undefined;
  readonly socket: Socket;
}

/** A request of which so many bytes are sent. */
async function begin(path: string, announced: number, sent: number): Promise<Attack> {
  const socket = connect({ host: server.url.hostname, port: Number(server.url.port), localAddress: ATTACKERS });
  sockets.push(socket);
  const attack: Attack = { status: undefined, socket };
  socket.on('error', () => {});
  socket.on('data', (bytes) => {
    attack.status ??= Number(/^HTTP\/1\.1 (\d+)/.exec(bytes.toString('latin1'))?.[1]);
  });
  await once(socket, 'connect');
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${announced}\r\n\r\n`;
  socket.write(head);
  socket.write(Buffer.alloc(sent, ' '));
  return attack;
}

function tally(attacks: readonly Attack[]): string {
  const counts = new Map<string, number>();
  for (const { status, socket } of attacks) {
    const what = `${status ?? (socket.destroyed ? 'cut' : 'open')}`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  const told = [...counts].map(([what, count]) => `${count} ${what}`).join(', ');
  observed().noteOutcome(`answers: ${told}`);
  return told;
}

/** Somebody writes a document of that size meanwhile; gives how long that took, in milliseconds. */
async function writeOne(bytes: number, localAddress = OTHERS): Promise<number> {
  const begun = performance.now();
  const { hostname, port } = server.url;
  const body = JSON.stringify({ text: 'x'.repeat(bytes) });
  const headers = { 'content-type': 'application/json', 'content-length': `${body.length}` };
  const outgoing = request({ hostname, port, localAddress, method: 'POST', path: '/db', headers }).end(body);
  const [answer]: IncomingMessage[] = await once(outgoing, 'response');
  answer?.resume();
  expect(answer?.statusCode, `${bytes} bytes from ${localAddress}`).toBe(201);
  return Math.round(performance.now() - begun);
}

test("two requests that announce 67 MB and send one byte don't block other bodies", { timeout }, async () => {
  const attacks = [await begin('/db', 60_000_000, 1), await begin('/db', 7_090_000, 1)];
  const times = [];
  for (const bytes of [10_000, 100_000, 200_000, 5_000_000]) times.push(await writeOne(bytes, ATTACKERS));
  console.log(`67 MB announced: bodies of 10 kB, 100 kB, 200 kB, 5 MB took ${times.join(', ')} ms; ${tally(attacks)}`);
  expect(attacks.map(({ status }) => status)).toEqual([undefined, undefined]);
});

test('a log-in of 60 MB is refused before it is read', { timeout }, async () => {
  const neighbour = await Neighbour.moveIn(server);
  const quiet = await neighbour.quiet();
  const { result, latencies } = await neighbour.during(async () => {
    const attacks = [await begin('/_session', 60_000_000, 1), await begin('/_session', 900_000, 900_000)];
    while (attacks.some(({ status }) => status === undefined)) await delay(20);
    return attacks;
  });
  await neighbour.moveOut();
  console.log(
    `log-ins of 60 MB and 900 kB: ${tally(result)}; longest wait ${latencies.longest.toFixed(1)} ms (quiet ${quiet.longest.toFixed(1)})`,
  );
  expect(result.map(({ status }) => status)).toEqual([413, 413]);
});

describe.skipIf(noProcessFiles !== undefined)('memory stays within the budget', () => {
  for (const [what, path, announced, sent] of [
    ['2,000 with all but one byte of 1 MB', '/db', 1_048_576, 1_048_575],
    ['2,000 with all but one byte of 64 kB', '/db', 65_536, 65_535],
    ['600 with 3 MB of 60 MB', '/db', 60_000_000, 3_000_000],
  ] as const) {
    test(`with ${what}, and other clients are served`, { timeout }, async () => {
      const count = Number(what.replace(',', '').split(' ', 1)[0]);
      const neighbour = await Neighbour.moveIn(server);
      const quiet = await neighbour.quiet();
      const attacks: Attack[] = [];
      const times: number[] = [];
      const { result, latencies } = await neighbour.during(() =>
        highestMemory(server.pid, async () => {
          for (let from = 0; from < count; from += 100) {
            attacks.push(...(await Promise.all(Array.from({ length: 100 }, () => begin(path, announced, sent)))));
          }
          for (const bytes of [10_000, 60_000, 200_000]) times.push(await writeOne(bytes, ATTACKERS));
          for (const bytes of [200_000, 2_000_000]) times.push(await writeOne(bytes));
        }),
      );
      await neighbour.moveOut();
      const more = result.highest - result.before;
      console.log(
        `${what}: ${megabytes(more)} more; bodies of 10 kB, 60 kB, 200 kB from the same address, 200 kB and 2 MB from another took ${times.join(', ')} ms; longest wait of a neighbour ${latencies.longest.toFixed(0)} ms, median ${latencies.median.toFixed(1)} (quiet ${quiet.longest.toFixed(0)}, ${quiet.median.toFixed(1)}); attackers: ${tally(attacks)}`,
      );
      assert.isAtMost(more, BUDGET + MAX_BYTES, megabytes(more));
    });
  }

  test('with 1,024 clients that read no responses, and bodies are accepted', { timeout }, async () => {
    for (let from = 0; from < 4_000; from += 1_000) {
      const docs = Array.from({ length: 1_000 }, (_, n) => ({ _id: `doc-${from + n}`, text: 'x'.repeat(2_000) }));
      await server.client.must(201, 'POST', '/db/_bulk_docs', { json: { docs } });
    }
    const readers: Socket[] = [];
    const times: number[] = [];
    const { before, highest } = await highestMemory(server.pid, async () => {
      for (let from = 0; from < 1_024; from += 64) {
        readers.push(...(await Promise.all(Array.from({ length: 64 }, askWithoutReading))));
      }
      for (const bytes of [10_000, 200_000, 2_000_000]) times.push(await writeOne(bytes));
    });
    const gone = readers.filter(({ destroyed }) => destroyed).length;
    observed().noteOutcome('the beginning of an answer each');
    console.log(
      `1,024 slow readers: ${megabytes(highest - before)} more; bodies of 10 kB, 200 kB, 2 MB took ${times.join(', ')} ms; ${gone} of them were cut off`,
    );
    assert.isAtMost(highest - before, BUDGET + MAX_BYTES, megabytes(highest - before));
  });
});

/** Sends a request, waits until the answer has begun, and reads nothing more of it. */
async function askWithoutReading(): Promise<Socket> {
  const socket = connect({ host: server.url.hostname, port: Number(server.url.port) });
  sockets.push(socket);
  socket.on('error', () => {});
  const begun = once(socket, 'readable');
  socket.write('GET /db/_all_docs?include_docs=true HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await begun;
  return socket;
}
