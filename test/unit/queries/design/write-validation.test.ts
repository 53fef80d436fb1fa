import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { systemClock, systemRandom } from '../../../../src/base/shared/clock.ts';
import { nextTurn } from '../../../../src/base/shared/turn.ts';
import { type Core, createCore } from '../../../../src/core/core.ts';
import { deferredAtHand } from '../../../../src/core/deferred/deferred-code.ts';
import type { Database } from '../../../../src/database/store/contract.ts';
import { createFetch } from '../../../../src/http/fetch-adapter.ts';
import { WriteValidation } from '../../../../src/queries/design/write-validation.ts';
import type { Program, ProgramSource, Sandbox, ValidatedWrite } from '../../../../src/queries/sandbox/contract.ts';
import { createMemoryPageStore } from '../../../../src/storage/memory-page-store.ts';
import { Bench, put, settle } from '../../database/store/harness.ts';

/** A sandbox that records its calls, and refuses documents that contain `bad`. */
class FakeSandbox implements Sandbox {
  readonly opened: ProgramSource[] = [];
  readonly asked: ValidatedWrite[][] = [];
  /** Awaited by each validation. */
  pause: Promise<void> = Promise.resolve();

  async open(source: ProgramSource): Promise<Program> {
    this.opened.push(source);
    const unused = () => {
      throw new Error('not part of this test');
    };
    return {
      mapper: unused,
      reducer: unused,
      validates: true,
      validate: async (writes) => {
        this.asked.push([...writes]);
        await this.pause;
        return writes.map(({ newDocument }) =>
          newDocument.includes('bad') ? new DatabaseError('forbidden', 'bad') : undefined,
        );
      },
      filter: unused,
      filterByView: unused,
      show: unused,
      update: unused,
      list: unused,
      close: () => {},
    };
  }

  close(): void {}
}

let sandbox: FakeSandbox;
let core: Core;

beforeEach(async () => {
  sandbox = new FakeSandbox();
  core = await openCore(sandbox);
  await ask('PUT', '/db');
});

afterEach(() => core.close());

function openCore(using?: Sandbox, expectFunctions = () => {}): Promise<Core> {
  const options = { storage: createMemoryPageStore(), clock: systemClock, random: systemRandom };
  return createCore({ ...options, deferred: Object.assign(deferredAtHand(using), { expectFunctions }) });
}

async function ask(method: string, path: string, body?: unknown, on = core): Promise<[number, unknown]> {
  const headers = { 'content-type': 'application/json' };
  const text = body === undefined ? null : JSON.stringify(body);
  const answer = await createFetch(on.handle)(
    new Request(`http://settee.test${path}`, { method, headers, body: text }),
  );
  return [answer.status, await answer.json()];
}

const RULES = { validate_doc_update: 'function () {}' };

describe('which functions validate a write', () => {
  test('are none if no design document has one', async () => {
    await ask('PUT', '/db/_design/views', { views: {} });
    await ask('PUT', '/db/_design/none', { validate_doc_update: null });
    expect((await ask('PUT', '/db/bad', {}))[0]).toBe(201);
    expect(sandbox.opened).toEqual([]);
  });

  test('are those of each design document, which is passed as a whole', async () => {
    await ask('PUT', '/db/_design/rules', { ...RULES, lib: { a: 'b' } });
    await ask('PUT', '/db/_design/views', { views: {} });
    await ask('PUT', '/db/a', { n: 1 });
    expect(sandbox.opened).toHaveLength(1);
    const [{ designId, designDocument, timeoutMs } = expect.fail()] = sandbox.opened;
    expect([designId, timeoutMs]).toEqual(['_design/rules', 5000]);
    expect(JSON.parse(designDocument)).toMatchObject({ _id: '_design/rules', ...RULES, lib: { a: 'b' } });
  });

  test('are the same program until their design document changes', async () => {
    const [, written] = await ask('PUT', '/db/_design/rules', RULES);
    for (const id of ['a', 'b', 'c']) await ask('PUT', `/db/${id}`, {});
    expect([sandbox.opened.length, sandbox.asked.length]).toEqual([1, 3]);
    const { rev }: { rev?: string } = Object(written);
    await ask('PUT', '/db/_design/rules', { ...RULES, _rev: rev, n: 2 });
    await ask('PUT', '/db/d', {});
    expect(sandbox.opened.map(({ signature }) => signature.split(' ')[0])).toEqual(['_design/rules', '_design/rules']);
    expect(new Set(sandbox.opened.map(({ signature }) => signature)).size).toBe(2);
  });

  test('are none after the last of them was purged', async () => {
    const [, written] = await ask('PUT', '/db/_design/rules', RULES);
    const { rev }: { rev?: string } = Object(written);
    expect((await ask('PUT', '/db/bad', {}))[0]).toBe(403);
    await ask('POST', '/db/_purge', { '_design/rules': [rev] });
    expect((await ask('PUT', '/db/bad', {}))[0]).toBe(201);
  });

  test("are those of the write's own database", async () => {
    await ask('PUT', '/other');
    for (const db of ['db', 'other']) {
      await ask('PUT', `/${db}/_design/rules`, RULES);
      await ask('PUT', `/${db}/a`, {});
    }
    const [first, second] = sandbox.opened;
    expect(first?.scope).not.toBe(second?.scope);
    expect(first?.signature).toBe(second?.signature);
  });
});

