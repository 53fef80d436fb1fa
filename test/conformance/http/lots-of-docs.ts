import { assert } from 'chai';
import { arrayAt, at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

const total = 3000;

function idOf(index: number): string {
  return `${index}`.padStart(6, '0');
}

/** Written in an order unlike that of their ids. */
async function lots(t: Toolkit): Promise<void> {
  const order = Array.from({ length: total }, (_, index) => (index * 1009) % total);
  for (let start = 0; start < total; start += 500) {
    await t.bulk(order.slice(start, start + 500).map((n) => ({ _id: idOf(n), n, text: 'lorem ipsum '.repeat(20) })));
  }
}

async function numbers(t: Toolkit, query: string): Promise<unknown[]> {
  const answer = await t.get(`/_all_docs?include_docs=true&${query}`);
  assert.propertyVal(answer.json, 'total_rows', total);
  return arrayAt(answer.json, 'rows').map((row) => at(row, 'doc', 'n'));
}

/** Thousands of documents: order, counts and ranges hold over many pages. */
export default suite('lots_of_docs', [
  test('many documents are counted, listed in order and found by range', async (t) => {
    await lots(t);
    assert.deepInclude(await t.info(), { doc_count: total, update_seq: total });
    const all = Array.from({ length: total }, (_, index) => index);
    assert.deepEqual(await numbers(t, ''), all);
    assert.deepEqual(await numbers(t, 'descending=true'), all.toReversed());
    for (const [start, end] of [
      [0, 0],
      [7, 13],
      [990, 2010],
      [2990, 2999],
    ] as const) {
      const range = `startkey="${idOf(start)}"&endkey="${idOf(end)}"`;
      assert.deepEqual(await numbers(t, range), all.slice(start, end + 1));
    }
    assert.deepEqual(await numbers(t, `startkey="${idOf(1500)}"&skip=1000&limit=2`), [2500, 2501]);
  }),

  test('deleting every other document leaves the rest', async (t) => {
    await lots(t);
    const rows = arrayAt((await t.get('/_all_docs')).json, 'rows');
    const doomed = rows.filter((_, index) => index % 2 === 1);
    const deletions = doomed.map((row) => ({ _id: at(row, 'id'), _rev: at(row, 'value', 'rev'), _deleted: true }));
    const outcome = await t.bulk(deletions);
    assert.isTrue(outcome.every((row) => at(row, 'ok') === true));
    assert.deepInclude(await t.info(), { doc_count: total / 2, doc_del_count: total / 2, update_seq: total * 1.5 });
    const left = await t.get(`/_all_docs?startkey="${idOf(1001)}"&limit=2`);
    assert.deepInclude(left.json, { total_rows: total / 2, offset: 501 });
    assert.deepEqual(
      arrayAt(left.json, 'rows').map((row) => stringAt(row, 'id')),
      [idOf(1002), idOf(1004)],
    );
  }),

  test('many keys are looked up in one request', async (t) => {
    await lots(t);
    const keys = Array.from({ length: 1000 }, (_, index) => idOf((index * 37) % (total + 100)));
    const answer = await t.at('POST', '/_all_docs', { json: { keys } });
    const rows = arrayAt(answer.json, 'rows');
    assert.deepEqual(
      rows.map((row) => at(row, 'key')),
      keys,
    );
    for (const [index, key] of keys.entries()) {
      assert.equal(at(rows[index], 'error'), Number(key) < total ? undefined : 'not_found');
    }
  }),

  test('a listing shows one snapshot, whatever is written meanwhile', async (t) => {
    await lots(t);
    const before = arrayAt((await t.get('/_all_docs')).json, 'rows');
    const updates = before.map((row) => ({ _id: at(row, 'id'), _rev: at(row, 'value', 'rev'), n: -1 }));
    const [listing, written] = await Promise.all([t.get('/_all_docs?include_docs=true'), t.bulk(updates)]);
    assert.isTrue(written.every((row) => at(row, 'ok') === true));
    const shown = arrayAt(listing.json, 'rows').map((row) => at(row, 'doc', 'n') === -1);
    assert.lengthOf(shown, total);
    assert.equal(new Set(shown).size, 1, 'all rows should be from before the update, or all from after it');
  }),

  test('many simultaneous writers all succeed', async (t) => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) => t.at('PUT', `/${idOf(n)}`, { json: { n } })),
    );
    assert.isTrue(answers.every((answer) => answer.status === 201));
    assert.deepInclude(await t.info(), { doc_count: 200, update_seq: 200 });
  }),
]);
