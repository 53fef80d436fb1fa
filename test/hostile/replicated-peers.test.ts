import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, assert, beforeEach, describe, test } from 'vitest';
import { AttackedServer } from './support/attacked-server.ts';
import { Neighbour } from './support/neighbour.ts';
import { highestMemory, megabytes, noProcessFiles } from './support/process-use.ts';

/** Anybody may name two servers of his own to `_replicate`. What they answer takes bounded memory, and disturbs nobody. */
const timeout = 180_000;
const BUDGET_BYTES = 268_435_456;
const SPARE_BYTES = 100_000_000;
const ROWS = 88_000_000;
const ENDLESS = 12;
const BROKEN_OFF = 'the answer broke off';
const FAILED = /^(500 \{"error":"replication_failed"|the answer broke off$)/;

let server: AttackedServer;
let peer: Server;
let changes: RequestListener;
let base: string;
/** Bytes that were sent to the attacked server. */
let sent: number;

beforeEach(async () => {
  sent = 0;
  peer = createServer((request, response) => {
    response.on('error', () => undefined);
    const { pathname } = new URL(request.url ?? '', 'http://peer');
    if (pathname.endsWith('/_changes')) changes(request, response);
    else if (pathname.includes('/_local/')) response.writeHead(404).end('{"error":"not_found","reason":"missing"}');
    else response.end('{"db_name":"db","update_seq":1}');
  });
  peer.listen(0, '127.0.0.1');
  await once(peer, 'listening');
  const address = peer.address();
  base = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  server = await AttackedServer.start({
    settings: ['admins/root=rootpw', 'replicator/retries_per_request=0', 'replicator/allowed_hosts=127.0.0.1'],
  });
});

afterEach(async () => {
  peer.closeAllConnections();
  peer.close();
  await server.remove();
});

function write(response: ServerResponse, piece: Buffer, times: number): void {
  let left = times;
  const more = () => {
    while (left > 0 && !response.destroyed) {
      left--;
      sent += piece.length;
      if (!response.write(piece)) return;
    }
    if (left === 0) response.end();
  };
  response.on('drain', more);
  more();
}

/** Sends so many requests for replications at once, and gives what they were answered. */
async function attack(count: number): Promise<readonly string[]> {
  const ask = async (n: number) => {
    const json = { source: `${base}/source${n}`, target: `${base}/target${n}` };
    // An answer that has begun breaks off where the replication fails.
    const answer = await server.client.ask('POST', '/_replicate', { json }).catch(() => undefined);
    return answer === undefined ? BROKEN_OFF : `${answer.status} ${answer.text.slice(0, 200)}`;
  };
  return Promise.all(Array.from({ length: count }, (_, n) => ask(n)));
}

describe.skipIf(noProcessFiles !== undefined)('a replication takes bounded memory if the source answers', () => {
  const cases: readonly (readonly [name: string, count: number, make: () => RequestListener])[] = [
    [
      'with a million rows of nothing, compressed',
      8,
      () => {
        const whole = gzipSync(`{"results":[${'{},'.repeat(1_000_000)}`);
        return (_request, response) => {
          response.writeHead(200, { 'content-encoding': 'gzip' });
          write(response, whole, 1);
        };
      },
    ],
    [
      `with ${ROWS} rows, plain`,
      8,
      () => {
        const piece = Buffer.from('{},'.repeat(100_000));
        return (_request, response) => {
          response.write('{"results":[');
          write(response, piece, ROWS / 100_000);
        };
      },
    ],
    [
      'with a row without an end',
      ENDLESS,
      () => {
        const piece = Buffer.from('x'.repeat(65_536));
        return (_request, response) => {
          response.write('{"results":[{"id":"');
          write(response, piece, Number.POSITIVE_INFINITY);
        };
      },
    ],
    [
      'with a row of empty lists, each just short enough',
      ENDLESS,
      () => {
        const piece = Buffer.from(`{"id":"a","seq":1,"changes":[${'[],'.repeat(2_500_000)}1]},`);
        return (_request, response) => {
          response.write('{"results":[');
          write(response, piece, 20);
        };
      },
    ],
  ];

  test.each(cases)('%s', { timeout }, async (name, count, make) => {
    changes = make();
    const neighbour = await moveIn();
    try {
      const { result, before, highest } = await highestMemory(server.pid, () => neighbour.during(() => attack(count)));
      const { latencies } = result;
      const told = `${name}, ${count} at once: ${megabytes(highest - before)} more memory, the longest wait of a neighbour ${Math.round(latencies.longest)} ms (longest turn ${Math.round(latencies.longestTurn ?? 0)} ms), ${megabytes(sent)} sent; ${result.result[0]}`;
      process.stdout.write(`${told}\n`);
      assert.isTrue(server.isRunning, told);
      assert.isAtMost(highest - before, BUDGET_BYTES + SPARE_BYTES, told);
      for (const answer of result.result) assert.match(answer, FAILED);
    } finally {
      await neighbour.moveOut();
    }
  });
});

/** The neighbour reads what anybody may read. */
async function moveIn(): Promise<Neighbour> {
  const headers = { authorization: `Basic ${Buffer.from('root:rootpw').toString('base64')}` };
  await server.client.must(201, 'PUT', '/neighbour', { headers });
  await server.client.must(201, 'PUT', '/neighbour/doc', { headers, json: { text: 'a small document' } });
  return Neighbour.returnTo(server);
}
