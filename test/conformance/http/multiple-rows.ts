import { assert } from 'chai';
import { arrayAt, at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

const total = 250;

function idOf(index: number): string {
  return `item-${`${index}`.padStart(4, '0')}`;
}

async function manyDocuments(t: Toolkit): Promise<void> {
  await t.bulk(Array.from({ length: total }, (_, index) => ({ _id: idOf(index), index })));
}

/** Reading many rows page by page (docs/http/views.md#view-parameters). */
export default suite('multiple_rows', [
  test('pages by startkey with one extra row return every row once', async (t) => {
    await manyDocuments(t);
    const pageSize = 40;
    const seen: string[] = [];
    let startKey: string | undefined = '';
    while (startKey !== undefined) {
      const query = `startkey=${encodeURIComponent(JSON.stringify(startKey))}&limit=${pageSize + 1}`;
      const answer = await t.get(`/_all_docs?${query}`);
      assert.deepInclude(answer.json, { total_rows: total, offset: seen.length });
      const ids = arrayAt(answer.json, 'rows').map((row) => stringAt(row, 'id'));
      seen.push(...ids.slice(0, pageSize));
      startKey = ids[pageSize];
    }
    assert.deepEqual(
      seen,
      Array.from({ length: total }, (_, index) => idOf(index)),
    );
  }),

  test('pages by skip return every row once, in both directions', async (t) => {
    await manyDocuments(t);
    for (const descending of [false, true]) {
      const seen: number[] = [];
      for (let skip = 0; skip < total; skip += 60) {
        const answer = await t.get(`/_all_docs?skip=${skip}&limit=60&include_docs=true&descending=${descending}`);
        assert.propertyVal(answer.json, 'offset', skip);
        seen.push(...arrayAt(answer.json, 'rows').map((row) => Number(at(row, 'doc', 'index'))));
      }
      const expected = Array.from({ length: total }, (_, index) => (descending ? total - 1 - index : index));
      assert.deepEqual(seen, expected);
    }
  }),

  test('an update shows in its row at once, and moves no row', async (t) => {
    await manyDocuments(t);
    const before = arrayAt((await t.get('/_all_docs?limit=3&skip=99')).json, 'rows');
    const rev = await t.put(idOf(100), { _rev: stringAt(before, 1, 'value', 'rev'), index: 'new' });
    const after = arrayAt((await t.get('/_all_docs?limit=3&skip=99')).json, 'rows');
    assert.deepEqual(after, [before[0], { id: idOf(100), key: idOf(100), value: { rev } }, before[2]]);
  }),
]);
