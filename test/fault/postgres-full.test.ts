/** PostgreSQL whose disk is full: what needs space is refused, nothing that was acknowledged is lost, and all goes on once there is space. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isDatabaseError } from '../../src/base/errors/database-error.ts';
import { type RunningServer, startServer } from '../../src/node/server/server.ts';
import type { Commit, PageFile, PageStore } from '../../src/storage/page-store.ts';
import type { ConnectionPool } from '../../src/storage/postgres/connection-pool.ts';
import { createPostgresPageStore } from '../../src/storage/postgres/postgres-page-store.ts';
import { PAGE_TABLES } from '../../src/storage/postgres/schema.ts';
import { contentOf, rejects } from '../conformance/storage/expectations.ts';
import { isLongRun, roundsOf } from '../support/long-runs.ts';
import { Cluster, NOBODY } from '../support/postgres/cluster.ts';
import { commitsFrom, FileModel } from '../support/postgres/file-model.ts';
import { dropSchema, mayBeMissing, newSchema, openPool } from '../support/postgres/postgres.ts';
import { SmallDisk } from '../support/small-disk.ts';
import { runCommand } from '../unit/node/run-command.ts';

const PATIENCE = { timeout: 120_000, interval: 200 };
const TIMEOUT_MS = roundsOf(300_000, 3_600_000);

const cluster = await Cluster.start({ fsync: true });
if (cluster === undefined) mayBeMissing();
const disk = cluster && SmallDisk.mount(24, NOBODY);
if (cluster !== undefined && disk === undefined)
  console.info('No disk can be mounted here: tests of full ones are skipped.');

afterAll(async () => {
  await cluster?.remove();
  disk?.unmount();
});

describe.skipIf(cluster === undefined)('a statement that PostgreSQL refuses since its disk is full', () => {
  const postgres = cluster as Cluster;

  let pool: ConnectionPool;
  let schema = '';

  const query = (text: string) => pool.use((connection) => connection.query(text));

  /** Statements that write are counted; those from `full_from` on are refused. */
  beforeAll(async () => {
    pool = await openPool(newSchema(postgres.url()));
    schema = pool.address.schema;
    await query(`CREATE SEQUENCE ${schema}.writes`);
    await query(`CREATE TABLE ${schema}.disk (full_from bigint)`);
    await query(`INSERT INTO ${schema}.disk VALUES (NULL)`);
    await query(`CREATE FUNCTION ${schema}.write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF nextval('${schema}.writes') >= (SELECT full_from FROM ${schema}.disk) THEN
        RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full';
      END IF;
      RETURN NULL;
    END $$`);
    for (const table of ['files', 'journal', ...Array.from({ length: PAGE_TABLES }, (_, part) => `pages_${part}`)]) {
      await query(`CREATE TRIGGER disk BEFORE INSERT OR UPDATE ON ${schema}.${table}
        FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.write()`);
    }
  }, 60_000);
  afterAll(async () => {
    await dropSchema(pool);
    await pool.close();
  });

  /** The disk is full after so many statements more. */
  const fillAfter = (count: number) =>
    query(`UPDATE ${schema}.disk SET full_from = (SELECT last_value FROM ${schema}.writes) + ${count}`);
  const mend = () => query(`UPDATE ${schema}.disk SET full_from = NULL`);

  /** Returns whether a statement was refused. */
  async function tryWith(at: number): Promise<boolean> {
    const name = `file-${at}`;
    const store = createPostgresPageStore(pool);
    const model = new FileModel();
    let isRefused = false;
    const onceMended = async <T>(work: () => Promise<T>, whileFull?: () => Promise<void>): Promise<T> => {
      try {
        return await work();
      } catch (error) {
        expect(isDatabaseError(error, 'storage_full'), String(error)).toBe(true);
        isRefused = true;
        await rejects('storage_full', work);
        await whileFull?.();
        await mend();
        return work();
      }
    };
    await fillAfter(at);
    for (const mode of ['create', 'open'] as const) {
      const file = await onceMended(() => store.open(name, mode));
      for (const commit of commitsFrom(file.opening.nextJournal)) {
        await onceMended(
          () => file.commit(commit),
          () => canRead(file, model),
        );
        model.apply(commit);
      }
      await canRead(file, model);
      await file.close();
    }
    await mend();
    await mustHold(store, name, model);
    return isRefused;
  }

  async function canRead(file: PageFile, { pages }: FileModel): Promise<void> {
    for (const [number, value] of pages) {
      if (typeof value === 'string') expect(await file.read(number, 'text')).toBe(value);
      else expect(Buffer.compare((await file.read(number, 'bytes')) ?? Buffer.of(), value), `page ${number}`).toBe(0);
    }
  }

  async function mustHold(store: PageStore, name: string, model: FileModel): Promise<void> {
    const file = await store.open(name, 'open');
    expect(await contentOf(file)).toEqual(model.content);
    const texts = [...model.journal.values(), model.head ?? ''].reduce((sum, { length }) => sum + length, 0);
    expect(await file.size()).toBe(model.pageBytes + texts);
    const next: Commit = { durability: 'strict', journal: { number: file.opening.nextJournal, text: 'goes on' } };
    await file.commit(next);
    await store.close();
  }

  test(
    'changes nothing, whichever it is, and is carried out once there is space',
    async () => {
      const step = isLongRun ? 1 : 4;
      let at = isLongRun ? 1 : 1 + Math.floor(Math.random() * step);
      while (await tryWith(at)) at += step;
      expect(at).toBeGreaterThan(20);
    },
    TIMEOUT_MS,
  );
});

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A client of one server, which knows what was acknowledged. */
class Client {
  server: RunningServer;
  /** The texts of acknowledged documents, by id. */
  readonly acknowledged = new Map<string, string>();

