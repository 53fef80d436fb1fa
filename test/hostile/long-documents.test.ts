import { afterEach, assert, beforeEach, describe, test } from 'vitest';
import { AttackedServer } from './support/attacked-server.ts';
import { attack } from './support/figures.ts';
import { Neighbour } from './support/neighbour.ts';
import { megabytes, noProcessFiles } from './support/process-use.ts';

/** Requests that read a document of 12 MB as a whole wait for each other, so that many at once take bounded memory. */
const MAX_BYTES = 268_435_456 + 100_000_000;
const MAX_TURN = 100;
const timeout = 120_000;

let server: AttackedServer;
let neighbour: Neighbour;

beforeEach(async () => {
  server = await AttackedServer.start();
  neighbour = await Neighbour.moveIn(server);
  await server.client.must(201, 'PUT', '/db');
  await server.client.must(201, 'PUT', '/db/long', { body: `{"s":"${'a'.repeat(12_000_000)}"}` });
  const shows = { s: 'function (doc) { return "shown"; }' };
  await server.client.must(201, 'PUT', '/db/_design/d', { json: { shows } });
}, timeout);

afterEach(async () => {
  await neighbour.moveOut();
  await server.remove();
});

async function assertBounded(name: string, count: number, ask: (n: number) => Promise<{ status: number }>) {
  const all = () => Promise.all(Array.from({ length: count }, (_, n) => ask(n)));
  const outcome = (answers: { status: number }[]) => answers.map(({ status }) => status).join(' ');
  const { result, gained, latencies } = await attack(server, neighbour, name, { work: all, outcome });
  assert.isAtMost(gained, MAX_BYTES, `${name}: ${megabytes(gained)} more`);
  assert.isAtMost(latencies.longestTurn ?? 0, MAX_TURN, `${name}: the longest turn`);
  // Who waited for too long is told so.
  for (const { status } of result) assert.include([200, 201, 503], status);
}

describe.skipIf(noProcessFiles !== undefined)('a document of 12 MB', () => {
  test('in twelve show functions at once takes bounded memory', { timeout }, () =>
    assertBounded('12 × a show of 12 MB', 12, () => server.client.ask('GET', '/db/_design/d/_show/s/long')),
  );

  test('copied ten times at once takes bounded memory', { timeout }, () =>
    assertBounded('10 × a COPY of 12 MB', 10, (n) =>
      server.client.ask('COPY', '/db/long', { headers: { destination: `copy-${n}` } }),
    ),
  );
});
