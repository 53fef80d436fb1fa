/** Many continuous pulls from one host that has few connections for us, as in a browser: one feed of the server wakes those that have none. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HostConnectionLimits } from '../../../src/replication/connection-limits.ts';
import { patient } from '../../support/patience.ts';
import { type Place, World } from './places.ts';
import { begin, type Run, replicationOf } from './support.ts';

const soon = { ...patient, interval: 10 };

let world: World;

beforeAll(async () => {
  world = await World.open();
});
afterAll(() => world.close());

/** A network that knows which feeds are open: the kind, and the database of those of one. */
class Network {
  readonly open = new Set<string>();
  refusesEvents = false;
  /** Requests for changes that wait for none. */
  looks = 0;

  readonly fetch: typeof globalThis.fetch = (input, init) => {
    const { pathname, searchParams } = new URL(String(input));
    const isOfServer = pathname === '/_db_updates';
    if (isOfServer && this.refusesEvents) {
      return Promise.resolve(Response.json({ error: 'unauthorized', reason: 'no' }, { status: 401 }));
    }
    if (searchParams.get('feed') === 'normal') this.looks++;
    if (searchParams.get('feed') === 'continuous') {
      this.open.add(pathname);
      init?.signal?.addEventListener('abort', () => this.open.delete(pathname));
    }
    return globalThis.fetch(input, init);
  };

  get feeds(): { readonly ofServer: number; readonly ofDatabases: number } {
    const ofServer = this.open.has('/_db_updates') ? 1 : 0;
    return { ofServer, ofDatabases: this.open.size - ofServer };
  }
}

interface Pull {
  readonly source: Place;
  readonly target: Place;
  readonly run: Run;
}

async function pulls(network: Network, count: number): Promise<readonly Pull[]> {
  const host = { ...world.host, fetch: network.fetch, connectionLimits: new HostConnectionLimits() };
  const all: Pull[] = [];
  for (let n = 0; n < count; n++) {
    const source = await world.place('remote');
    const target = await world.place('local');
    const replication = replicationOf(source.endpoint, target.endpoint, { continuous: true });
    all.push({ source, target, run: begin(host, replication, `of-${n}`) });
  }
  return all;
}

async function expectCopied({ source, target }: Pull, id: string): Promise<void> {
  await source.ask('PUT', `/${id}`, { in: id });
  await expect.poll(async () => (await target.ask('GET', `/${id}`)).value, soon).toMatchObject({ in: id });
}

test('ten pulls use two connections without waiting, and the pull that reads the events can end', async () => {
  const network = new Network();
  const all = await pulls(network, 10);
  await Promise.all(all.map(({ run }) => run.idle()));
  await expect.poll(() => network.feeds, soon).toEqual({ ofServer: 1, ofDatabases: 1 });
  const before = network.looks;
  for (const pull of all) await expectCopied(pull, 'first');
  for (const pull of all) await expectCopied(pull, 'second');
  // One for each edit. If the eight without a feed polled instead, each of them would look several times meanwhile.
  expect(network.looks - before).toBeLessThanOrEqual(40);
  // Those that came first have the feed of their own, and read the events.
  const [first, second, ...others] = all;
  await Promise.all([first?.run.stop(), second?.run.stop()]);
  await expect.poll(() => network.feeds, soon).toEqual({ ofServer: 1, ofDatabases: 1 });
  for (const pull of others) await expectCopied(pull, 'third');
  await Promise.all(others.map(({ run }) => run.stop()));
  await expect.poll(() => network.feeds, soon).toEqual({ ofServer: 0, ofDatabases: 0 });
});

test('the deletion of a source is noticed through the shared feed', async () => {
  const network = new Network();
  const all = await pulls(network, 3);
  await Promise.all(all.map(({ run }) => run.idle()));
  await expect.poll(() => network.feeds, soon).toEqual({ ofServer: 1, ofDatabases: 1 });
  const last = all.at(-1);
  await last?.source.ask('DELETE', '');
  await expect(last?.run.result).rejects.toMatchObject({ code: 'db_not_found' });
  await Promise.all(all.map(({ run }) => run.stop()));
});

test('two pulls from a server without _db_updates have feeds of their own', async () => {
  const network = new Network();
  network.refusesEvents = true;
  const all = await pulls(network, 3);
  await Promise.all(all.map(({ run }) => run.idle()));
  await expect.poll(() => network.feeds, soon).toEqual({ ofServer: 0, ofDatabases: 2 });
  for (const pull of all) await pull.source.ask('PUT', '/doc', { in: 'doc' });
  for (const { target } of all) {
    const copy = async () => (await target.ask('GET', '/doc')).value;
    await expect.poll(copy, { ...patient, interval: 20 }).toMatchObject({ in: 'doc' });
  }
  await Promise.all(all.map(({ run }) => run.stop()));
});
