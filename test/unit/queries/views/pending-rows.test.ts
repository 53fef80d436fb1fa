import { expect, test } from 'vitest';
import { type CooperativeTask, TimeSlice } from '../../../../src/base/shared/turn.ts';
import type { DocId } from '../../../../src/database/documents/contract.ts';
import { parseDefinition } from '../../../../src/queries/views/trees/definition.ts';
import { createTreeOrders } from '../../../../src/queries/views/trees/tree-order.ts';
import { changesOf, PendingRows } from '../../../../src/queries/views/updating/pending-rows.ts';

const COUNT = 50_000;
const id = 'doc' as DocId;
const definition = await parseDefinition('{"views":{"v":{"map":"function (doc) {}"}}}');
const orders = createTreeOrders(definition.trees);

/** The keys of one document, the greatest first. */
const keys = Array.from({ length: COUNT }, (_, n) => String(COUNT - n));

/** What the steps give, and how many they are. */
function counted<T>(steps: CooperativeTask<T>): { readonly result: T; readonly count: number } {
  for (let count = 1; ; count++) {
    const { done, value } = steps.next();
    if (done === true) return { result: value, count };
  }
}

test('thousands of rows of one document are added in many steps', async () => {
  const pending = new PendingRows(definition, orders);
  const values = keys.map(() => '1');
  const { count } = counted(pending.add([id], [{ counts: [COUNT], keys, values }]));
  expect(count).toBeGreaterThan(200);
  const { rows } = await pending.take(new TimeSlice());
  expect(rows[0]?.map(({ key }) => key.keyText)).toEqual(keys.toReversed());
});

test('thousands of values of one document are sorted in many steps', async () => {
  const pending = new PendingRows(definition, orders);
  const counts = [COUNT];
  const { count } = counted(pending.add([id], [{ counts, keys: keys.map(() => '"same"'), values: keys }]));
  expect(count).toBeGreaterThan(400);
  const { rows } = await pending.take(new TimeSlice());
  expect(rows[0]?.map(({ value }) => value)).toEqual(keys.toReversed());
});

test('thousands of rows of one document are replaced in many steps', () => {
  const compare = orders[0]?.compareRows ?? expect.fail('there is an order');
  const { result, count } = counted(changesOf([{ id, keys: [keys] }], 0, [], compare));
  expect(count).toBeGreaterThan(200);
  expect(result).toHaveLength(1);
  expect(result[0]?.map(({ key, value }) => [key.keyText, value])).toEqual(
    keys.toReversed().map((key) => [key, undefined]),
  );
});
