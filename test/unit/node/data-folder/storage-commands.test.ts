import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../../src/node/server/server.ts';
import { contentOf, fillServer } from '../../../support/known-content.ts';
import { dropSchema, newSchema, openPool, postgresUrl } from '../../../support/postgres/postgres.ts';
import { runCommand } from '../run-command.ts';

const given = await postgresUrl();

describe.skipIf(given === undefined)('on databases in PostgreSQL', () => {
  const schemas = new Set<string>();
  let temporary = '';
  let storage = '';
  let original: Record<string, unknown> = {};

  function schema(): string {
    const url = newSchema(given ?? '');
    schemas.add(url);
    return url;
  }

  async function serving<T>(url: string, work: (server: RunningServer) => Promise<T>): Promise<T> {
    const server = await startServer({ port: 0, logLevel: 'error', storage: url });
    try {
      return await work(server);
    } finally {
      await server.close();
    }
  }

  async function query(url: string, text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const pool = await openPool(url);
    try {
      return await pool.use((connection) => connection.query(text.replaceAll('SCHEMA', pool.address.schema)));
    } finally {
      await pool.close();
    }
  }

  beforeAll(async () => {
    temporary = await mkdtemp(join(tmpdir(), 'settee-commands-'));
    storage = schema();
    original = await serving(storage, async (server) => {
      await fillServer(server);
      await fetch(`${server.url}_config/svc/max_dbs_open`, { method: 'PUT', body: '"99"' });
      return contentOf(server);
    });
  });

  afterAll(async () => {
    for (const url of schemas) {
      const pool = await openPool(url);
      await dropSchema(pool);
      await pool.close();
    }
    await rm(temporary, { recursive: true });
  });

  /** Sequences and the time of the last loss differ in a restored database: it has gone back in time. */
  function withoutHistory({ counts, changes, emptySequence, ...rest }: Record<string, unknown>): unknown {
    const [documents, deleted] = counts as unknown[];
    const { results } = changes as { results: readonly Record<string, unknown>[] };
    return {
      ...rest,
      documents,
      deleted,
      results: results.map(({ seq, ...row }) => row),
      isThere: emptySequence !== undefined,
    };
  }

  test('verify reports no damage, and the database that is damaged', async () => {
    const sound = await runCommand(['verify', '--storage', storage]);
    expect(sound.code).toBe(0);
    expect(sound.stdout).toMatch(/^empty: 0 documents, .* no damage\nnotes: 304 documents, .* no damage\n$/);
    const damaged = schema();
    await runCommand(['copy', '--from', storage, '--to', damaged]);
    const [row] = await query(
      damaged,
      `SELECT id FROM SCHEMA.files WHERE name LIKE 'notes.%' AND name NOT LIKE '%.%.%'`,
    );
    const table = `SCHEMA.pages_${Number(row?.['id']) % 16}`;
    await query(
      damaged,
      `UPDATE ${table} SET value = set_byte(value, 9, 1) WHERE file = ${row?.['id']} AND NOT is_text`,
    );
    const found = await runCommand(['verify', '--storage', damaged]);
    expect(found.code).toBe(1);
    expect(found.stdout).toMatch(/^empty: .* no damage\nnotes: \d+ documents, .* findings\n {2}/);
    const repaired = await runCommand(['verify', '--repair', '--storage', damaged]);
    expect(repaired.stdout).toContain("note-0, which can't be read; restore it from a backup or another replica.");
    const names = await runCommand(['verify', 'other', '--storage', storage]);
    expect(names.stderr).toMatch(
      /^There is no database "other" in postgres:\/\/.* \(schema test_\w+\)\. Check the spelling of its name\.\n$/,
    );
  });

  test('compact makes them smaller', async () => {
    const url = schema();
    await serving(url, async (server) => {
      await fetch(`${server.url}db`, { method: 'PUT' });
      const headers = { 'content-type': 'application/json' };
      let rev = '';
      for (let n = 0; n < 60; n += 1) {
        const body = JSON.stringify({ ...(rev && { _rev: rev }), text: `${n}`.repeat(8000) });
        const response = await fetch(`${server.url}db/a`, { method: 'PUT', headers, body });
        rev = ((await response.json()) as { rev: string }).rev;
      }
    });
    const compacted = await runCommand(['compact', '--storage', url]);
    expect(compacted).toMatchObject({ code: 0, stderr: '' });
    const [, after, before] = /^db: ([\d.]+) kB, before ([\d.]+) kB\n$/.exec(compacted.stdout) ?? [];
    expect(Number(after)).toBeGreaterThan(0);
    expect(Number(before)).toBeGreaterThan(5 * Number(after));
    const other = await runCommand(['compact', 'other', '--storage', url]);
    expect(other).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no database "other" in postgres://'),
    });
  });

  test('compact works on a data folder, too', async () => {
    const folder = join(temporary, 'compacted');
    await runCommand(['copy', '--from', storage, '--to', folder]);
    expect(await runCommand(['compact', 'notes', '--data', folder])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^notes: [\d.]+ kB, before [\d.]+ kB\n$/),
    });
  });

  test('backup copies them while a server writes, and restore makes either home of it', async () => {
    const backup = join(temporary, 'backup');
    await serving(storage, async () => {
      const done = await runCommand(['backup', backup, '--storage', storage]);
      expect(done).toMatchObject({ code: 0, stderr: '' });
      expect(done.stdout).toMatch(/^settings: copied, \d+ bytes\n(.*: copied, \d+ bytes\n)+list of databases: copied/);
    });
    expect(await readFile(join(backup, 'settee.ini'), 'utf8')).toBe('[svc]\nmax_dbs_open = 99\n');
    const verified = await runCommand(['verify', '--data', backup]);
    expect(verified).toMatchObject({ code: 0, stdout: expect.stringMatching(/notes: 304 documents, .* no damage/) });
    const restored = schema();
    const again = await runCommand(['restore', backup, '--storage', restored]);
    expect(again).toMatchObject({ code: 0, stderr: '' });
    const content = await serving(restored, contentOf);
    expect(withoutHistory(content)).toEqual(withoutHistory(original));
    expect((content['counts'] as unknown[])[2]).not.toEqual((original['counts'] as unknown[])[2]);
    const folder = join(temporary, 'restored');
    expect(await runCommand(['restore', backup, '--data', folder])).toMatchObject({ code: 0, stderr: '' });
    const server = await startServer({ port: 0, logLevel: 'error', dataFolder: folder });
    expect(withoutHistory(await contentOf(server))).toEqual(withoutHistory(original));
    await server.close();
  });

  test('backup has one moment of all databases, and nothing of later ones', async () => {
    const url = schema();
    const backup = join(temporary, 'moment');
    await serving(url, async (server) => {
      for (const name of ['a', 'b']) await fetch(`${server.url}${name}`, { method: 'PUT' });
      const done = await runCommand(['backup', backup, '--storage', url]);
      expect(done.code).toBe(0);
      await fetch(`${server.url}c`, { method: 'PUT' });
    });
    expect((await runCommand(['verify', '--data', backup])).stdout).toMatch(/^a: .*\nb: .*\n$/);
  });

  test('restore puts nothing into a storage with databases', async () => {
    const backup = join(temporary, 'for-restore');
    await runCommand(['backup', backup, '--storage', storage]);
    const refused = await runCommand(['restore', backup, '--storage', storage]);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^postgres:\/\/.* holds databases already\. Restore into another schema/);
    const nowhere = await runCommand(['restore', backup]);
    expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining('settee restore SOURCE --storage URL') });
  });

  test('restore says that the storage has no admin, if its server had one', async () => {
    const source = schema();
    await runCommand(['admin', 'add', 'ada', '--storage', source], 'secret\n');
    await serving(source, async () => undefined);
    const backup = join(temporary, 'with-admin');
    expect(await runCommand(['backup', backup, '--storage', source])).toMatchObject({ code: 0 });
    await writeFile(join(backup, 'settee.ini'), '[log]\nlevel = error\n');
    const restored = schema();
    const done = await runCommand(['restore', backup, '--storage', restored]);
    expect(done.stderr).toContain('THE RESTORED STORAGE HAS NO ADMIN');
    await expect(startServer({ port: 0, logLevel: 'none', storage: restored })).rejects.toThrow(
      'its server had admins',
    );
  });

  test('replicate takes their names', async () => {
    const url = schema();
    await serving(url, (server) => fetch(`${server.url}copy`, { method: 'PUT' }));
    await serving(storage, async (server) => {
      const done = await runCommand(['replicate', `${server.url}notes`, 'copy', '--storage', url]);
      expect(done).toMatchObject({ code: 0, stdout: expect.stringMatching(/^30\d written, 0 refused/) });
    });
    expect((await runCommand(['verify', 'copy', '--storage', url])).stdout).toMatch(/^copy: 304 documents/);
  });

  test.each([['verify'], ['compact']])('%s is refused while a server uses the storage', async (command) => {
    await serving(storage, async (server) => {
      const refused = await runCommand([command, '--storage', storage]);
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toContain(`which answers at ${server.url}`);
      expect(refused.stderr).toContain('Stop that server first');
    });
  });

  test.each([[['verify']], [['compact']], [['backup', join(tmpdir(), 'settee-never')]]])(
    '%j creates no tables where no server ever was, and prints no password',
    async (argv) => {
      const url = new URL(newSchema(given ?? ''));
      url.password = 'hunter2';
      const refused = await runCommand([...argv, '--storage', url.href]);
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toMatch(/^There is no storage at postgres:\/\/.*Check the database and the schema/);
      expect(refused.stderr).not.toContain('hunter2');
      const name = url.searchParams.get('schema');
      expect(await query(storage, `SELECT 1 FROM pg_namespace WHERE nspname = '${name}'`)).toEqual([]);
      await expect(stat(join(tmpdir(), 'settee-never'))).rejects.toThrow();
    },
  );
});
