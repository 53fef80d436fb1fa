import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Replication } from '../../src/replication/contract.ts';
import { patient } from '../support/patience.ts';
import { fill } from '../support/replication/documents.ts';
import { type Direction, expectCopied, hanging, sidesOf, useFlakyEnds } from '../support/replication/flaky-ends.ts';
import { cutOff, every, type Fault, failure, refused } from '../support/replication/flaky-peer.ts';
import { KeptRun } from '../support/replication/kept-run.ts';
import { begin, must, pick, run, treesOf } from '../unit/replication/support.ts';

const ends = useFlakyEnds();
const directions: readonly Direction[] = ['pull', 'push'];

const html = () => new Response('<html>not found</html>', { status: 404, headers: { 'content-type': 'text/html' } });

const passing: readonly [string, Fault, Partial<Replication>?][] = [
  ['the connection is refused', every(4, refused)],
  ['answers break off in the middle', every(4, async ({ answer }) => cutOff(await answer(), 'reset'))],
  ['answers end too early', every(4, async ({ answer }) => cutOff(await answer(), 'end'))],
  ['answers stop coming', every(9, async ({ answer }) => cutOff(await answer(), 'silence')), hanging],
  ['requests are not answered', every(9, () => new Promise<never>(() => {})), hanging],
  ['requests are carried out, and the answer is lost', every(3, ({ answer }) => answer().then(refused))],
  ['the server fails', every(4, () => failure(500))],
  ['a proxy has lost the server', every(4, () => new Response('Bad Gateway', { status: 502 }))],
  ['something in between says that there is nothing', every(7, html)],
  ['the peer has too much to do', every(10, () => failure(429, { 'retry-after': '0' }))],
  [
    'the peer is to be left alone for a while',
    (asked) => (asked.number === 9 ? failure(503, { 'retry-after': '1' }) : undefined),
  ],
];

