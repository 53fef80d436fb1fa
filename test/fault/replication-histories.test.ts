/**
 * Random histories of documents at two ends that replicate with each other: this server, a process on a data folder, and PouchDB, a process on
 * LevelDB. Either of them drives the replications, through relays that break connections off at random bytes, and either is killed in the
 * middle of some. At the end both have every revision that either acknowledged.
 *
 * With TEST_PEER_URL, the address of a server of the family with an account that may make databases (`http://name:password@host:5984`), the
 * same is done with that server, which nobody kills. There PouchDB drives replications between the two servers.
 *
 * SETTEE_REPLICATION_SEED repeats the choices of a run; SETTEE_REPLICATION_STEPS says how many replications there are. At which moment a
 * process dies, and what was done by then, can't be repeated.
 */
import { afterEach, beforeAll, expect, onTestFailed, test } from 'vitest';
import { arrayAt, at, numberAt } from '../support/conformance/json.ts';
import { buildServer } from '../support/crash/server-process.ts';
import { roundsOf } from '../support/long-runs.ts';
import { differencesAt } from '../support/replication/compared-histories.ts';
import { type HistoryEnd, HttpEnd, PouchEnd } from '../support/replication/history-ends.ts';
import { HistoryWriter, isLong } from '../support/replication/history-writer.ts';
import { KillableServer } from '../support/replication/killable-server.ts';
import { KillablePouch } from '../support/replication/pouch-process.ts';
import { MAX_ATTACHMENT_BYTES, RandomHistories } from '../support/replication/random-histories.ts';
import { TcpRelay } from '../support/replication/tcp-relay.ts';
import { SeededRandom } from '../support/seeded-random.ts';

const seed = Number(process.env['SETTEE_REPLICATION_SEED'] ?? Date.now() % 2 ** 31);
const steps = Number(process.env['SETTEE_REPLICATION_STEPS'] ?? roundsOf(14, 60));
const largest = roundsOf(20_000, MAX_ATTACHMENT_BYTES / 2);
const peerUrl = process.env['TEST_PEER_URL'];
const peers = peerUrl === undefined ? ['PouchDB'] : ['PouchDB', 'the server of TEST_PEER_URL'];
const cases = peers.flatMap((peer) =>
  Array.from({ length: roundsOf(1, 3) }, (_, index) => [peer, seed + index] as const),
);

/** More cycles of replications in both directions than it takes until nothing is left to copy. */
const MAX_CYCLES = 10;

interface Killable {
  readonly relay: TcpRelay;
  readonly kills: number;
  kill(): Promise<void>;
}

/** The other end of the replications, and what can be done with it. */
interface Peer {
  readonly end: HistoryEnd;
  /** As this server replicates with it. */
  readonly url: string;
  /** As PouchDB's process replicates with it; undefined for its own database. */
  readonly urlForPouch: string | undefined;
  readonly relay: TcpRelay;
  readonly killable: Killable | undefined;
}

let server: KillableServer;
let pouch: KillablePouch;
let peer: Peer;
let ends: readonly [HistoryEnd, HistoryEnd];
const cleanings: (() => Promise<void>)[] = [];

beforeAll(buildServer, 300_000);

afterEach(async () => {
  for (const clean of cleanings.splice(0).reverse()) await clean();
});

async function start(name: string, random: SeededRandom): Promise<void> {
  const low = random.between(6, 8);
  const limits = [low, low + random.between(1, 6)];
  if (random.chance(50)) limits.reverse();
  const [ownLimit = low, peerLimit = low] = limits;
  server = await KillableServer.start();
  cleanings.push(() => server.close());
  pouch = await KillablePouch.start(peerLimit);
  cleanings.push(() => pouch.close());
  const url = () => `${server.origin}/db`;
  const own = new HttpEnd({ name: 'Settee', revsLimit: ownLimit, url, restarted: () => server.restarted() });
  await own.create();
  peer = name === 'PouchDB' ? pouchPeer(peerLimit) : await serverPeer(peerLimit);
  ends = [own, peer.end];
}

function pouchPeer(revsLimit: number): Peer {
  const { relay } = pouch;
  const end = new PouchEnd(pouch, revsLimit);
  return { end, url: `${relay.url}/db`, urlForPouch: undefined, relay, killable: pouch };
}

