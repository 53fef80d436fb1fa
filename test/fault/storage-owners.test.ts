/** Two servers as processes of their own, on one storage in PostgreSQL: one owns it, and ends in every way there is. */
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { Cluster } from '../support/postgres/cluster.ts';
import { CuttingProxy } from '../support/postgres/cutting-proxy.ts';
import { dropSchema, mayBeMissing, newSchema, openPool } from '../support/postgres/postgres.ts';
import { SetteeProcess } from '../unit/node/settee-process.ts';

/** A machine that does other work is slow, and a lease takes 12 seconds. What is asserted is the order. */
const TIMEOUT_MS = 240_000;
const PATIENCE = { timeout: 120_000, interval: 100 };

const cluster = await Cluster.start({ fsync: true });
if (cluster === undefined) mayBeMissing();

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A server as a process; requests are sent to it alone, wherever it sends them on. */
class Server {
  readonly process: SetteeProcess;
  readonly url: string;

  private constructor(process: SetteeProcess, url: string) {
    this.process = process;
    this.url = url;
  }

  static async start(storage: string): Promise<Server> {
    const process = new SetteeProcess(['serve', '--port', '0', '--no-demo', '--storage', storage]);
    const line = await process.startUpLine();
    const url = / at (\S+) (?:and keeps|stands by)/.exec(line)?.[1];
    if (url === undefined) throw new Error(`no address in: ${line}`);
    return new Server(process, url);
  }

