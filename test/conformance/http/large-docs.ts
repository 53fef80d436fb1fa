import { assert } from 'chai';
import { arrayAt, at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

const megabyte = 1024 * 1024;

/** A text of that many characters, no stretch of which is like another. */
function longText(length: number): string {
  const parts: string[] = [];
  for (let index = 0, size = 0; size < length; index += 1) {
    const part = `${index * 7919};`;
    parts.push(part);
    size += part.length;
  }
  return parts.join('').slice(0, length);
}

/** Documents beyond any page size go through whole. */
export default suite('large_docs', [
  ...[1000, 16 * 1024, 64 * 1024 + 1, megabyte, 5 * megabyte].map((length) =>
    test(`a text of ${length} characters`, async (t) => {
      const text = longText(length);
      const rev = await t.put('doc', { text });
      const read = await t.get('/doc');
      assert.isTrue(stringAt(read.json, 'text') === text, 'the text should come back as it was');
      assert.equal((await t.at('HEAD', '/doc')).header('content-length'), `${read.bytes.length}`);
      const second = await t.put('doc', { _rev: rev, text: 'short' });
      assert.deepEqual((await t.get('/doc')).json, { _id: 'doc', _rev: second, text: 'short' });
    }),
  ),

  test('small and large ones in one bulk', async (t) => {
    const lengths = [10, 300_000, 20, 2 * megabyte, 30];
    await t.bulk(lengths.map((length, index) => ({ _id: `${index}`, text: longText(length) })));
    const rows = arrayAt((await t.get('/_all_docs?include_docs=true')).json, 'rows');
    assert.deepEqual(
      rows.map((row) => stringAt(row, 'doc', 'text').length),
      lengths,
    );
    for (const [index, length] of lengths.entries()) {
      assert.isTrue(stringAt(rows, index, 'doc', 'text') === longText(length));
    }
  }),

  test('an array of 100,000 and an object of 20,000 members', async (t) => {
    const list = Array.from({ length: 100_000 }, (_, index) => index);
    const members = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`member${index}`, index]));
    await t.put('doc', { list, members });
    const read = (await t.get('/doc')).json;
    assert.isTrue(JSON.stringify(at(read, 'list')) === JSON.stringify(list));
    assert.isTrue(JSON.stringify(at(read, 'members')) === JSON.stringify(members));
  }),

  test('a long id and a long member name', async (t) => {
    const id = 'i'.repeat(4000);
    const name = 'm'.repeat(100_000);
    await t.put(id, { [name]: 1 });
    assert.equal(at((await t.get(`/${id}`)).json, name), 1);
    assert.equal(at((await t.get('/_all_docs')).json, 'rows', 0, 'id'), id);
  }),
]);
