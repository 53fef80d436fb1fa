/** Credentials that end exactly while a checkpoint is on its way to the peer that asks for them. */
import { describe, expect, test } from 'vitest';
import { fill } from '../support/replication/documents.ts';
import { type Direction, expectCopied, type Sides, sidesOf, useFlakyEnds } from '../support/replication/flaky-ends.ts';
import { failure } from '../support/replication/flaky-peer.ts';
import { begin, must, pick, run } from '../unit/replication/support.ts';

const ends = useFlakyEnds();
const CHECKPOINT = '/db/_local/checkpoint';

/** Expects both ends to have the checkpoint of a run that copied everything. */
async function expectRecorded({ source, target }: Sides): Promise<void> {
  const seq = pick(await must(source, 'GET /db'), 'update_seq');
  for (const end of [source, target]) {
    const stored = await must(end, `GET ${CHECKPOINT}`);
    expect(stored).toMatchObject({ source_last_seq: seq });
    expect(stored).not.toHaveProperty('alone');
  }
}

/** After the request with which each run begins, a checkpoint is read and written; the first one of a source is written twice. */
const moments: readonly [Direction, number, string][] = [
  ['pull', 2, 'read'],
  ['pull', 3, 'written'],
  ['pull', 4, 'written for the second time'],
  ['push', 2, 'read'],
  ['push', 3, 'written'],
];

describe('a peer whose credentials end while the checkpoint', () => {
  test.each(moments)(
    'of a %s is requested for the time no. %i (%s) gets it in the next run',
    async (direction, moment) => {
      const sides = sidesOf(ends, direction);
      const { source, target, replication } = sides;
      const { revisions } = await fill(source, 'db', 20);
      let requests = 0;
      ends.peer.fault = ({ path }) => {
        if (path.startsWith(CHECKPOINT)) requests++;
        return requests >= moment ? failure(401) : undefined;
      };
      const attempt = begin(ends.host, { ...replication, checkpointIntervalMs: 60_000 });
      await expect(attempt.result).rejects.toMatchObject({ code: 'unauthorized', isRetryable: true });
      ends.peer.fault = undefined;
      await run(ends.host, replication);
      await expectCopied(source, target, revisions);
      await expectRecorded(sides);
      expect(await run(ends.host, replication)).toMatchObject({ no_changes: true });
    },
  );

  test.each<Direction>(['pull', 'push'])(
    'of a %s is written gets it in the same run if they are renewed',
    async (direction) => {
      const sides = sidesOf(ends, direction);
      const { source, target, replication } = sides;
      const { revisions } = await fill(source, 'db', 20);
      let writes = 0;
      ends.peer.fault = ({ request, path }) =>
        request.method === 'PUT' && path.startsWith(CHECKPOINT) && ++writes === 1 ? failure(401) : undefined;
      await run(ends.host, replication);
      expect(writes).toBeGreaterThan(1);
      await expectCopied(source, target, revisions);
      await expectRecorded(sides);
    },
  );
});
