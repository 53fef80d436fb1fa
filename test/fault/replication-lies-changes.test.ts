import { describe, expect, test } from 'vitest';
import { sidesOf } from '../support/replication/flaky-ends.ts';
import type { Fault } from '../support/replication/flaky-peer.ts';
import { fillWithAllKinds, lying } from '../support/replication/lying-peer.ts';
import { begin, must } from '../unit/replication/support.ts';
import { type Case, leavesOf, useLyingEnds } from './lying-ends.ts';

const { ends, expectOutcome } = useLyingEnds();

describe('replication from a source with false changes', () => {
  const rows = (make: (rows: readonly object[]) => readonly unknown[]): Fault =>
    lying(/^GET .*_changes/, (told) => ({ ...Object(told), results: make(Object(told).results) }));
  const added = (id: unknown, ...revs: unknown[]): Fault =>
    rows((some) => [{ id, seq: 1, changes: revs.map((rev) => ({ rev })) }, ...some]);
  const cases: readonly Case[] = [
    ['name an id with half of a character', added('\ud800', '1-a'), { refused: [['\ufffd', '1-a', 'bad_change']] }],
    ['name an empty id', added('', '1-a'), { refused: [['', '1-a', 'bad_change']] }],
    ['name a local document', added('_local/x', '1-a'), { refused: [['_local/x', '1-a', 'bad_change']] }],
    ['name an id that no document here may have', added('_foo', '1-a'), { refused: [['_foo', '1-a', 'bad_request']] }],
    [
      'name an id that is too long',
      added('x'.repeat(9_000), '1-a'),
      { refused: [[`${'x'.repeat(8_192)}…`, '1-a', 'bad_request']] },
    ],
    [
      'name revisions that are none',
      added('odd', 'abc', '1-', '0-1', '-1-a', 7, '1-\ud800', `${'9'.repeat(30)}-a`),
      {
        refused: ['abc', '1-', '0-1', '-1-a', '', '1-\ufffd', `${'9'.repeat(30)}-a`].map((rev) => [
          'odd',
          rev,
          'bad_change',
        ]),
      },
    ],
    ['name no revision', added('odd'), { refused: [['odd', '', 'bad_change']] }],
    [
      'name a revision that no server can store',
      added('odd', `1-${'a'.repeat(5_000)}`),
      { refused: [['odd', `1-${'a'.repeat(5_000)}`, 'bad_request']] },
    ],
    ['name a document that is not there', added('nobody', '1-a'), { refused: [['nobody', '1-a', 'not_found']] }],
    ['name a document that can be named by no address', added('..', '1-a'), { refused: [['..', '1-a', 'not_found']] }],
    ['have a row of no known form', rows((some) => [{ what: 1 }, ...some]), { fails: /unusable response/ }],
    [
      'have a sequence that is none',
      lying(/_changes/, (told) => ({ ...Object(told), last_seq: { a: 1 } })),
      { fails: /unusable response/ },
    ],
    [
      'have a sequence with half of a character',
      lying(/_changes/, (told) => ({ ...Object(told), last_seq: '7-\ud800' })),
      { fails: /unusable response/ },
    ],
    ['are no list', lying(/_changes/, () => ({ results: 5 })), { fails: /unusable response/ }],
  ];

  test.each(cases)('%s', async (_lie, fault, outcome) => {
    await expectOutcome('pull', fault, outcome);
  });

  test('copies only the requested ids if the source lists more', async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    await fillWithAllKinds(source);
    ends.peer.fault = lying(/_changes/, (told) => {
      const evil = { id: 'plain2', seq: 1, changes: [{ rev: '2-p' }] };
      return { ...Object(told), results: [evil, ...Object(told).results] };
    });
    const attempt = begin(ends.host, { ...replication, selection: { kind: 'ids', ids: ['plain'] } });
    await attempt.result;
    expect(Object.keys(await leavesOf(target))).toEqual(['plain 2-p']);
    expect(attempt.figures()).toMatchObject({ missingChecked: 1 });
  });

  test("stores nothing in a checkpoint that can't be stored, however often it runs", async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    await fillWithAllKinds(source);
    ends.peer.fault = added('\ud800'.repeat(20_000), '1-a');
    const { history } = await begin(ends.host, replication).result;
    expect(history).toMatchObject([{ doc_write_failures: 1 }]);
    ends.peer.fault = undefined;
    const checkpoint = Object(await must(source, 'GET /db/_local/checkpoint'));
    const [entry] = checkpoint.history;
    const foreign = {
      ...entry,
      session_id: entry.session_id,
      refused: [{ id: 5, rev: null, error: {}, reason: [[]] }],
      start_time: 9,
    };
    await must(source, 'PUT /db/_local/checkpoint', { ...checkpoint, history: [foreign] });
    await must(source, 'PUT /db/one-more', {});
    expect((await begin(ends.host, replication).result).history).toMatchObject([{ docs_written: 1 }, {}]);
    await must(target, 'GET /db/one-more');
  });
});
