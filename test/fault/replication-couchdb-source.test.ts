import { describe, expect, test } from 'vitest';
import { patient } from '../support/patience.ts';
import { sidesOf } from '../support/replication/flaky-ends.ts';
import { failure } from '../support/replication/flaky-peer.ts';
import { all, asCouchDB3, attachment, fillWithAllKinds, LONG } from '../support/replication/lying-peer.ts';
import { begin, must } from '../unit/replication/support.ts';
import { COPIED, leavesOf, quick, useLyingEnds, WAYS } from './lying-ends.ts';

const { ends, expectOutcome } = useLyingEnds();

describe('replication from a source like CouchDB 3', () => {
  test.each(WAYS)('copies losing leaves and tombstones with long attachments (%s)', async (_, faults) => {
    await expectOutcome('pull', all(...faults, asCouchDB3(ends.peer.core)), COPIED);
  });

  test('copies the newer revision of a losing leaf that was replaced meanwhile', async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    await fillWithAllKinds(source);
    let isEdited = false;
    ends.peer.fault = all(async ({ path }) => {
      if (isEdited || !path.includes('rev=2-a') || !path.startsWith('/db/long?')) return undefined;
      isEdited = true;
      const next = { _id: 'long', _rev: '3-c', _revisions: { start: 3, ids: ['c', 'a', 'root'] } };
      const big = attachment(LONG, 'newer');
      await must(source, 'POST /db/_bulk_docs', { new_edits: false, docs: [{ ...next, _attachments: { big } }] });
      await must(source, 'POST /db/_compact', undefined, { headers: { 'content-type': 'application/json' } });
      await expect.poll(() => must(source, 'GET /db'), patient).toMatchObject({ compact_running: false });
      return failure(404);
    }, asCouchDB3(source));
    const attempt = begin(ends.host, { ...replication, ...quick });
    await attempt.result;
    expect(isEdited).toBe(true);
    expect(attempt.refused).toEqual([]);
    expect(Object.keys(await leavesOf(target))).toContain('long 3-c');
  });
});
