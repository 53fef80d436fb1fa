import { expect, test } from 'vitest';
import { RefusedLedger, refusedIds } from '../../../../src/replication/jobs/refused-documents.ts';
import { hostOf, local, must, newCore, replicationOf } from '../support.ts';

/** What the ledger of this process names, beside a checkpoint that names nothing. */
async function idsOf(...ids: readonly string[]): Promise<readonly string[] | undefined> {
  const core = await newCore();
  await must(core, 'PUT /to');
  await must(core, 'PUT /to/_local/checkpoint', { history: [] });
  const ledger = new RefusedLedger(100);
  for (const id of ids) ledger.add({ id, rev: '1-a', error: 'bad_change', reason: 'none' });
  const found = await refusedIds(replicationOf(local('from'), local('to')), 'checkpoint', hostOf(core.handle), ledger);
  await core.close();
  return found;
}

test('refused documents are tried again by their ids', async () => {
  expect(await idsOf('b', 'a', 'b')).toEqual(['a', 'b']);
});

test.each([
  ['has half of a character', 'a\ufffd'],
  ['was cut', `${'x'.repeat(8_192)}…`],
])("if a refused id %s, all documents are compared again, so that the document isn't forgotten", async (_, id) => {
  expect(await idsOf('a', id)).toBeUndefined();
});

test('what the source has replaced is no longer named, but other revisions and documents are', () => {
  const ledger = new RefusedLedger(100);
  for (const [id, rev] of [
    ['a', '1-x'],
    ['a', '1-y'],
    ['b', '1-x'],
  ] as const) {
    ledger.add({ id, rev, error: 'forbidden', reason: 'no' });
  }
  expect(ledger.supersede('c', ['2-z'])).toBe(false);
  expect(ledger.supersede('a', ['1-y', '2-x'])).toBe(true);
  expect(ledger.supersede('a', ['1-y', '2-x'])).toBe(false);
  expect(ledger.list().map(({ id, rev }) => `${id} ${rev}`)).toEqual(['a 1-y', 'b 1-x']);
  expect(ledger.count).toBe(2);
});
