import { assert } from 'chai';
import { arrayAt, at, stringAt } from '../../support/conformance/json.ts';
import { ofCore, suite, test } from '../../support/conformance/suite.ts';

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
const passedOn = [
  ...[1000, 16 * 1024, 64 * 1024 + 1, megabyte, 5 * megabyte].map((length) =>
    test(`a text of ${length} characters is stored and read`, async (t) => {
      const text = longText(length);
      const rev = await t.put('doc', { text });
      const read = await t.get('/doc');
      assert.isTrue(stringAt(read.json, 'text') === text, 'the text should come back as it was');
      assert.equal((await t.at('HEAD', '/doc')).header('content-length'), `${read.bytes.length}`);
      const second = await t.put('doc', { _rev: rev, text: 'short' });
      assert.deepEqual((await t.get('/doc')).json, { _id: 'doc', _rev: second, text: 'short' });
    }),
  ),

  test('small and large documents can be written in one bulk request', async (t) => {
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

  test('an array of 100,000 and an object of 20,000 members are stored and read', async (t) => {
    const list = Array.from({ length: 100_000 }, (_, index) => index);
    const members = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`member${index}`, index]));
    await t.put('doc', { list, members });
    const read = (await t.get('/doc')).json;
    assert.isTrue(JSON.stringify(at(read, 'list')) === JSON.stringify(list));
    assert.isTrue(JSON.stringify(at(read, 'members')) === JSON.stringify(members));
  }),

  test('a long id and a long member name are stored and read', async (t) => {
    const id = 'i'.repeat(4000);
    const name = 'm'.repeat(100_000);
    await t.put(id, { [name]: 1 });
    assert.equal(at((await t.get(`/${id}`)).json, name), 1);
    assert.equal(at((await t.get('/_all_docs')).json, 'rows', 0, 'id'), id);
  }),
];

