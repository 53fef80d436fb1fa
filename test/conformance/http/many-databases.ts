import { assert } from 'chai';
import { arrayAt, numberAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

async function createMany(t: Toolkit, count: number): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, n) => `${t.db}_many_${n}`);
  for (const name of names) await t.createDatabase(name);
  return names;
}

/** Writes to all of them at once, round after round, and reads everything back. */
async function useAll(t: Toolkit, names: readonly string[], rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const writes = names.map((name) => t.request('PUT', `/${name}/doc${round}`, { json: { name, round } }));
    for (const answer of await Promise.all(writes)) assert.equal(answer.status, 201);
  }
  for (const name of names) {
    const { json } = await t.request('GET', `/${name}/_all_docs?include_docs=true`);
    assert.equal(numberAt(json, 'total_rows'), rounds);
    for (const [round, row] of arrayAt(json, 'rows').entries()) {
      assert.deepInclude(row, { id: `doc${round}` });
      assert.include(JSON.stringify(row), `"name":"${name}","round":${round}`);
    }
  }
}

/** Many databases at once, more than are held open (docs/http/server.md#settings: max_dbs_open). */
export default suite('many_databases', [
  test('twenty databases are used side by side', async (t) => {
    await useAll(t, await createMany(t, 20), 3);
  }),

  test(
    'more databases can be used than can be open simultaneously',
    async (t) => {
      const small = await t.withSettings({ svc: { max_dbs_open: '3' } });
      await useAll(small, await createMany(small, 12), 3);
    },
    { needs: ['settings'] },
  ),

  test("deleting a database in use doesn't affect another", async (t) => {
    const [first = '', second = ''] = await createMany(t, 2);
    const docs = Array.from({ length: 500 }, (_, n) => ({ _id: `${n}`, text: 'lorem ipsum '.repeat(10) }));
    for (const name of [first, second]) await t.request('POST', `/${name}/_bulk_docs`, { json: { docs } });
    const [listing, writing, deleting, other] = await Promise.allSettled([
      t.request('GET', `/${first}/_all_docs?include_docs=true`),
      t.request('PUT', `/${first}/new`, { json: {} }),
      t.request('DELETE', `/${first}`),
      t.request('GET', `/${second}/_all_docs?include_docs=true`),
    ]);
    // A listing may be broken off; one that ends as it should must be whole.
    if (listing.status === 'fulfilled' && listing.value.status === 200) {
      assert.isAtLeast(arrayAt(listing.value.json, 'rows').length, 500);
    }
    if (writing.status === 'fulfilled') assert.include([201, 404], writing.value.status);
    assert(deleting.status === 'fulfilled' && other.status === 'fulfilled');
    assert.equal(deleting.value.status, 200);
    assert.lengthOf(arrayAt(other.value.json, 'rows'), 500);
    assert.equal((await t.request('GET', `/${first}`)).status, 404);
  }),
]);
