import { HttpResponse } from 'msw';
import { describe, expect, test } from 'vitest';
import type { Handle } from '../../src/base/shared/message.ts';
import type { Core } from '../../src/core/core.ts';
import type { ReplicatorHost } from '../../src/replication/contract.ts';
import { fill } from '../support/replication/documents.ts';
import { type Direction, type FlakyEnds, sidesOf, useFlakyEnds } from '../support/replication/flaky-ends.ts';
import { begin, hostOf, must, pick, run, treesOf } from '../unit/replication/support.ts';

/** Databases that are deleted and created again exactly while a checkpoint is on its way to them. */

const ends = useFlakyEnds();
const CHECKPOINT = '/db/_local/checkpoint';

type Before = (number: number) => Promise<void> | void;

/** Calls `before` with the number of each checkpoint that is written to that end, from 1, before it arrives. */
function watchWrites({ core, peer }: FlakyEnds, end: Core, before: Before): ReplicatorHost {
  let written = 0;
  const watch = async (method: string, url: string) => {
    if (method === 'PUT' && url.startsWith(CHECKPOINT)) await before(++written);
  };
  if (end === peer.core) {
    peer.fault = async ({ request, path, answer }) => {
      await watch(request.method, path);
      return answer();
    };
    return hostOf(core.handle);
  }
  const handle: Handle = async (request) => {
    await watch(request.method, request.url);
    return core.handle(request);
  };
  return hostOf(handle);
}

async function recreate(end: Core, documents: number): Promise<void> {
  await must(end, 'DELETE /db');
  await must(end, 'PUT /db');
  if (documents > 0) await fill(end, 'db', documents, 'new');
}

async function expectSame(source: Core, target: Core): Promise<void> {
  expect(await treesOf(target, 'db')).toMatchObject(await treesOf(source, 'db'));
}

describe.each<Direction>(['pull', 'push'])('a replication by %s', (direction) => {
  // The first checkpoint of a source takes two writes: one that says that nothing is copied, and its own.
  test.each([1, 2])('copies a source that is created again before write %i of the first checkpoint', async (moment) => {
    const { source, target, replication } = sidesOf(ends, direction);
    await fill(source, 'db', 20);
    let times = 0;
    const host = watchWrites(ends, source, async (number) => {
      if (number !== moment) return;
      times++;
      await recreate(source, 60);
    });
    const { history } = await run(host, { ...replication, checkpointIntervalMs: 60_000 });
    expect(times).toBe(1);
    expect(history).toMatchObject([{ start_last_seq: 0 }]);
    await expectSame(source, target);
    expect(await run(ends.host, replication)).toMatchObject({ no_changes: true });
  });

  test.each([1, 2])('copies it in the next run if the run ends after write %i', async (moment) => {
    const { source, target, replication } = sidesOf(ends, direction);
    await fill(source, 'db', 20);
    const host = watchWrites(ends, source, async (number) => {
      if (number === moment) await recreate(source, 60);
      // As if the process had ended at once: nothing is checked, and nothing removed.
      if (number === moment) queueMicrotask(() => void attempt.stop());
    });
    const attempt = begin(host, { ...replication, checkpointIntervalMs: 60_000 });
    await attempt.result.catch(() => undefined);
    ends.peer.fault = undefined;
    const { history } = await run(ends.host, replication);
    expect(history).toMatchObject([{ start_last_seq: 0 }]);
    await expectSame(source, target);
  });

  test('copies a source that is created again while a later checkpoint is written', async () => {
    const { source, target, replication } = sidesOf(ends, direction);
    await fill(source, 'db', 20);
    await run(ends.host, replication);
    await fill(source, 'db', 10, 'more');
    let times = 0;
    const host = watchWrites(ends, source, async (number) => {
      if (number !== 1) return;
      times++;
      await recreate(source, 90);
    });
    const { history } = await run(host, { ...replication, checkpointIntervalMs: 60_000 });
    expect(times).toBe(1);
    expect(history[0]).toMatchObject({ start_last_seq: 0 });
    await expectSame(source, target);
  });

  test.each([0, 1])(
    'fills a target that is created again while a checkpoint is written, after %i others',
    async (earlier) => {
      const { source, target, replication } = sidesOf(ends, direction);
      await fill(source, 'db', 20);
      if (earlier > 0) await run(ends.host, replication);
      await fill(source, 'db', 10, 'more');
      let times = 0;
      const host = watchWrites(ends, target, async (number) => {
        if (number !== 1) return;
        times++;
        await recreate(target, 0);
      });
      await run(host, { ...replication, checkpointIntervalMs: 60_000 });
      expect(times).toBe(1);
      await expectSame(source, target);
    },
  );
});

// As some servers of the family do, which take a local document whatever revision it names.
test('a source that is created again is copied if it takes a checkpoint with the revision of its predecessor', async () => {
  const { source, target, replication } = sidesOf(ends, 'pull');
  await fill(source, 'db', 20);
  let written = 0;
  ends.peer.fault = async ({ request, path }) => {
    if (request.method !== 'PUT' || !path.startsWith(CHECKPOINT)) return undefined;
    const isSecond = ++written === 2;
    if (isSecond) await recreate(source, 60);
    if (!isSecond) return undefined;
    const { _rev, ...body } = Object(await request.json());
    return HttpResponse.json(Object(await must(source, `PUT ${CHECKPOINT}`, body)), { status: 201 });
  };
  const { history } = await run(ends.host, { ...replication, checkpointIntervalMs: 60_000 });
  expect(written).toBeGreaterThanOrEqual(2);
  expect(history).toMatchObject([{ start_last_seq: 0 }]);
  await expectSame(source, target);
});

test('a record that says that nothing is copied is one that others read, and leads to the former checkpoints', async () => {
  const { source, target, replication } = sidesOf(ends, 'pull');
  await fill(source, 'db', 20);
  await run(ends.host, replication, 'former');
  const stored: unknown[] = [];
  const host = watchWrites(ends, source, async (number) => {
    if (number === 2) stored.push(await must(source, `GET ${CHECKPOINT}`));
  });
  await fill(source, 'db', 1, 'more');
  const last = Number(pick(await must(source, 'GET /db'), 'update_seq'));
  const later = { ...replication, formerCheckpoint: 'former' };
  await run(host, later);
  expect(stored).toEqual([
    {
      ...{ _id: '_local/checkpoint', _rev: '0-1', side: 'source' },
      ...{ session_id: expect.stringMatching(/^[0-9a-f]{32}$/), source_last_seq: 0 },
      ...{ replication_id_version: 3, history: [] },
    },
  ]);
  expect(await must(source, `GET ${CHECKPOINT}`)).toMatchObject({ _rev: '0-2', source_last_seq: last });
  // As if the run had ended between the two.
  await must(source, `DELETE ${CHECKPOINT}?rev=0-2`);
  await must(target, `DELETE ${CHECKPOINT}?rev=0-1`);
  const { _id, _rev, ...empty } = Object(stored[0]);
  await must(source, `PUT ${CHECKPOINT}`, empty);
  const { history } = await run(ends.host, later);
  expect(history[0]).not.toMatchObject({ start_last_seq: 0 });
  await expectSame(source, target);
});