describe('a write that is being validated', () => {
  test('delays no other write, and is refused as a conflict if another one replaced the same revision meanwhile', async () => {
    const [, first] = await ask('PUT', '/db/a', { n: 1 });
    const { rev }: { rev?: string } = Object(first);
    await ask('PUT', '/db/_design/rules', RULES);
    let resume = () => {};
    sandbox.pause = new Promise((resolve) => {
      resume = resolve;
    });
    const slow = ask('PUT', '/db/a', { _rev: rev, n: 2 });
    while (sandbox.asked.length === 0) await nextTurn();
    sandbox.pause = Promise.resolve();
    expect((await ask('PUT', '/db/a', { _rev: rev, n: 3 }))[0]).toBe(201);
    expect((await ask('PUT', '/db/_design/other', {}))[0]).toBe(201);
    resume();
    expect((await slow)[0]).toBe(409);
  });

  test('is validated with the document that it replaces', async () => {
    const [, first] = await ask('PUT', '/db/a', { n: 1 });
    const { rev }: { rev?: string } = Object(first);
    await ask('PUT', '/db/_design/rules', RULES);
    await ask('PUT', '/db/a', { _rev: rev, n: 2 });
    const [[{ newDocument, oldDocument } = expect.fail()] = []] = sandbox.asked;
    const revisions = { start: 1, ids: [rev?.slice(2)] };
    expect(JSON.parse(newDocument)).toEqual({ _id: 'a', _rev: rev, _revisions: revisions, n: 2 });
    expect(JSON.parse(oldDocument)).toEqual({ _id: 'a', _rev: rev, _revisions: revisions, n: 1 });
  });

  test('onto a deleted document has no old document', async () => {
    const [, first] = await ask('PUT', '/db/a', { n: 1 });
    const { rev }: { rev?: string } = Object(first);
    await ask('DELETE', `/db/a?rev=${rev}`);
    await ask('PUT', '/db/_design/rules', RULES);
    expect((await ask('PUT', '/db/a', { n: 2 }))[0]).toBe(201);
    const [[{ newDocument, oldDocument } = expect.fail()] = []] = sandbox.asked;
    expect([JSON.parse(newDocument), oldDocument]).toEqual([
      { _id: 'a', _revisions: { start: 0, ids: [] }, n: 2 },
      'null',
    ]);
  });

  test('in a large request is validated in batches', async () => {
    await ask('PUT', '/db/_design/rules', RULES);
    const docs = Array.from({ length: 120 }, (_, n) => ({ _id: n === 77 ? 'bad' : `${n}` }));
    const [status, rows] = await ask('POST', '/db/_bulk_docs', { docs });
    expect(status).toBe(201);
    expect(sandbox.asked.map((batch) => batch.length)).toEqual([50, 50, 20]);
    expect(Object(rows)[77]).toEqual({ id: 'bad', rev: '', error: 'forbidden', reason: 'bad' });
  });
});

