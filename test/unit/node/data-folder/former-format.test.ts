import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../../../src/base/shared/clock.ts';
import { type Core, createCore } from '../../../../src/core/core.ts';
import { deferredAtHand } from '../../../../src/core/deferred/deferred-code.ts';
import { startServer } from '../../../../src/node/server/server.ts';
import { createMemoryFile, createMemoryPageStore, MemoryMedium } from '../../../../src/storage/memory-page-store.ts';
import { unpackFolder } from '../../../support/packed-folder.ts';
import { dropSchema, newSchema, openPool, postgresUrl } from '../../../support/postgres/postgres.ts';
import { textOf } from '../../http/support.ts';
import { createTestSandbox } from '../../queries/sandbox/quickjs-files.ts';
import { runCommand } from '../run-command.ts';

const postgres = await postgresUrl();
/** Data of earlier formats (test/fixtures/README.md) is opened, is whole, and goes on in the present format. */
const fixtures = join(import.meta.dirname, '..', '..', '..', 'fixtures');

/** Sends a request and gives the JSON of its answer. */
type Ask = (method: string, path: string, json?: unknown) => Promise<unknown>;

async function expectDocuments(ask: Ask, db: string): Promise<void> {
  expect(await ask('GET', `/${db}/doc-0123`)).toMatchObject({ n: 123, kind: 'third' });
  expect(await ask('GET', `/${db}/large`)).toMatchObject({ text: 'x'.repeat(100_000) });
  expect(await ask('GET', `/${db}/huge`)).toMatchObject({ text: 'y'.repeat(1_500_000) });
  expect(await ask('GET', `/${db}/edited`)).toMatchObject({ step: 2 });
  expect(await ask('GET', `/${db}/conflict?conflicts=true`)).toMatchObject({ _rev: '2-c', _conflicts: ['2-b'] });
  expect(await ask('GET', `/${db}/conflict?rev=2-b`)).toMatchObject({ side: 'b' });
  expect(await ask('GET', `/${db}/gone`)).toMatchObject({ error: 'not_found', reason: 'deleted' });
  expect(await ask('GET', `/${db}/_local/checkpoint`)).toMatchObject({ seq: 7 });
  expect(await ask('GET', `/${db}/_security`)).toEqual({ members: { names: ['ann'], roles: [] } });
  expect(await ask('GET', `/${db}/_revs_limit`)).toBe(50);
}

async function expectJournalled(ask: Ask, db: string): Promise<void> {
  expect(await ask('GET', `/${db}/journalled`)).toMatchObject({ n: 1000 });
  expect(await ask('GET', `/${db}/journalled-large`)).toMatchObject({ text: 'z'.repeat(80_000) });
  expect(await ask('GET', `/${db}/last`)).toMatchObject({ n: 1002 });
  expect(await ask('GET', `/${db}/doc-0007`)).toMatchObject({ n: 7, changed: true });
  expect(await ask('GET', `/${db}/doc-0008`)).toMatchObject({ error: 'not_found', reason: 'deleted' });
  expect(await ask('GET', `/${db}/_local/late`)).toMatchObject({ late: true });
}

/** Sums of `n` by kind, over what `killed` has. */
const SUMS = [
  { key: null, value: -15 + 5 + 1000 + 1001 + 1002 },
  { key: 'other', value: 30_000 - 8 },
  { key: 'third', value: 14_850 },
];

async function sums(ask: Ask, db: string, parameters = ''): Promise<unknown> {
  return ask('GET', `/${db}/_design/d/_view/kinds?group=true${parameters}`);
}

async function write(ask: Ask, db: string, id: string): Promise<void> {
  expect(await ask('PUT', `/${db}/${id}`, { kind: 'new', n: 1 })).toMatchObject({ ok: true });
}