const readInEveryWay = [
  test('a long document between short ones is the same in every way of reading', async (t) => {
    // Of one to four bytes a character, so that some lie across whatever a text is cut at.
    const text = '€a😀ü'.repeat(200_000);
    const data = btoa('the content');
    const attachment = { content_type: 'text/plain', data };
    await t.bulk([
      { _id: 'a', n: 1 },
      { _id: 'b', n: 2, text },
      { _id: 'c', n: 3 },
      { _id: 'd', n: 4, text, _attachments: { 'a{"}': attachment } },
    ]);
    const map = 'function (doc) { emit(doc.n, null); }';
    await t.put('_design/v', { views: { v: { map } } });
    const ids = ['a', 'b', 'c', 'd'];
    const keys = [...ids, 'b', 'none', 'b'];
    for (const flags of ['', 'attachments=true', 'conflicts=true']) {
      const documents = new Map<unknown, unknown>([['none', undefined]]);
      for (const id of ids) documents.set(id, (await t.get(`/${id}?${flags}`)).json);
      assert.isTrue(stringAt(documents.get('b'), 'text') === text, 'the text should come back as it was');
      const same = (found: readonly unknown[], expected: readonly string[], what: string) => {
        assert.deepEqual(
          found,
          expected.map((id) => documents.get(id)),
          `${what} ${flags}`,
        );
      };
      const docsOf = async (path: string, list: string) =>
        arrayAt((await t.get(`${path}include_docs=true&${flags}`)).json, list).map((row) => at(row, 'doc'));
      same(await docsOf('/_all_docs?startkey="a"&', 'rows'), ids, '_all_docs');
      const keyed = await t.at('POST', `/_all_docs?include_docs=true&${flags}`, { json: { keys } });
      same(
        arrayAt(keyed.json, 'rows').map((row) => at(row, 'doc')),
        keys,
        'keys',
      );
      same(await docsOf('/_design/v/_view/v?', 'rows'), ids, 'a view');
      same((await docsOf('/_changes?', 'results')).slice(0, 4), ids, '_changes');
      const bulk = await t.at('POST', `/_bulk_get?${flags}`, { json: { docs: keys.map((id) => ({ id })) } });
      const read = arrayAt(bulk.json, 'results').map((entry) => at(at(entry, 'docs', 0), 'ok'));
      same(read, keys, '_bulk_get');
      for (const id of ids) {
        const open = await t.get(`/${id}?open_revs=all&${flags}`);
        same([at(open.json, 0, 'ok')], [id], 'open_revs');
      }
    }
  }),

  test('a very long history is returned whole, however much of it was read before', async (t) => {
    await t.at('PUT', '/_revs_limit', { json: 1_000_000 });
    const length = 20_000;
    const ids = Array.from({ length }, (_, n) => String(length - n).padStart(32, '0'));
    const revs = ids.map((hash, n) => `${length - n}-${hash}`);
    await t.replicate([{ _id: 'old', _rev: revs[0], _revisions: { start: length, ids }, n: 1 }]);
    for (let time = 0; time < 2; time += 1) {
      const { json } = await t.get('/old?revs=true&revs_info=true');
      assert.deepEqual(at(json, '_revisions'), { start: length, ids });
      assert.deepEqual(
        arrayAt(json, '_revs_info').map((one) => at(one, 'rev')),
        revs,
      );
      assert.equal(at(json, '_revs_info', 0, 'status'), 'available');
      assert.equal(at(json, '_revs_info', 1, 'status'), 'missing');
      // Looks for a revision in the history, and shows all of it.
      const named = encodeURIComponent(JSON.stringify([revs[length - 5], '7-none']));
      const open = await t.get(`/old?revs=true&latest=true&open_revs=${named}`);
      assert.deepEqual(at(open.json, 0, 'ok', '_revisions'), { start: length, ids });
      assert.equal(at(open.json, 1, 'missing'), '7-none');
      const asked = {
        docs: [
          { id: 'old', rev: revs[0] },
          { id: 'old', rev: revs[0] },
        ],
      };
      const entries = arrayAt((await t.at('POST', '/_bulk_get?revs=true', { json: asked })).json, 'results');
      for (const entry of entries) assert.deepEqual(at(entry, 'docs', 0, 'ok', '_revisions', 'ids'), ids);
    }
  }),

  test('a document with thousands of conflicts lists all of them', async (t) => {
    const count = 8_000;
    const revs = Array.from({ length: count }, (_, n) => `1-${String(count - n).padStart(32, '0')}`);
    await t.replicate(revs.map((_rev, n) => ({ _id: 'doc', _rev, n })));
    const { json } = await t.get('/doc?conflicts=true&revs=true&revs_info=true&local_seq=true');
    assert.deepEqual(at(json, '_conflicts'), revs.slice(1));
    assert.equal(at(json, '_rev'), revs[0]);
    assert.equal(at(json, 'n'), 0);
    assert.deepEqual(at(json, '_revisions'), { start: 1, ids: [`${revs[0]}`.slice(2)] });
    assert.notProperty(json, '_deleted_conflicts');
    const rows = arrayAt((await t.get('/_all_docs?include_docs=true&conflicts=true')).json, 'rows');
    assert.deepEqual(at(rows, 0, 'doc', '_conflicts'), revs.slice(1));
    const open = await t.get('/doc?open_revs=all');
    assert.deepEqual(
      arrayAt(open.json).map((one) => at(one, 'ok', '_rev')),
      revs,
    );
    const asked = { docs: [{ id: 'doc', rev: revs[7] }, { id: 'doc' }, { id: 'doc', rev: '1-none' }] };
    const entries = arrayAt((await t.at('POST', '/_bulk_get', { json: asked })).json, 'results');
    assert.deepEqual(
      entries.map((entry) => arrayAt(entry, 'docs').length),
      [1, count, 1],
    );
    assert.equal(at(entries, 0, 'docs', 0, 'ok', 'n'), 7);
    assert.equal(at(entries, 2, 'docs', 0, 'error', 'reason'), 'missing');
    const named = JSON.stringify([revs[5], '1-none', revs[count - 1]]);
    const some = await t.get(`/doc?latest=true&open_revs=${encodeURIComponent(named)}`);
    assert.deepEqual(
      arrayAt(some.json).map((one) => at(one, 'ok', 'n')),
      [5, undefined, count - 1],
    );
  }),
];

export default suite('large_docs', [...passedOn, ...ofCore(readInEveryWay)]);