  async send(method: string, path: string, body?: unknown): Promise<Answer> {
    const init: RequestInit = { method, redirect: 'manual', headers: { 'content-type': 'application/json' } };
    const response = await fetch(`${this.url}${path}`, {
      ...init,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  }

  async up(): Promise<unknown> {
    const { status, body } = await this.send('GET', '_up');
    return `${status} ${body['role']}`;
  }

  signal(name: NodeJS.Signals): void {
    this.process.child.kill(name);
  }
}

describe.skipIf(cluster === undefined)('two servers on one storage', () => {
  const postgres = cluster as Cluster;
  const running = new Set<Server>();
  let storage = '';

  afterEach(async () => {
    for (const server of running) {
      server.signal('SIGCONT');
      await server.process.stop('SIGKILL');
    }
    running.clear();
    const pool = await openPool(storage);
    await dropSchema(pool);
    await pool.close();
  });
  afterAll(() => postgres.remove());

  async function start(url = storage): Promise<Server> {
    const server = await Server.start(url);
    running.add(server);
    return server;
  }

  /** The first owns the storage, and has a database. */
  async function startTwo(firstStorage?: string): Promise<[Server, Server]> {
    storage = firstStorage === undefined ? newSchema(postgres.url()) : storage;
    const first = await start(firstStorage ?? storage);
    await expect.poll(() => first.up(), PATIENCE).toBe('200 owner');
    expect(await first.send('PUT', 'db')).toMatchObject({ status: 201 });
    const second = await start();
    expect(await second.up()).toBe('503 standby');
    return [first, second];
  }

  /** Writes documents one after another until a write fails; returns the ids of those that were acknowledged. */
  async function writeUntilItEnds(server: Server): Promise<string[]> {
    const acknowledged: string[] = [];
    for (let at = 0; ; at += 1) {
      const answer = await server.send('PUT', `db/doc-${at}`, { at }).catch(() => undefined);
      if (answer?.status !== 201) return acknowledged;
      acknowledged.push(`doc-${at}`);
    }
  }

  async function idsOf(server: Server): Promise<string[]> {
    const { body } = await server.send('GET', 'db/_all_docs');
    const rows: unknown = body['rows'];
    return Array.isArray(rows) ? rows.map(({ id }) => String(id)) : [];
  }

  /** Waits until the server answers as the owner. Prints how long that took. */
  async function takesOver(server: Server, what: string): Promise<void> {
    const since = performance.now();
    await expect.poll(() => server.up(), PATIENCE).toBe('200 owner');
    console.info(`${what}: the other server answered ${((performance.now() - since) / 1000).toFixed(1)} s later`);
  }

  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'after %s of the owner, the other one has all that was acknowledged',
    async (signal) => {
      const [first, second] = await startTwo();
      const written = writeUntilItEnds(first);
      await expect.poll(async () => (await idsOf(first)).length, PATIENCE).toBeGreaterThan(20);
      expect(await second.send('GET', 'db')).toMatchObject({ status: 307 });
      first.signal(signal);
      await takesOver(second, signal);
      const acknowledged = await written;
      expect(acknowledged.length).toBeGreaterThan(20);
      const found = await idsOf(second);
      expect(found).toEqual(expect.arrayContaining(acknowledged));
      // At most the one write whose response was cut off.
      expect(found.length - acknowledged.length).toBeLessThanOrEqual(1);
      expect(await second.send('PUT', 'db/next', {})).toMatchObject({ status: 201 });
      if (signal === 'SIGTERM') expect(await first.process.exited).toMatchObject({ code: 0 });
    },
    TIMEOUT_MS,
  );

  test(
    'a paused owner that wakes answers nothing stale, and writes nothing twice',
    async () => {
      const [first, second] = await startTwo();
      const { body } = await first.send('PUT', 'db/doc', { by: 'first' });
      first.signal('SIGSTOP');
      // They wait in the socket, and are read when the owner wakes.
      const read = first.send('GET', 'db/doc');
      const write = first.send('PUT', 'db/late', { by: 'first' });
      const update = first.send('PUT', 'db/doc', { _rev: body['rev'], by: 'first, late' });
      await takesOver(second, 'SIGSTOP');
      expect(await second.send('PUT', 'db/doc', { _rev: body['rev'], by: 'second' })).toMatchObject({ status: 201 });
      first.signal('SIGCONT');
      for (const answer of [await read, await write, await update]) expect([307, 503]).toContain(answer.status);
      expect(await second.send('GET', 'db/doc')).toMatchObject({ body: { by: 'second' } });
      expect(await second.send('GET', 'db/doc?conflicts=true')).not.toHaveProperty('body._conflicts');
      expect(await second.send('GET', 'db/late')).toMatchObject({ status: 404 });
      // It stands by now, and takes over in its turn.
      await expect.poll(() => first.up(), PATIENCE).toBe('503 standby');
      second.signal('SIGKILL');
      await takesOver(first, 'SIGKILL of the second');
      expect(await first.send('GET', 'db/doc')).toMatchObject({ status: 200, body: { by: 'second' } });
    },
    TIMEOUT_MS,
  );

  test(
    'an owner that is cut off from the database stops, and answers nothing stale when it reaches it again',
    async () => {
      const proxy = await CuttingProxy.start(postgres.port);
      storage = newSchema(postgres.url());
      const [first, second] = await startTwo(`${proxy.url(new URL(storage).search)}&timeout=2`);
      const { body } = await first.send('PUT', 'db/doc', { by: 'first' });
      proxy.isDown = true;
      await expect.poll(() => first.up(), PATIENCE).not.toBe('200 owner');
      // The document is in its memory; still it does not answer.
      expect(await first.send('GET', 'db/doc')).toMatchObject({ status: 503 });
      await takesOver(second, 'cut off');
      expect(await second.send('PUT', 'db/doc', { _rev: body['rev'], by: 'second' })).toMatchObject({ status: 201 });
      expect(await first.send('GET', 'db/doc')).toMatchObject({ status: 503 });
      proxy.isDown = false;
      await expect
        .poll(async () => {
          const { status } = await first.send('GET', 'db/doc');
          expect([307, 503]).toContain(status);
          return first.up();
        }, PATIENCE)
        .toBe('503 standby');
      await expect.poll(async () => (await first.send('GET', 'db/doc')).status, PATIENCE).toBe(307);
      await proxy.close();
    },
    TIMEOUT_MS,
  );

  test(
    'a replica that lacks the last change of owner is refused by both, until they are started again',
    async () => {
      const [first, second] = await startTwo();
      await first.send('PUT', 'db/doc', { by: 'first' });
      await postgres.keepState();
      await expect.poll(() => first.up(), PATIENCE).toBe('200 owner');
      first.signal('SIGTERM');
      await takesOver(second, 'SIGTERM');
      const third = await start();
      expect(await third.up()).toBe('503 standby');
      expect(await second.send('PUT', 'db/lost', {})).toMatchObject({ status: 201 });
      await postgres.goBack();
      for (const server of [second, third]) {
        await expect.poll(() => server.up(), PATIENCE).toBe('503 none');
        expect(await server.send('GET', 'db/doc')).toMatchObject({
          status: 503,
          body: { error: 'storage_rolled_back', reason: expect.stringContaining('restart every Settee server') },
        });
        expect(server.process.stderr).toContain('has gone back to an earlier state');
        server.signal('SIGTERM');
        expect(await server.process.exited).toMatchObject({ code: 0 });
      }
      const fourth = await start();
      await expect.poll(() => fourth.up(), PATIENCE).toBe('200 owner');
      expect(await idsOf(fourth)).toEqual(['doc']);
    },
    TIMEOUT_MS,
  );
});