describe('a data folder of format 1', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'settee-format-'));
    await unpackFolder(join(fixtures, 'data-folder-format-1.gz'), folder);
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function serve(use: (ask: Ask) => Promise<void>): Promise<void> {
    const server = await startServer({ port: 0, dataFolder: folder, logLevel: 'error' });
    const ask: Ask = async (method, path, json) => {
      const headers = { 'content-type': 'application/json' };
      const body = json === undefined ? null : JSON.stringify(json);
      return (await fetch(server.url + path.slice(1), { method, headers, body })).json();
    };
    await use(ask).finally(() => server.close());
  }

  async function expectNoDamage(): Promise<void> {
    const { code, stdout } = await runCommand(['verify', '--data', folder]);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^closed: .*, no damage\nkilled: .*, no damage\n$/),
    });
  }

  test('can be verified unchanged', expectNoDamage);

  test('is opened with all its content', async () => {
    await serve(async (ask) => {
      for (const db of ['closed', 'killed']) await expectDocuments(ask, db);
      await expectJournalled(ask, 'killed');
      expect(await sums(ask, 'killed')).toEqual({ rows: SUMS });
      const found = await ask('POST', '/closed/_find', { selector: { n: { $gt: 297 } }, fields: ['n'] });
      expect(found).toMatchObject({ docs: [{ n: 298 }, { n: 299 }] });
    });
  });

  test('can be written, and is complete after each step of its conversion', async () => {
    await serve(async (ask) => {
      for (const db of ['closed', 'killed']) await write(ask, db, 'new-1');
    });
    await expectNoDamage();
    await serve(async (ask) => {
      for (const db of ['closed', 'killed']) {
        await write(ask, db, 'new-2');
        await expectDocuments(ask, db);
      }
      await expectJournalled(ask, 'killed');
      expect(await sums(ask, 'killed')).toEqual({ rows: [SUMS[0], { key: 'new', value: 2 }, ...SUMS.slice(1)] });
    });
    await expectNoDamage();
  });

  test('can be copied to another data folder', async () => {
    const to = `${folder}-copy`;
    try {
      expect(await runCommand(['copy', '--from', folder, '--to', to])).toMatchObject({ code: 0 });
      const { code, stdout } = await runCommand(['verify', '--data', to]);
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: expect.stringMatching(/^closed: .*\nkilled: .*, no damage\n$/),
      });
    } finally {
      await rm(to, { recursive: true });
    }
  });

  /** Calls `use` with a schema of its own. */
  async function inSchema(use: (storage: string) => Promise<void>): Promise<void> {
    const storage = newSchema(postgres ?? '');
    try {
      await use(storage);
    } finally {
      const pool = await openPool(storage);
      await dropSchema(pool);
      await pool.close();
    }
  }

  test.skipIf(postgres === undefined)('is not copied to PostgreSQL, but in words that say what to do', () =>
    inSchema(async (storage) => {
      const copied = await runCommand(['copy', '--from', folder, '--to', storage]);
      expect(copied).toMatchObject({ code: 1, stdout: '' });
      expect(copied.stderr).toMatch(
        /^File "registry" can't be copied to PostgreSQL: its page \d+ has no valid checksum\./,
      );
      expect(copied.stderr).toContain('copy each database by "settee replicate"');
      await expectNoDamage();
      expect(await runCommand(['verify', '--storage', storage])).toMatchObject({ code: 1, stdout: '' });
    }),
  );

  test.skipIf(postgres === undefined)('is replicated to PostgreSQL', () =>
    inSchema(async (storage) => {
      const server = await startServer({ port: 0, dataFolder: folder, logLevel: 'error' });
      const words = ['replicate', `${server.url}killed`, 'killed', '--storage', storage, '--create-target'];
      const replicated = await runCommand(words).finally(() => server.close());
      expect(replicated).toMatchObject({ code: 0, stdout: expect.stringContaining('0 refused') });
      const { stdout } = await runCommand(['verify', '--storage', storage]);
      expect(stdout).toMatch(/^killed: 310 documents, .* no damage\n$/);
    }),
  );
});

interface StoredFile {
  readonly name: string;
  readonly epoch: number;
  readonly journalFloor: number;
  readonly head: string;
  readonly journal: readonly { readonly number: number; readonly text: string }[];
  readonly pages: readonly { readonly number: number; readonly text?: string; readonly base64?: string }[];
}

describe('pages of format 1', () => {
  const cores: Core[] = [];

  afterEach(async () => {
    for (const core of cores.splice(0)) await core.close();
  });

  async function loadMedium(): Promise<MemoryMedium> {
    const medium = new MemoryMedium();
    const stored: StoredFile[] = JSON.parse(
      gunzipSync(await readFile(join(fixtures, 'pages-format-1.json.gz'))).toString(),
    );
    for (const { name, epoch, journalFloor, head, journal, pages } of stored) {
      const file = { ...createMemoryFile(), epoch, journalFloor, head };
      for (const record of journal) file.journal.set(record.number, record);
      for (const { number, text, base64 = '' } of pages) {
        file.pages.set(number, text ?? new Uint8Array(Buffer.from(base64, 'base64')));
      }
      medium.files.set(name, file);
    }
    return medium;
  }

  async function open(medium: MemoryMedium): Promise<{ core: Core; ask: Ask }> {
    const core = await createCore({
      storage: createMemoryPageStore({ medium }),
      clock: systemClock,
      random: systemRandom,
      deferred: deferredAtHand(createTestSandbox()),
      engine: 'fixture',
    });
    cores.push(core);
    const ask: Ask = async (method, url, json) => {
      const headers = { accept: 'application/json', 'content-type': 'application/json' };
      const answer = await core.handle({
        method,
        url,
        headers,
        body: json === undefined ? null : JSON.stringify(json),
      });
      return JSON.parse(await textOf(answer.body));
    };
    return { core, ask };
  }

  const verify = (core: Core) => core.registry.use('db', (database) => database.verify());

  test('are read and verified, and their indexes are rebuilt, as their rows could be in another order', async () => {
    const { core, ask } = await open(await loadMedium());
    expect(await sums(ask, 'db', '&stale=ok')).toEqual({ rows: [] });
    await expectDocuments(ask, 'db');
    await expectJournalled(ask, 'db');
    expect(await sums(ask, 'db')).toEqual({ rows: SUMS });
    expect((await verify(core)).damage).toEqual([]);
  });
});
