import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Core } from '../../../src/core/core.ts';
import type { RunStats } from '../../../src/replication/contract.ts';
import { runReplication } from '../../../src/replication/run/replication-run.ts';
import { begin, hostOf, local, must, newCore, pick, replicationOf, run, treesOf } from './support.ts';

let core: Core;

beforeEach(async () => {
  core = await newCore();
  await must(core, 'PUT /from');
  await must(core, 'PUT /to');
});

afterEach(() => core.close());

const copy = replicationOf(local('from'), local('to'));

async function fill(database: string, count: number, from = 0): Promise<void> {
  const docs = Array.from({ length: count }, (_, index) => ({ _id: `doc-${from + index}`, value: from + index }));
  await must(core, `POST /${database}/_bulk_docs`, { docs });
}

/** Fails when the signal aborts. */
function untilEnd(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    const fail = () => reject(new Error('the request has ended'));
    if (signal?.aborted) fail();
    else signal?.addEventListener('abort', fail, { once: true });
  });
}

describe('a replication within one service', () => {
  test('copies documents, and finds nothing to do in the next run', async () => {
    await fill('from', 1_234);
    const first = await run(hostOf(core.handle), copy);
    expect(await treesOf(core, 'to')).toEqual(await treesOf(core, 'from'));
    expect(first).toMatchObject({ source_last_seq: 1_234, replication_id_version: 3 });
    expect(first.history).toMatchObject([
      {
        start_last_seq: 0,
        end_last_seq: 1_234,
        recorded_seq: 1_234,
        missing_checked: 1_234,
        missing_found: 1_234,
        docs_read: 1_234,
        docs_written: 1_234,
        doc_write_failures: 0,
      },
    ]);
    const second = await run(hostOf(core.handle), copy);
    const nothing = { missing_checked: 0, missing_found: 0, docs_read: 0, docs_written: 0, doc_write_failures: 0 };
    const { start_time, end_time, ...figures } = second;
    expect(figures).toEqual({
      no_changes: true,
      session_id: first.session_id,
      source_last_seq: 1_234,
      replication_id_version: 3,
      history: first.history,
      ...nothing,
    });
    expect(Date.parse(start_time)).toBeLessThanOrEqual(Date.parse(end_time));
  });

  test('sends five requests if there is nothing to do', async () => {
    await fill('from', 10);
    await run(hostOf(core.handle), copy);
    const asked: string[] = [];
    const handle: typeof core.handle = (request) => {
      asked.push(`${request.method} ${request.url.replace(/\?.*$/, '')}`);
      return core.handle(request);
    };
    await run(hostOf(handle), copy);
    expect(asked.sort()).toEqual([
      'GET /from',
      'GET /from/_changes',
      'GET /from/_local/checkpoint',
      'GET /to',
      'GET /to/_local/checkpoint',
    ]);
  });

  test('writes batches of a megabyte, however many documents that are', async () => {
    const text = 'x'.repeat(100_000);
    const docs = Array.from({ length: 60 }, (_, index) => ({ _id: `doc-${index}`, text }));
    await must(core, 'POST /from/_bulk_docs', { docs });
    const written: number[] = [];
    const handle: typeof core.handle = (request) => {
      if (request.method === 'POST' && request.url.startsWith('/to/_bulk_docs')) {
        const { body } = request;
        expect(body).toBeTypeOf('string');
        written.push(String(body).length);
      }
      return core.handle(request);
    };
    await run(hostOf(handle), { ...copy, workers: 1 });
    expect(written.length).toBe(6);
    for (const length of written) expect(length).toBeLessThan(1_200_000);
    expect(await treesOf(core, 'to')).toEqual(await treesOf(core, 'from'));
  });

  test('reports how much is pending, down to zero', async () => {
    await fill('from', 25);
    const pending: (number | undefined)[] = [];
    const progress = (now: RunStats) => void pending.push(now.pending);
    const observer = { progress, refused() {}, listed() {}, idle() {} };
    // Between two looks at it much time has passed, so that all is told.
    let passed = 0;
    const clock = { now: () => 0, monotonic: () => ++passed * 1_000 };
    const inParts = { ...copy, batchSize: 5, workers: 1 };
    const { signal } = new AbortController();
    await runReplication(inParts, 'checkpoint', hostOf(core.handle, { clock }), observer, signal);
    const counts = pending.filter((count) => count !== undefined);
    expect([...new Set(counts)]).toEqual([25, 20, 15, 10, 5, 0]);
  });

  test('copies what was added since', async () => {
    await fill('from', 10);
    await run(hostOf(core.handle), copy);
    await fill('from', 5, 10);
    const { history } = await run(hostOf(core.handle), copy);
    expect(history).toMatchObject([
      { start_last_seq: 10, end_last_seq: 15, docs_read: 5, docs_written: 5 },
      { start_last_seq: 0, end_last_seq: 10, docs_read: 10, docs_written: 10 },
    ]);
    expect(await treesOf(core, 'to')).toEqual(await treesOf(core, 'from'));
  });

  test('copies conflicts, deletions and the digits of numbers', async () => {
    await must(core, 'PUT /from/a', undefined, { body: '{"z":1.50,"a":12345678901234567890,"é":"\\u00e9"}' });
    const revisions = {
      new_edits: false,
      docs: [
        { _id: 'b', _rev: '2-bb', _revisions: { start: 2, ids: ['bb', 'aa'] } },
        { _id: 'b', _rev: '2-cc', _revisions: { start: 2, ids: ['cc', 'aa'] }, _deleted: true },
      ],
    };
    await must(core, 'POST /from/_bulk_docs', revisions);
    await run(hostOf(core.handle), copy);
    expect(await treesOf(core, 'to')).toEqual(await treesOf(core, 'from'));
    const { body } = await core.handle({ method: 'GET', url: '/to/a', headers: {}, body: null });
    expect(body).toContain('"z":1.50,"a":12345678901234567890,"é":"\\u00e9"');
  });

  test('lists the documents that the target refuses', async () => {
    await fill('from', 3);
    const refusing: typeof core.handle = async (request) => {
      const response = await core.handle(request);
      return request.url === '/to/_bulk_docs'
        ? { ...response, body: '[{"id":"doc-1","error":"forbidden","reason":"not this one"}]' }
        : response;
    };
    const attempt = begin(hostOf(refusing), copy);
    const { history } = await attempt.result;
    const { _rev: rev } = Object(await must(core, 'GET /from/doc-1'));
    const refused = [{ id: 'doc-1', rev, error: 'forbidden', reason: 'not this one' }];
    expect(attempt.refused).toEqual(refused);
    expect(history).toMatchObject([{ docs_read: 3, docs_written: 2, doc_write_failures: 1, refused }]);
  });

  test('fails if a database is missing', async () => {
    const attempt = run(hostOf(core.handle), replicationOf(local('from'), local('nobody')));
    await expect(attempt).rejects.toMatchObject({
      code: 'db_not_found',
      reason: 'could not open nobody',
      isRetryable: false,
    });
    const made = await run(hostOf(core.handle), replicationOf(local('from'), local('new'), { createTarget: true }));
    expect(made.no_changes).toBe(true);
    await must(core, 'GET /new');
  });

  test('continues until it is stopped, and copies edits at once', async () => {
    await fill('from', 3);
    const running = begin(hostOf(core.handle), { ...copy, continuous: true, checkpointIntervalMs: 50 });
    await running.idle();
    expect(running.figures()).toMatchObject({ docsWritten: 3, pending: 0 });
    const feed = must(core, 'GET /to/_changes?feed=longpoll&since=3');
    await fill('from', 1, 3);
    expect(pick(await feed, 'results', 0, 'id')).toBe('doc-3');
    expect(await running.stop()).toMatchObject({ code: 'cancelled' });
    expect(pick(await must(core, 'GET /to/_local/checkpoint'), 'source_last_seq')).toBe(4);
    expect((await run(hostOf(core.handle), copy)).no_changes).toBe(true);
  });

  test('has nothing pending after a session that ended in the middle of a batch', async () => {
    await fill('from', 3);
    let isReplaced: Promise<void> | undefined;
    const replace = async () => {
      await must(core, 'DELETE /from');
      await must(core, 'PUT /from');
      await fill('from', 2);
    };
    let begun: (() => void) | undefined;
    const isBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const handle: typeof core.handle = async (request) => {
      if (request.url === '/to/_revs_diff' && String(request.body).includes('doc-3')) {
        isReplaced = replace();
        begun?.();
        return untilEnd(request.signal);
      }
      if (request.url === '/from') await isReplaced;
      return core.handle(request);
    };
    const running = begin(hostOf(handle), { ...copy, continuous: true });
    await running.idle();
    await fill('from', 1, 3);
    await isBegun;
    await running.idle();
    expect(running.figures()).toMatchObject({ sourceSeq: 2, pending: 0 });
    await running.stop();
  });
});