describe.each(directions)('a replication by %s', (direction) => {
  test.each(passing)('copies everything although %s', async (_, fault, more) => {
    const { source, target, replication } = sidesOf(ends, direction);
    const { revisions } = await fill(source, 'db', 60);
    await fill(target, 'db', 10);
    ends.peer.fault = fault;
    const attempt = begin(ends.host, { ...replication, ...more });
    const { history } = await attempt.result;
    expect(attempt.refused).toEqual([]);
    expect(history).toMatchObject([{ start_last_seq: 0, doc_write_failures: 0 }]);
    ends.peer.fault = undefined;
    await expectCopied(source, target, revisions);
    expect(await run(ends.host, replication)).toMatchObject({ no_changes: true });
  });

  test('writes one checkpoint after another, however slow that is', async () => {
    const { source, target, replication } = sidesOf(ends, direction);
    const { revisions } = await fill(source, 'db', 60);
    let writing = 0;
    let most = 0;
    ends.peer.fault = ({ request, path, answer }) => {
      if (request.method !== 'PUT' || !path.includes('/_local/')) return undefined;
      writing++;
      most = Math.max(most, writing);
      return answer().then(async (response) => {
        await pause(40);
        writing--;
        return response;
      });
    };
    const { history } = await run(ends.host, { ...replication, batchSize: 2, checkpointIntervalMs: 1 });
    expect(history).toMatchObject([{ start_last_seq: 0, doc_write_failures: 0 }]);
    expect(most).toBe(1);
    await expectCopied(source, target, revisions);
  });

  const lasting: readonly [string, Fault, object, Partial<Replication>?][] = [
    ['the connection is refused', refused, { code: 'replication_failed', isRetryable: true }],
    ['the peer hangs', () => new Promise<never>(() => {}), { code: 'replication_failed', isRetryable: true }, hanging],
    ['the server fails', () => failure(500), { code: 'replication_failed', isRetryable: true }],
    ['the session is over', () => failure(401), { code: 'unauthorized', isRetryable: true }],
    [
      'the peer wants a long pause',
      () => failure(429, { 'retry-after': '7200' }),
      // What is left of it: up to 50 s less.
      { code: 'replication_failed', isRetryable: true, retryAfterMs: expect.closeTo(7_200_000, -5) },
    ],
  ];

  test.each(lasting)('fails when %s from some time on, and continues later', async (_, fault, told, more) => {
    const { source, target, replication } = sidesOf(ends, direction);
    const { revisions } = await fill(source, 'db', 60);
    ends.peer.fault = (asked) => (asked.number > 12 ? fault(asked) : undefined);
    const attempt = begin(ends.host, { ...replication, ...more, retriesPerRequest: 1 });
    const failed: unknown = await attempt.result.catch((one: unknown) => one);
    expect(failed).toMatchObject(told);
    expect(String(pick(failed, 'reason'))).toContain(`${ends.peer.url}/db`);
    expect(attempt.refused).toEqual([]);
    ends.peer.fault = undefined;
    await run(ends.host, replication);
    await expectCopied(source, target, revisions);
  });

  test('starts again with a source that was recreated between two runs', async () => {
    const { source, target, replication } = sidesOf(ends, direction);
    await fill(source, 'db', 30);
    await run(ends.host, replication);
    await must(source, 'DELETE /db');
    await must(source, 'PUT /db');
    await fill(source, 'db', 60, 'new');
    await must(target, 'DELETE /db/doc-0?rev=2-b1');
    const { history } = await run(ends.host, replication);
    expect(history[0]).toMatchObject({ start_last_seq: 0 });
    const [had, has] = await Promise.all([treesOf(source, 'db'), treesOf(target, 'db')]);
    expect(has).toMatchObject(had);
    expect(Object.keys(has)).toHaveLength(90);
  });

  test('copies the new source if it was recreated during the run', async () => {
    const { source, target, replication } = sidesOf(ends, direction);
    await fill(source, 'db', 60);
    let isNew = false;
    ends.peer.fault = async ({ number, answer }) => {
      if (number === 13) {
        await must(source, 'DELETE /db');
        await must(source, 'PUT /db');
        await fill(source, 'db', 60, 'new');
        isNew = true;
      }
      return answer();
    };
    const attempt = await run(ends.host, replication).catch((failed: unknown) => failed);
    await expect.poll(() => isNew, patient).toBe(true);
    ends.peer.fault = undefined;
    if (attempt instanceof Error) expect(attempt).toMatchObject({ code: 'db_not_found', isRetryable: true });
    await run(ends.host, replication);
    expect(await treesOf(target, 'db')).toMatchObject(await treesOf(source, 'db'));
  });

  test('copies everything again to a target that comes back empty, between two runs or during one', async () => {
    const { source, target, replication } = sidesOf(ends, direction);
    const { revisions } = await fill(source, 'db', 60);
    await run(ends.host, replication);
    const emptied = async () => {
      await must(target, 'DELETE /db');
      await must(target, 'PUT /db');
    };
    await emptied();
    let isDone = false;
    ends.peer.requests = [];
    ends.peer.fault = async ({ number, answer }) => {
      if (number === 15) {
        await emptied();
        isDone = true;
      }
      return answer();
    };
    await run(ends.host, replication).catch((failed: unknown) => {
      expect(failed).toMatchObject({ code: 'db_not_found', isRetryable: true });
    });
    await expect.poll(() => isDone, patient).toBe(true);
    ends.peer.fault = undefined;
    await run(ends.host, replication);
    await expectCopied(source, target, revisions);
  });

  test('without new changes fills a target that comes back empty', async () => {
    const { source, target, replication } = sidesOf(ends, direction);
    const { revisions } = await fill(source, 'db', 40);
    const running = new KeptRun(ends.host, replication);
    await running.current.idle();
    await must(target, 'DELETE /db');
    await must(target, 'PUT /db');
    const updateSeq = async () => pick(await must(target, 'GET /db'), 'update_seq');
    await expect.poll(updateSeq, patient).toBe(revisions);
    await running.stop();
    await expectCopied(source, target, revisions);
  });

  test('continues continuously with a target that comes back empty', async () => {
    const { source, target, replication } = sidesOf(ends, direction);
    const { revisions } = await fill(source, 'db', 40);
    const running = new KeptRun(ends.host, replication);
    await running.current.idle();
    await must(target, 'DELETE /db');
    await must(target, 'PUT /db');
    await must(source, 'PUT /db/one-more', {});
    const updateSeq = async () => pick(await must(target, 'GET /db'), 'update_seq');
    await expect.poll(updateSeq, patient).toBe(revisions + 1);
    await running.stop();
    await expectCopied(source, target, revisions + 1);
  });
});

test("a clock set back doesn't affect a replication", async () => {
  const { source, target, replication } = sidesOf(ends, 'pull');
  let now = Date.UTC(2031, 0, 1);
  const clock = { ...ends.host.clock, now: () => now };
  await fill(source, 'db', 40);
  await run({ ...ends.host, clock }, replication);
  now = Date.UTC(2001, 0, 1);
  const { revisions } = await fill(source, 'db', 60, 'later');
  const { history } = await run({ ...ends.host, clock }, replication);
  expect(history).toMatchObject([{ docs_read: revisions, start_time: 'Mon, 01 Jan 2001 00:00:00 GMT' }, {}]);
  expect(await treesOf(target, 'db')).toEqual(await treesOf(source, 'db'));
  expect(await run({ ...ends.host, clock }, replication)).toMatchObject({ no_changes: true });
});