async function serverPeer(revsLimit: number): Promise<Peer> {
  const address = new URL(`settee-test-${Date.now()}`, `${String(peerUrl).replace(/\/$/, '')}/`);
  const relay = await TcpRelay.start(address.origin);
  cleanings.push(() => relay.close());
  const restarted = () => Promise.resolve();
  const end = new HttpEnd({ name: 'the peer', revsLimit, url: () => address.href, restarted });
  await end.create();
  cleanings.push(() => end.remove());
  const url = address.href.replace(address.host, new URL(relay.url).host);
  return { end, url, urlForPouch: url, relay, killable: undefined };
}

type Driver = 'Settee' | 'PouchDB';
type Direction = 'push' | 'pull';

const directions: readonly Direction[] = ['push', 'pull'];

/** In a history each direction has one driver, so that none makes up for a change that the other one has skipped. */
type Drivers = Readonly<Record<Direction, Driver>>;

const OWN_PUSH: Drivers = { push: 'Settee', pull: 'PouchDB' };
const OWN_PULL: Drivers = { push: 'PouchDB', pull: 'Settee' };

interface Step {
  readonly driver: Driver;
  readonly direction: Direction;
  readonly killed: Killable | undefined;
  /** When at most so many bytes have passed through. */
  readonly mostBytes: number;
  readonly isCut: boolean;
}

/** Each end is killed once while there is still a lot to copy in that direction; the rest is random. */
function chooseStep(index: number, drivers: Drivers, random: SeededRandom): Step {
  const killable = [server, peer.killable];
  if (index < 2) {
    const direction = index === 0 ? 'pull' : 'push';
    return { driver: drivers[direction], direction, killed: killable[index], mostBytes: 100_000, isCut: false };
  }
  const direction = random.oneOf(directions) ?? 'pull';
  return {
    driver: drivers[direction],
    direction,
    killed: random.chance(40) ? random.oneOf(killable) : undefined,
    mostBytes: random.oneOf([5_000, 100_000, 2_000_000]) ?? 5_000,
    isCut: random.chance(60),
  };
}

type Way = Pick<Step, 'driver' | 'direction'>;

/** How many documents were written. Rejects if the replication failed, or the process that drives it was killed. */
async function replicate(way: Way, random: SeededRandom): Promise<number> {
  if (way.driver === 'Settee') return numberOfWritten(await replicateHere(way.direction, random));
  const there = `${server.relay.url}/db`;
  const pair = way.direction === 'push' ? [there, peer.urlForPouch] : [peer.urlForPouch, there];
  const options = { batch_size: random.between(1, 10), batches_limit: random.between(1, 5) };
  const result = await pouch.ask('replicate', ...pair, options);
  expect(result).toMatchObject({ status: 'complete', doc_write_failures: 0 });
  return numberAt(result, 'docs_written');
}

/** By `POST /_replicate`. Returns the response. */
async function replicateHere(direction: Direction, random: SeededRandom, more: object = {}): Promise<unknown> {
  const response = await fetch(`${server.origin}/_replicate`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...(direction === 'push' ? { source: 'db', target: peer.url } : { source: peer.url, target: 'db' }),
      worker_batch_size: random.between(1, 10),
      worker_processes: random.between(1, 4),
      http_connections: random.between(1, 8),
      retries_per_request: random.between(0, 3),
      checkpoint_interval: random.oneOf([1, 30, 5_000]) ?? 30,
      ...more,
    }),
  });
  const result: unknown = await response.json();
  if (!response.ok) throw new Error(JSON.stringify(result));
  return result;
}

function numberOfWritten(result: unknown): number {
  return at(result, 'no_changes') === true ? 0 : numberAt(result, 'docs_written');
}

const relays = () => [server.relay, peer.relay];