  constructor(server: RunningServer) {
    this.server = server;
  }

  /** Each write waits until it is durable. */
  async send(method: string, path: string, body?: unknown): Promise<Answer> {
    const headers = { 'content-type': 'application/json', 'x-svc-full-commit': 'true' };
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const response = await fetch(`${this.server.url}${path}`, init);
    return { status: response.status, body: (await response.json()) as Answer['body'] };
  }

  /** Waits where a machine that stood still has lost the ownership for a moment: the server then says so, or hangs up in a response. */
  async patiently(method: string, path: string, body?: unknown): Promise<Answer> {
    for (;;) {
      const answer = await this.send(method, path, body).catch((error: unknown) => {
        if (method !== 'GET') throw error;
      });
      if (answer !== undefined && answer.body['error'] !== 'service_unavailable') return answer;
      await delay(PATIENCE.interval);
    }
  }

  async put(id: string, text: string): Promise<Answer> {
    const answer = await this.send('PUT', `db/${id}`, { text });
    if (answer.status === 201) this.acknowledged.set(id, text);
    return answer;
  }

  /** Writes documents with so many characters until one is refused; returns that response. */
  async fill(length: number): Promise<Answer> {
    for (let at = 0; ; at += 1) {
      const answer = await this.put(`doc-${length}-${at}`, `${at % 10}`.repeat(length));
      if (![201, 409].includes(answer.status) && answer.body['error'] !== 'service_unavailable') return answer;
    }
  }

  /** `surplus`: ids of writes without a known outcome, which may be there. */
  async mustFindAll(surplus: readonly string[] = []): Promise<void> {
    const { body } = await this.patiently('GET', 'db/_all_docs?include_docs=true');
    const rows = body['rows'] as readonly { readonly id: string; readonly doc: { readonly text: string } }[];
    const found = rows.filter(({ id }) => this.acknowledged.has(id) || !surplus.includes(id));
    expect(new Map(found.map(({ id, doc }) => [id, doc.text]))).toEqual(this.acknowledged);
  }
}

function start(storage: string): Promise<RunningServer> {
  return startServer({ port: 0, storage, logLevel: 'error', onLog: (line) => console.info(line) });
}

async function mustBeSound(storage: string): Promise<void> {
  const verified = await runCommand(['verify', '--storage', storage]);
  expect(verified).toMatchObject({ code: 0, stdout: expect.stringMatching(/^db: \d+ documents, .*no damage\n$/) });
}

describe.skipIf(disk === undefined)('a database of PostgreSQL on a full disk', () => {
  const [postgres, small] = [cluster as Cluster, disk as SmallDisk];

  test(
    'answers writes with 507, and reads as before; writes go on once there is space',
    async () => {
      const pool = await openPool(newSchema(postgres.url()));
      for (const text of [
        `CREATE TABLESPACE small LOCATION '${small.folder}'`,
        'CREATE DATABASE small TEMPLATE template0 TABLESPACE small',
      ]) {
        await pool.use((connection) => connection.query(text));
      }
      await dropSchema(pool);
      await pool.close();
      const storage = postgres.url().replace(/postgres$/, 'small');
      const client = new Client(await start(storage));
      expect(await client.send('PUT', 'db')).toMatchObject({ status: 201 });
      for (const length of [200_000, 10_000, 100]) {
        expect(await client.fill(length)).toEqual({
          status: 507,
          body: { error: 'insufficient_storage', reason: expect.stringContaining('No space is left for file "db.') },
        });
      }
      expect(client.acknowledged.size).toBeGreaterThan(40);
      await client.mustFindAll();
      expect(await client.patiently('GET', '_up')).toMatchObject({ status: 200, body: { role: 'owner' } });
      small.resize(64);
      await expect.poll(async () => (await client.put('later', 'later')).status, PATIENCE).toBe(201);
      await client.mustFindAll();
      await client.server.close();
      client.server = await start(storage);
      await client.mustFindAll();
      await client.server.close();
      await mustBeSound(storage);
    },
    TIMEOUT_MS,
  );
});

describe.skipIf(disk === undefined)('PostgreSQL that stops since the disk of its log is full', () => {
  test(
    'has all that was acknowledged as durable once it is started with more space, and writes go on',
    async () => {
      const whole = SmallDisk.mount(100, NOBODY) as SmallDisk;
      const postgres = (await Cluster.start({ fsync: true, parent: whole.folder })) as Cluster;
      const storage = postgres.url('?timeout=3');
      const client = new Client(await start(storage));
      try {
        expect(await client.send('PUT', 'db')).toMatchObject({ status: 201 });
        const unknown: string[] = [];
        for (let at = 0; unknown.length < 3; at += 1) {
          const answer = await client.put(`doc-${at}`, `${at % 10}`.repeat(200_000));
          if (answer.status === 201) continue;
          expect([503, 507]).toContain(answer.status);
          unknown.push(`doc-${at}`);
        }
        whole.resize(300);
        await postgres.restart();
        await expect.poll(async () => (await client.put('later', 'later')).status, PATIENCE).toBe(201);
        expect(client.acknowledged.size).toBeGreaterThan(40);
        await client.mustFindAll(unknown);
        await client.server.close();
        await mustBeSound(storage);
      } finally {
        await client.server.close();
        await postgres.remove();
        whole.unmount();
      }
    },
    TIMEOUT_MS,
  );
});
