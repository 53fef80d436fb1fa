import { afterAll, assert, beforeAll, test } from 'vitest';
import { basic } from '../support/conformance/accounts.ts';
import { at } from '../support/conformance/json.ts';
import { AttackedServer } from './support/attacked-server.ts';

/**
 * Who tries a hundred passwords a second has few of them checked, and is told when to come again; others are answered meanwhile, who have
 * logged in, and who log in.
 */
const SECONDS = 3;
const A_SECOND = 100;
/** Five tries of a name are free; then one second has to pass, then two. */
const MAX_CHECKED = 7;
/** Others may wait for so many times as long as when nobody guesses, and for what the machine does besides. */
const SLOWED_DOWN = 5;
const BESIDES_MS = 100;

let server: AttackedServer;
const from = (address: string) => ({ 'x-forwarded-for': address });

beforeAll(async () => {
  server = await AttackedServer.start({
    settings: ['httpd/trusted_proxies=127.0.0.1', 'admins/root=secret of root', 'admins/ada=secret of ada'],
  });
  await server.client.must(201, 'PUT', '/db', { headers: basic('ada', 'secret of ada') });
});

afterAll(() => server.remove());

test("a hundred wrong passwords a second don't delay other clients", async () => {
  const quiet: number[] = [];
  for (let n = 0; n < 10; n++) quiet.push(await timeOf(100 + n));
  const began = performance.now();
  const guesses: Promise<{ readonly status: number; readonly retryAfter: unknown }>[] = [];
  const waits: number[] = [];
  for (let n = 0; n < SECONDS * A_SECOND; n++) {
    guesses.push(guess(n));
    if (n % 10 === 0) waits.push(await timeOf(n));
    const ahead = began + (n * 1_000) / A_SECOND - performance.now();
    if (ahead > 0) await new Promise((resolve) => setTimeout(resolve, ahead));
  }
  const answers = await Promise.all(guesses);
  const checked = answers.filter(({ status }) => status === 401).length;
  assert.isAtLeast(checked, 5);
  assert.isAtMost(checked, MAX_CHECKED);
  const refused = answers.filter(({ status }) => status === 429);
  assert.equal(checked + refused.length, SECONDS * A_SECOND);
  for (const { retryAfter } of refused) assert.match(`${retryAfter}`, /^[1-9]\d*$/);
  assert.isBelow(median(waits), SLOWED_DOWN * median(quiet) + BESIDES_MS, `${waits} instead of ${quiet}`);
});

test('while wrong passwords are guessed, the right one is refused from that address until the time is up, and accepted from another', async () => {
  const headers = basic('root', 'secret of root');
  const guesser = from('203.0.113.10');
  await Promise.all(Array.from({ length: 5 }, (_, n) => guess(n, guesser)));
  const there = await server.client.must(429, 'GET', '/_session', { headers: { ...guesser, ...headers } });
  assert.equal(at(there.json, 'error'), 'too_many_requests');
  await server.client.must(200, 'GET', '/_active_tasks', { headers });
});

async function guess(n: number, guesser = from('203.0.113.9')) {
  const headers = { ...guesser, ...basic('root', `guess ${n}`) };
  const answer = await server.client.ask('GET', '/_session', { headers });
  return { status: answer.status, retryAfter: answer.headers['retry-after'] };
}

/** Somebody else who logs in, each time anew, and reads. */
async function timeOf(n: number): Promise<number> {
  const began = performance.now();
  const address = from(`198.51.100.${n % 250}`);
  const json = { name: 'ada', password: 'secret of ada' };
  const { headers } = await server.client.must(200, 'POST', '/_session', { headers: address, json });
  const cookie = `${headers['set-cookie']}`.split(';')[0] ?? '';
  await server.client.must(200, 'GET', '/db', { headers: { ...address, cookie } });
  return performance.now() - began;
}

function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}