/** A replication that is cut, killed, or neither, while a third database brings something. */
async function disturbed(step: Step, random: SeededRandom, writer: HistoryWriter, script: string[]): Promise<void> {
  const { driver, direction, killed, mostBytes, isCut } = step;
  script.push(`${driver}: ${direction}${isCut ? ', cut' : ''}`);
  for (const relay of relays()) {
    // So that the next connections are new ones.
    relay.resetAll();
    const cut = () => ({
      bytes: random.between(0, random.oneOf([500, 5_000, 100_000, 1_000_000]) ?? 0),
      isReset: random.chance(50),
    });
    if (isCut) relay.cutAfter(...Array.from({ length: random.between(1, 6) }, cut));
  }
  const enough = random.between(2_000, mostBytes);
  const reached = Promise.race(relays().map((relay) => relay.passed(enough))).then(() => 'reached');
  const attempt = replicate(step, random).then(
    (written) => `${written} written`,
    (failure: unknown) => `failed: ${failure}`,
  );
  const brought = writer.bring();
  if (killed !== undefined && (await Promise.race([attempt, reached])) === 'reached') {
    script.push(`${killed === server ? 'Settee' : 'PouchDB'} is killed`);
    await killed.kill();
  }
  script.push(await attempt);
  for (const relay of relays()) relay.forgetResets();
  script.push(await brought);
}

/** Without faults, until nothing is left to copy in either direction. */
async function converge(drivers: Drivers, random: SeededRandom): Promise<void> {
  for (const direction of directions) if (drivers[direction] === 'Settee') await copyRefused(direction, random);
  for (let cycle = 0; cycle < MAX_CYCLES; cycle++) {
    const pushed = await replicate({ driver: drivers.push, direction: 'push' }, random);
    if (pushed + (await replicate({ driver: drivers.pull, direction: 'pull' }, random)) === 0) return;
  }
  throw new Error(`after ${MAX_CYCLES} cycles there was still something to copy`);
}

/**
 * When the response with one document breaks off once more than `retries_per_request` says, while the peer answers other requests, Settee
 * names the document in the history, copies the others, and goes on (docs/http/replication.md#documents-that-a-database-fails-on). Such
 * documents are copied on request.
 */
async function copyRefused(direction: Direction, random: SeededRandom): Promise<void> {
  const result = await replicateHere(direction, random);
  const failures = arrayAt(result, 'history').map((session) => numberAt(session, 'doc_write_failures'));
  if (at(result, 'no_changes') !== true) expect(failures[0]).toBe(0);
  if (failures.every((count) => count === 0)) return;
  const retried = await replicateHere(direction, random, { retry_refused: true });
  expect(arrayAt(retried, 'history')[0]).toMatchObject({ doc_write_failures: 0 });
}

test.each(cases)(
  `Settee and %s have the same after random histories, kills and cut connections (seed %i, ${steps} steps)`,
  async (name, ownSeed) => {
    const random = new SeededRandom(ownSeed);
    await start(name, random);
    const histories = new RandomHistories(random, largest);
    const writer = new HistoryWriter(histories, ends, random);
    const script: string[] = [];
    onTestFailed(() => {
      const limits = ends.map((end) => `${end.name}: ${end.revsLimit}`);
      console.error(`seed ${ownSeed}, limits of revisions ${limits}, after:\n${script.join('\n')}`);
    });
    await writer.fill();
    const [drivers, others] = random.chance(50) ? [OWN_PUSH, OWN_PULL] : [OWN_PULL, OWN_PUSH];
    for (let index = 0; index < steps; index++) {
      await disturbed(chooseStep(index, drivers, random), random, writer, script);
      for (let edits = random.between(0, 3); edits > 0; edits--) script.push(await writer.edit());
    }
    for (const relay of relays()) relay.resetAll();
    const expected = {
      histories,
      lowLimit: Math.min(...ends.map(({ revsLimit }) => revsLimit)),
      isLong,
      mayLackAttachmentsOfTombstones: peer.urlForPouch !== undefined,
    };
    for (const chosen of [drivers, others]) {
      script.push(`the rest is copied, push by ${chosen.push}, pull by ${chosen.pull}`);
      await converge(chosen, random);
      const differences = await Promise.all(ends.map((end) => differencesAt(end, expected, random)));
      expect(differences.flat()).toEqual([]);
    }
    expect(histories.leaves('many leaves').length).toBeGreaterThanOrEqual(300);
    expect(server.kills).toBeGreaterThan(0);
    if (peer.killable !== undefined) expect(peer.killable.kills).toBeGreaterThan(0);
  },
  120_000 + steps * 10_000,
);
