/** Databases that lie about where they are: in rows of changes, in sequences, in counts, in checkpoints, and in what they say of themselves. */
import { describe, expect, test } from 'vitest';
import type { Core } from '../../src/core/core.ts';
import { patient } from '../support/patience.ts';
import { sidesOf } from '../support/replication/flaky-ends.ts';
import { cutOff, type Fault } from '../support/replication/flaky-peer.ts';
import { fillWithAllKinds, lying } from '../support/replication/lying-peer.ts';
import { begin, must } from '../unit/replication/support.ts';
import { type Case, COPIED, leavesOf, quick, recordedSeq, useLyingEnds } from './lying-ends.ts';

const { ends, expectOutcome } = useLyingEnds();

const CHANGES = /^GET .*_changes/;
const INFO = /^GET \/db(\?|$)/;
const CHECKPOINT = /^GET .*_local/;

const told = (pattern: RegExp, change: (answer: Readonly<Record<string, unknown>>) => object): Fault =>
  lying(pattern, (answer) => change(Object(answer)));

async function idsIn(core: Core): Promise<readonly string[]> {
  return Object.keys(await leavesOf(core)).map((name) => name.split(' ')[0] ?? '');
}

async function writeOne(core: Core, id: string): Promise<void> {
  await must(core, `PUT /db/${id}`, {});
}

describe('replication from a source whose changes', () => {
  const rows = (make: (rows: readonly object[]) => readonly object[]): Fault =>
    told(CHANGES, ({ results, ...more }) => ({ ...more, results: make(Object(results)) }));
  const cases: readonly Case[] = [
    ['come twice', rows((some) => [...some.slice(0, 2), ...some]), COPIED],
    ['come backwards', rows((some) => some.toReversed()), COPIED],
    ['are more than were requested', rows((some) => [...some, ...some]), { fails: /more than 10 elements/ }],
    [
      'are pending for ever',
      told(CHANGES, (answer) => ({ ...answer, pending: 1e9 })),
      // It is asked until it returns nothing more.
      COPIED,
    ],
    [
      'end early',
      async ({ path, answer }) => (path.includes('_changes') ? cutOff(await answer(), 'end') : undefined),
      { fails: /not complete JSON/ },
    ],
    ['have no sequences', rows((some) => some.map((row) => ({ ...row, seq: undefined }))), { fails: /unusable/ }],
    [
      'have a last sequence that is none',
      told(CHANGES, (answer) => ({ ...answer, last_seq: true })),
      { fails: /unusable response/ },
    ],
  ];

  test.each(cases)('%s', async (_lie, fault, outcome) => {
    await expectOutcome('pull', fault, outcome);
  });

  test('are said to be all that there are continues behind them in the next runs', async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    for (const id of ['a', 'b', 'c', 'd', 'e']) await writeOne(source, id);
    ends.peer.fault = told(CHANGES, (answer) => ({ ...answer, pending: 0 }));
    const inTwos = { ...replication, batchSize: 2 };
    const counts: number[] = [];
    for (let runs = 0; runs < 3; runs++) {
      await begin(ends.host, inTwos).result;
      counts.push((await idsIn(target)).length);
      expect(await recordedSeq(target)).toBe(counts.at(-1));
    }
    expect(counts).toEqual([2, 4, 5]);
  });

  test('reach far beyond its end are read from the beginning in the next run', async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    await writeOne(source, 'a');
    ends.peer.fault = told(CHANGES, (answer) => ({ ...answer, last_seq: 1_000 }));
    await begin(ends.host, replication).result;
    expect(await recordedSeq(target)).toBe(1_000);
    ends.peer.fault = undefined;
    await writeOne(source, 'b');
    await begin(ends.host, replication).result;
    expect(await idsIn(target)).toEqual(['a', 'b']);
    expect(await recordedSeq(target)).toBe(2);
  });

  test('end with an earlier sequence than they begin with are read again', async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    for (const id of ['a', 'b', 'c']) await writeOne(source, id);
    ends.peer.fault = told(CHANGES, (answer) => ({ ...answer, last_seq: 1 }));
    await begin(ends.host, replication).result;
    expect(await recordedSeq(target)).toBe(1);
    ends.peer.fault = undefined;
    await begin(ends.host, replication).result;
    expect(await idsIn(target)).toEqual(['a', 'b', 'c']);
    expect(await recordedSeq(target)).toBe(3);
  });

  test('end early in a continuous feed, again and again, are all copied', async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    let cuts = 0;
    ends.peer.fault = ({ path }) => {
      if (!path.includes('feed=continuous') || ++cuts > 3) return undefined;
      return new Response('{"seq":1,"id":"a","chan');
    };
    const running = begin(ends.host, { ...replication, continuous: true });
    await running.idle();
    await writeOne(source, 'a');
    await writeOne(source, 'b');
    await expect.poll(() => idsIn(target), patient).toEqual(['a', 'b']);
    await running.stop();
  });
});

