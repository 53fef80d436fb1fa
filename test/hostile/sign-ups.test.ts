import { afterAll, assert, beforeAll, expect, test } from 'vitest';
import { basic } from '../support/conformance/accounts.ts';
import { AttackedServer } from './support/attacked-server.ts';
import { Neighbour } from './support/neighbour.ts';
import { highestMemory, megabytes, noProcessFiles } from './support/process-use.ts';

/** Anybody may sign up. Who does that hundreds of times at once keeps nobody from logging in, and has few passwords hashed. */
const CONNECTIONS = 650;
const ROOT = basic('root', 'secret of root');
/** Of processor time; 650 connections are taken in. */
const MAX_TURN_MS = 200;
const timeout = 200_000;

let server: AttackedServer;
let neighbour: Neighbour;
const from = (address: string) => ({ 'x-forwarded-for': address });

beforeAll(async () => {
  server = await AttackedServer.start({
    settings: ['httpd/trusted_proxies=127.0.0.1', 'svc_httpd_auth/iterations=50000', 'admins/root=secret of root'],
  });
  await server.client.must([201, 412], 'PUT', '/_users', { headers: ROOT });
  await server.client.must(201, 'PUT', '/neighbour', { headers: ROOT });
  await server.client.must(201, 'PUT', '/neighbour/doc', { headers: ROOT, json: { text: 'a small document' } });
  neighbour = await Neighbour.returnTo(server);
  await signUp('ana', {}, '198.51.100.1');
});

afterAll(async () => {
  await neighbour.moveOut();
  await server.remove();
});

function signUp(name: string, members: object, address: string) {
  const json = { type: 'user', name, roles: [], password: 'secret', ...members };
  return server.client.ask('PUT', `/_users/org.couchdb.user:${name}`, { headers: from(address), json });
}

/** Others log in meanwhile, each from an address of its own. */
async function logIns(count: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let n = 0; n < count; n++) {
    const json = { name: 'ana', password: n % 2 === 0 ? 'secret' : `wrong ${n}` };
    const headers = from(`192.0.2.${n}`);
    statuses.push((await server.client.ask('POST', '/_session', { headers, json })).status);
  }
  return statuses;
}

const HASH = {
  ...{ password: undefined, password_scheme: 'pbkdf2', salt: 'salt', iterations: 100 },
  derived_key: '0'.repeat(40),
};

const ATTACKS: readonly (readonly [string, (n: number) => object, readonly number[]])[] = [
  ['a name that is taken', () => ({ name: 'ana' }), [409]],
  ['a role', () => ({ roles: ['boss'] }), [403]],
  ['that are right', () => ({}), [201, 429]],
  ['a hash of their own', (n) => ({ ...HASH, name: `own${n}` }), [201, 429]],
];

test.skipIf(noProcessFiles !== undefined).for(ATTACKS)(
  '650 simultaneous sign-ups with %s delay no other request',
  { timeout },
  async ([what, members, expected]) => {
    const attack = () =>
      Array.from({ length: CONNECTIONS }, (_, n) => {
        const one = members(n);
        const name = 'name' in one ? String(one.name) : `user${n}`;
        return signUp(name, one, '203.0.113.9');
      });
    const { result, before, highest } = await highestMemory(server.pid, () =>
      neighbour.during(async () => {
        const [answers, statuses] = await Promise.all([Promise.all(attack()), logIns(20)]);
        return { answers, statuses };
      }),
    );
    const { answers, statuses } = result.result;
    const quiet = await neighbour.quiet();
    const made = answers.filter(({ status }) => status === 201).length;
    console.log(
      `650 sign-ups with ${what}: ${made} made, ${megabytes(highest - before)} more, a neighbour waited ${result.latencies.longest.toFixed(0)} ms at most, beside an idle server ${quiet.longest.toFixed(0)} ms; the longest turn took ${result.latencies.longestTurn?.toFixed(0)} ms of a processor; log-ins of others: ${statuses.join(' ')}`,
    );
    expect(statuses).toEqual(statuses.map((_status, n) => (n % 2 === 0 ? 200 : 401)));
    for (const { status, headers } of answers) {
      expect(expected).toContain(status);
      if (status === 429) assert.match(`${headers['retry-after']}`, /^[1-9]\d*$/);
    }
    // Fifty are free, and one in each second.
    assert.isAtMost(made, 50 + timeout / 1000);
    assert.isAtMost(result.latencies.longestTurn ?? 0, MAX_TURN_MS);
    assert.isAtMost(highest - before, 100 * 2 ** 20);
  },
);
