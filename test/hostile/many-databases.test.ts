import { afterEach, assert, beforeEach, describe, expect, test } from 'vitest';
import { AttackedServer } from './support/attacked-server.ts';
import { attack } from './support/figures.ts';
import { Neighbour } from './support/neighbour.ts';
import { megabytes, noProcessFiles } from './support/process-use.ts';

/** Databases are opened when they are asked for, as many as `svc/max_dbs_open`: thousands at once take bounded memory, and hold up nobody. */
const DATABASES = 2_000;
const AT_ONCE = 100;
const MAX_BYTES = 268_435_456 + 100_000_000;
const MAX_TURN = 100;
const timeout = 300_000;

let server: AttackedServer;
let neighbour: Neighbour;

beforeEach(async () => {
  server = await AttackedServer.start({ settings: [`httpd/max_connections=${2 * DATABASES}`] });
  for (let from = 0; from < DATABASES; from += AT_ONCE) {
    await each(AT_ONCE, (n) => server.client.must(201, 'PUT', `/db${from + n}`));
  }
  neighbour = await Neighbour.moveIn(server);
  await neighbour.moveOut();
  // None is open then.
  await server.stop();
  await server.startAgain();
  neighbour = await Neighbour.returnTo(server);
}, timeout);

afterEach(async () => {
  await neighbour.moveOut();
  await server.remove();
});

const each = <T>(count: number, act: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => act(n)));

describe.skipIf(noProcessFiles !== undefined)("2,000 databases don't exhaust the server", () => {
  const cases: readonly (readonly [what: string, status: number, ask: (n: number) => Promise<{ status: number }>])[] = [
    ['asked what they are', 200, (n) => server.client.ask('GET', `/db${n}`)],
    ['asked for a document', 404, (n) => server.client.ask('GET', `/db${n}/doc`)],
    ['written to', 201, (n) => server.client.ask('PUT', `/db${n}/doc`, { json: { n } })],
  ];

  test.for(cases)('when all are used at once: %s', { timeout }, async ([what, status, ask]) => {
    const { result, gained, latencies } = await attack(server, neighbour, `2,000 databases at once, ${what}`, {
      work: () => each(DATABASES, ask),
      outcome: (answers) => `${answers.filter((answer) => answer.status === status).length} × ${status}`,
    });
    // One that finds no room among those that are open says so, and may be asked again.
    for (const answer of result) assert.include([status, 503], answer.status);
    assert.isAbove(result.filter((answer) => answer.status === status).length, DATABASES / 2);
    assert.isAtMost(gained, MAX_BYTES, megabytes(gained));
    assert.isAtMost(latencies.longestTurn ?? 0, MAX_TURN, 'the longest turn');
    for (const n of [0, 777, DATABASES - 1]) expect((await ask(n)).status).not.toBe(500);
  });
});