describe('without a sandbox for functions', () => {
  test('writes that need validation are refused, and no others', async () => {
    const bare = await openCore();
    await ask('PUT', '/db', undefined, bare);
    await ask('PUT', '/db/before', {}, bare);
    const [, written] = await ask('PUT', '/db/_design/rules', RULES, bare);
    const [status, answer] = await ask('PUT', '/db/a', {}, bare);
    expect([status, Object(answer).error]).toEqual([501, 'not_implemented']);
    const { rev }: { rev?: string } = Object(written);
    expect((await ask('DELETE', `/db/_design/rules?rev=${rev}`, undefined, bare))[0]).toBe(200);
    expect((await ask('PUT', '/db/a', {}, bare))[0]).toBe(201);
    await bare.close();
  });

  test('validation functions in another language are ignored, as they could never be satisfied', async () => {
    await ask('PUT', '/db/_design/rules', { ...RULES, language: 'erlang' });
    expect((await ask('PUT', '/db/a', {}))[0]).toBe(201);
    expect(sandbox.opened).toEqual([]);
  });

  test('declarative rules are still applied', async () => {
    const bare = await openCore();
    await ask('PUT', '/db', undefined, bare);
    await ask('PUT', '/db/_design/rules', { language: 'query', validate_doc_update: { newDoc: { n: 1 } } }, bare);
    expect((await ask('PUT', '/db/a', { n: 1 }, bare))[0]).toBe(201);
    expect((await ask('PUT', '/db/b', { n: 2 }, bare))[0]).toBe(403);
    await bare.close();
  });

  test('writes without validation are written beside those with it', async () => {
    const bare = await openCore();
    await ask('PUT', '/db', undefined, bare);
    const [, written] = await ask('PUT', '/db/_design/rules', RULES, bare);
    const { rev }: { rev?: string } = Object(written);
    const docs = [{ _id: 'a' }, { _id: '_design/rules', _rev: rev, views: {} }];
    const [status, rows] = await ask('POST', '/db/_bulk_docs', { docs }, bare);
    expect([status, rows]).toMatchObject([201, [{ id: 'a', error: 'not_implemented' }, { ok: true }]]);
    expect((await ask('PUT', '/db/a', {}, bare))[0]).toBe(201);
    await bare.close();
  });
});

describe('a database that is opened, and not written', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  /** How often those who build indexes were told, a second after the opening. */
  async function toldAfter(docs: readonly string[], act: (database: Database) => unknown = () => undefined) {
    const database = await new Bench().open();
    for (const name of docs) await put(database, name);
    let told = 0;
    const unused = () => Promise.reject(new Error('not part of this test'));
    const onDesigns = () => {
      told += 1;
    };
    new WriteValidation(database, unused, { onDesigns, expectFunctions: unused });
    await act(database);
    vi.advanceTimersByTime(999);
    await settle();
    expect(told).toBe(0);
    vi.advanceTimersByTime(1);
    await settle();
    return told;
  }

  test('is searched for design documents after a second', async () => {
    expect(await toldAfter(['a', '_design/d', 'z'])).toBe(1);
  });

  test('is not searched if it has none or is closed meanwhile', async () => {
    expect(await toldAfter(['a', 'z'])).toBe(0);
    expect(await toldAfter(['_design/d'], (database) => database.close())).toBe(0);
  });
});

test('a host is notified of functions before they are stored, and before the first write that they validate', async () => {
  const told = vi.fn();
  const other = await openCore(sandbox, told);
  const write = (path: string, body?: object, method = 'PUT') => ask(method, `/db${path}`, body, other);
  await write('');
  await write('/a', { n: 1 });
  await write('/_bulk_docs', { docs: [{ _id: 'b' }, { _id: '_design/index', language: 'query', views: {} }] }, 'POST');
  await write('/_index', { index: { fields: ['n'] } }, 'POST');
  expect(told).toHaveBeenCalledTimes(0);
  const [, { rev }] = (await write('/_design/d', { views: {} })) as [number, { rev: string }];
  expect(told).toHaveBeenCalledTimes(1);
  await write(`/_design/d?rev=${rev}`, undefined, 'DELETE');
  await write('/b', { n: 2 });
  expect(told).toHaveBeenCalledTimes(1);
  await write('/_design/e', { validate_doc_update: 'function () {}' });
  expect(told).toHaveBeenCalledTimes(2);
  await write('/c', {});
  await write('/d', {});
  expect(told).toHaveBeenCalledTimes(3);
  await other.close();
});
