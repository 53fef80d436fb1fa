import { afterAll, assert, beforeAll, test } from 'vitest';
import { basic } from '../support/conformance/accounts.ts';
import { at } from '../support/conformance/json.ts';
import { AttackedServer } from './support/attacked-server.ts';

/**
 * From how long a refusal takes nobody can tell which names exist. All kinds of names are tried in turns, so that whatever the machine does
 * meanwhile is done to all of them, and of each kind the time is compared that a quarter of its tries stay below.
 */
const ROUNDS = 60;
/** Of some 10 ms for each hash. Where nothing is hashed for one of the kinds, it takes a tenth of that. */
const MAX_APART = 2;
const STARTS = 5;
/** Of few tries each; six times as many iterations are what the name with more of them was told by. */
const MAX_APART_OF_FIRST = 3;
const ROOT = basic('root', 'secret of root');

let server: AttackedServer;

beforeAll(async () => {
  server = await AttackedServer.start({
    // Each round comes from an address of its own, so that no one has to wait for guessing too often.
    settings: [
      'httpd/trusted_proxies=127.0.0.1',
      'svc_httpd_auth/iterations=50000',
      'svc_httpd_auth/max_iterations=400000',
      'admins/root=secret of root',
    ],
  });
  const members = { type: 'user', roles: [] };
  const put = (name: string, more: object) =>
    server.client.must(201, 'PUT', `/_users/org.couchdb.user:${name}`, {
      headers: ROOT,
      json: { ...members, name, ...more },
    });
  await server.client.must([201, 412], 'PUT', '/_users', { headers: ROOT });
  await put('ana', { password: 'secret of ana' });
  await put('without', {});
  await put('old', { password_sha: '0'.repeat(40), salt: 'salt' });
});

afterAll(() => server.remove());

const WAYS: readonly (readonly [string, (name: string, from: object) => Promise<number>])[] = [
  ['Basic', (name, from) => statusOf('GET', '/', { headers: { ...from, ...basic(name, 'wrong') } })],
  [
    '_session',
    (name, from) => statusOf('POST', '/_session', { headers: { ...from }, json: { name, password: 'wrong' } }),
  ],
];

test.for(WAYS)('a failed log-in takes the same time whether the name exists, by %s', async ([, tryName]) => {
  const times = new Map<string, number[]>(['ana', 'root', 'without', 'old', 'absent'].map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    const from = { 'x-forwarded-for': `2001:db8:0:${round.toString(16)}::1` };
    for (const [name, list] of runCooperatively(times, round)) {
      const began = performance.now();
      assert.equal(await tryName(name, from), 401);
      list.push(performance.now() - began);
    }
  }
  const quarters = new Map([...times].map(([name, list]) => [name, quarter(list)]));
  const all = [...quarters.values()];
  const shown = JSON.stringify(Object.fromEntries(quarters));
  assert.isBelow(Math.max(...all) / Math.min(...all), MAX_APART, `milliseconds by name: ${shown}`);
});

test('the right password of another name gets the same answer as a wrong one', async () => {
  const known = await server.client.ask('GET', '/', { headers: basic('ana', 'wrong') });
  const unknown = await server.client.ask('GET', '/', { headers: basic('absent', 'secret of ana') });
  assert.deepEqual([known.status, at(known.json, 'reason')], [401, 'Name or password is incorrect.']);
  assert.deepEqual(known.text, unknown.text);
});

/** The first log-in after a start is the one in which nothing was learnt from others yet. */
test('the first failed log-in after a start takes the same time, even if a hash has other iterations than the setting', async () => {
  const headers = ROOT;
  const hash = { password_scheme: 'pbkdf2', iterations: 300_000, derived_key: '0'.repeat(40), salt: 'salt' };
  const json = { type: 'user', name: 'strong', roles: [], ...hash };
  await server.client.must(201, 'PUT', '/_users/org.couchdb.user:strong', { headers, json });
  const times = new Map<string, number[]>([
    ['strong', []],
    ['ana', []],
    ['absent', []],
  ]);
  for (let round = 0; round < STARTS; round++) {
    for (const [name, list] of runCooperatively(times, round)) {
      await server.stop();
      await server.startAgain();
      // What a start loads with the first request counts for nothing.
      await server.client.must(200, 'GET', '/_session', { headers });
      const began = performance.now();
      const answer = await server.client.ask('POST', '/_session', { json: { name, password: 'wrong' } });
      assert.equal(answer.status, 401);
      list.push(performance.now() - began);
    }
  }
  const quarters = new Map([...times].map(([name, list]) => [name, quarter(list)]));
  const shown = JSON.stringify(Object.fromEntries(quarters));
  console.log(`milliseconds of the first log-in after a start, by name: ${shown}`);
  const all = [...quarters.values()];
  assert.isBelow(Math.max(...all) / Math.min(...all), MAX_APART_OF_FIRST, `milliseconds by name: ${shown}`);
});

async function statusOf(...question: Parameters<AttackedServer['client']['ask']>): Promise<number> {
  return (await server.client.ask(...question)).status;
}

/** Each round begins with another one. */
function runCooperatively<T>(items: Iterable<T>, round: number): readonly T[] {
  const all = [...items];
  return all.map((_item, index) => all[(index + round) % all.length] as T);
}

function quarter(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 4)] ?? Number.NaN;
}