describe('replication from a source that says of itself', () => {
  test('that it is at an earlier sequence begins again', async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    await fillWithAllKinds(source);
    await begin(ends.host, replication).result;
    await writeOne(source, 'z');
    ends.peer.fault = told(INFO, (answer) => ({ ...answer, update_seq: 0 }));
    const { history } = await begin(ends.host, replication).result;
    expect(history[0]).toMatchObject({ start_last_seq: 0, docs_written: 1 });
    expect(await leavesOf(target)).toEqual(await leavesOf(source));
  });

  test('that it is far beyond copies what there is', async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    await writeOne(source, 'a');
    ends.peer.fault = told(INFO, (answer) => ({ ...answer, update_seq: 1_000 }));
    await begin(ends.host, replication).result;
    await writeOne(source, 'b');
    await begin(ends.host, replication).result;
    expect(await idsIn(target)).toEqual(['a', 'b']);
    expect(await recordedSeq(target)).toBe(2);
  });

  test('each time that it is another database fails, without a checkpoint', async () => {
    let answers = 0;
    const fault = told(/^(GET \/db|POST .*_commit)(\?|$)/, (answer) => ({
      ...answer,
      instance_start_time: `${++answers}`,
    }));
    await expectOutcome('pull', fault, { fails: /was replaced by another database, or has lost data/ });
  });
});

describe('a checkpoint that one of the two databases has made up', () => {
  /** That everything up to there was copied. */
  const ahead = told(CHECKPOINT, ({ history, ...answer }) => ({
    ...answer,
    source_last_seq: 1_000,
    history: Object(history).map((entry: object) => ({ ...entry, recorded_seq: 1_000, end_last_seq: 1_000 })),
  }));
  const SESSION = { session_id: 's', source_last_seq: 2, history: [{ session_id: 's', recorded_seq: 2 }] };
  /** The answer to the first read of one: it is read again before it is replaced. */
  const first = (checkpoint: object): Fault => {
    let reads = 0;
    return ({ request, path }) =>
      request.method === 'GET' && path.includes('_local') && ++reads === 1 ? Response.json(checkpoint) : undefined;
  };

  test.each(['pull', 'push'] as const)('is not trusted beyond what the other one says (%s)', async (direction) => {
    const { source, target, replication } = sidesOf(ends, direction);
    await writeOne(source, 'a');
    await begin(ends.host, replication).result;
    await writeOne(source, 'b');
    ends.peer.fault = ahead;
    const { history } = await begin(ends.host, { ...replication, ...quick }).result;
    expect(history[0]).toMatchObject({ start_last_seq: 1, docs_written: 1 });
    expect(await idsIn(target)).toEqual(['a', 'b']);
  });

  test.each([
    ['pull', 'of a session that the other one does not know', SESSION],
    ['push', 'of a session that the other one does not know', SESSION],
    ['pull', 'for other databases', { ...SESSION, alone: { source: 'x', target: 'y', target_seq: 0 } }],
    ['push', 'for other databases', { ...SESSION, alone: { source: 'x', target: 'y', target_seq: 0 } }],
  ] as const)('begins again (%s, %s)', async (direction, _, checkpoint) => {
    const { source, target, replication } = sidesOf(ends, direction);
    for (const id of ['a', 'b', 'c']) await writeOne(source, id);
    ends.peer.fault = first(checkpoint);
    const { history } = await begin(ends.host, { ...replication, ...quick }).result;
    expect(history[0]).toMatchObject({ start_last_seq: 0, docs_written: 3 });
    expect(await idsIn(target)).toEqual(['a', 'b', 'c']);
  });
});
