/** Copies that are killed in the middle, and continued. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServer } from '../../src/node/server/server.ts';
import { buildServer } from '../support/crash/server-process.ts';
import { contentOf, fillServer } from '../support/known-content.ts';
import { dropSchema, newSchema, openPool, postgresUrl } from '../support/postgres/postgres.ts';

const root = join(import.meta.dirname, '..', '..');
const given = await postgresUrl();

/** Runs `settee copy`, which ends itself by SIGKILL before it sends statement `kill.at`, from 1, of those that match. */
async function copy(
  from: string,
  to: string,
  kill?: { readonly at: number; readonly statement: string },
): Promise<{ readonly code: number | null; readonly signal: string | null; readonly output: string }> {
  const launcher = `
    import pg from 'pg';
    const { query } = pg.Client.prototype;
    let left = ${kill?.at ?? 0};
    pg.Client.prototype.query = function (...given) {
      const text = given[0]?.text ?? given[0];
      if (left > 0 && new RegExp(${JSON.stringify(kill?.statement ?? '')}).test(text) && --left === 0) process.kill(process.pid, 'SIGKILL');
      return query.apply(this, given);
    };
    const { main } = await import(${JSON.stringify(pathToFileURL(join(root, 'dist/node/main.js')).href)});
    process.exitCode = await main(['copy', '--from', ${JSON.stringify(from)}, '--to', ${JSON.stringify(to)}]);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', launcher], { cwd: root });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code, signal] = await once(child, 'close');
  return { code, signal, output };
}

describe.skipIf(given === undefined)('a copy that is killed', () => {
  let temporary = '';
  let dataFolder = '';
  let storage = '';
  let original: Record<string, unknown> = {};

  beforeAll(async () => {
    buildServer();
    temporary = await mkdtemp(join(tmpdir(), 'settee-copy-kills-'));
    dataFolder = join(temporary, 'data');
    storage = newSchema(given ?? '');
    const server = await startServer({ port: 0, dataFolder, logLevel: 'error' });
    await fillServer(server, { documents: 3000, attachmentBytes: 20_000_000 });
    original = await contentOf(server);
    await server.close();
  }, 300_000);

  afterAll(async () => {
    const pool = await openPool(storage);
    await dropSchema(pool);
    await pool.close();
    await rm(temporary, { recursive: true });
  });

  async function query(text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const pool = await openPool(storage);
    try {
      return await pool.use((connection) => connection.query(text.replaceAll('SCHEMA', pool.address.schema)));
    } finally {
      await pool.close();
    }
  }

  test('shows nothing in PostgreSQL, and goes on from there', async () => {
    const killed = await copy(dataFolder, storage, { at: 4, statement: 'INSERT INTO \\S+pages' });
    expect(killed).toMatchObject({ signal: 'SIGKILL' });
    const drafts = await query(`SELECT id, name FROM SCHEMA.files WHERE name IS NOT NULL ORDER BY name`);
    expect(drafts.length).toBeGreaterThan(0);
    expect(drafts.map(({ name }) => String(name)).filter((name) => !/^_(copy|copied)\./.test(name))).toEqual([]);
    // Instead of waiting for the end of the lease.
    await query(`DELETE FROM SCHEMA.servers`);
    const done = await copy(dataFolder, storage);
    expect(done).toMatchObject({ code: 0, output: expect.stringMatching(/notes: 3003 documents/) });
    const files = await query(`SELECT id, name FROM SCHEMA.files WHERE name IS NOT NULL ORDER BY name`);
    // The list of databases may be begun anew: opening it changes it.
    for (const { id, name } of drafts) {
      const file = String(name).replace(/^_\w+\./, '');
      if (file !== 'registry') expect(files).toContainEqual({ id, name: file });
    }
    expect(files.filter(({ name }) => String(name).startsWith('_'))).toEqual([]);
    const server = await startServer({ port: 0, storage, logLevel: 'error' });
    expect(await contentOf(server)).toEqual(original);
    await server.close();
  }, 120_000);

  test.each([3, 8, 12])(
    'shows nothing in a data folder (statement %i), and goes on from there',
    async (at) => {
      const to = join(temporary, `back-${at}`);
      const killed = await copy(storage, to, { at, statement: 'SELECT number, is_text, value' });
      expect(killed).toMatchObject({ signal: 'SIGKILL' });
      const files = await readdir(join(to, 'databases'));
      expect(files.filter((file) => !file.startsWith('_'))).toEqual([]);
      expect(files.filter((file) => file.startsWith('_cop')).length).toBeGreaterThan(0);
      await query(`DELETE FROM SCHEMA.servers`);
      expect(await copy(storage, to)).toMatchObject({
        code: 0,
        output: expect.stringMatching(/notes: 3003 documents/),
      });
      const server = await startServer({ port: 0, dataFolder: to, logLevel: 'error' });
      expect(await contentOf(server)).toEqual(original);
      await server.close();
      expect((await readdir(join(to, 'databases'))).filter((file) => file.startsWith('_cop'))).toEqual([]);
    },
    120_000,
  );
});
