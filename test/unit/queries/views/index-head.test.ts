import { expect, test } from 'vitest';
import type { DatabaseOrigin, LineageEntry } from '../../../../src/database/store/contract.ts';
import { isOnLineage } from '../../../../src/queries/views/storing/index-head.ts';

/** The file was lost twice: numbers up to 10 of epochs below 3 are still there, and up to 25 of epochs below 5. */
const lineage: readonly LineageEntry[] = [
  { epoch: 3, firstSeq: 20, formerEnd: 10 },
  { epoch: 5, firstSeq: 40, formerEnd: 25 },
];
const origin: DatabaseOrigin = { file: 'file', uuid: 'u', epoch: 6, lineage, isLineageComplete: true };

test.each([
  ['it has seen nothing of what was lost', { epoch: 2, seenSeq: 10 }, true],
  ['it has seen what was lost first', { epoch: 2, seenSeq: 11 }, false],
  ['it has seen nothing of what was lost since', { epoch: 3, seenSeq: 25 }, true],
  ['it has seen what was lost since', { epoch: 4, seenSeq: 26 }, false],
  ['nothing was lost since', { epoch: 5, seenSeq: 1_000 }, true],
  ['it is of a later opening than the database, as after a restoration', { epoch: 7, seenSeq: 1 }, false],
])('an index belongs to its database: %s', (_case, { epoch, seenSeq }, expected) => {
  expect(isOnLineage({ uuid: 'u', epoch, seenSeq }, origin)).toBe(expected);
});

test('an index of another database is not accepted', () => {
  expect(isOnLineage({ uuid: 'v', epoch: 6, seenSeq: 1 }, origin)).toBe(false);
});

test('an index from before the oldest recorded loss is not accepted if there could have been earlier losses', () => {
  const forgetful = { ...origin, isLineageComplete: false };
  expect(isOnLineage({ uuid: 'u', epoch: 2, seenSeq: 1 }, forgetful)).toBe(false);
  expect(isOnLineage({ uuid: 'u', epoch: 3, seenSeq: 1 }, forgetful)).toBe(true);
});
