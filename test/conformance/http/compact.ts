import { assert } from 'chai';
import { assertAllowed, assertError, assertJson } from '../../support/conformance/answer.ts';
import { fakeRev, replicated } from '../../support/conformance/fake-revisions.ts';
import { at, numberAt, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

const json = { 'content-type': 'application/json' };

/** `_compact` (docs/http/databases.md#compaction): bodies of revisions that were replaced go, all else stays. */
export default suite('compact', [
  test('compaction is answered 202, also while it runs', async (t) => {
    await t.put('doc', {});
    const answers = await Promise.all([1, 2, 3].map(() => t.at('POST', '/_compact', { headers: json })));
    for (const answer of answers) assertJson(answer, 202, { ok: true });
    await t.compact();
    assert.deepInclude(await t.info(), { compact_running: false, doc_count: 1 });
  }),

  test('compaction removes empty bodies of older revisions', async (t) => {
    const first = await t.put('doc', {});
    const second = await t.put('doc', { _rev: first, b: 1 });
    const gone = stringAt((await t.at('DELETE', `/doc?rev=${second}`)).json, 'rev');
    assertJson(await t.get(`/doc?rev=${first}`), 200, { _id: 'doc', _rev: first });
    await t.compact();
    assertError(await t.get(`/doc?rev=${first}`), 404, 'not_found', 'missing');
    assertJson(await t.get(`/doc?rev=${gone}&revs_info=true`), 200, {
      _id: 'doc',
      _rev: gone,
      _deleted: true,
      _revs_info: [
        { rev: gone, status: 'deleted' },
        { rev: second, status: 'missing' },
        { rev: first, status: 'missing' },
      ],
    });
  }),

  test('compaction removes bodies of older revisions, but not their ids', async (t) => {
    const first = await t.put('doc', { n: 1 });
    const second = await t.put('doc', { _rev: first, n: 2 });
    await t.compact();
    assertError(await t.get(`/doc?rev=${first}`), 404, 'not_found', 'missing');
    assertJson(await t.get('/doc?revs_info=true'), 200, {
      _id: 'doc',
      _rev: second,
      n: 2,
      _revs_info: [
        { rev: second, status: 'available' },
        { rev: first, status: 'missing' },
      ],
    });
  }),

  test('compaction keeps every leaf: conflicts, and tombstones with their members', async (t) => {
    await t.replicate([
      replicated('doc', 2, 'ba', { n: 1 }),
      replicated('doc', 2, 'ca', { n: 2 }),
      replicated('gone', 2, 'ba', { _deleted: true, why: 'old' }),
    ]);
    const before = await t.info();
    await t.compact();
    assertJson(await t.get(`/doc?rev=${fakeRev(2, 'b')}`), 200, { _id: 'doc', _rev: fakeRev(2, 'b'), n: 1 });
    assertJson(await t.get(`/doc?rev=${fakeRev(2, 'c')}`), 200, { _id: 'doc', _rev: fakeRev(2, 'c'), n: 2 });
    const gone = { _id: 'gone', _rev: fakeRev(2, 'b'), _deleted: true, why: 'old' };
    assertJson(await t.get(`/gone?rev=${fakeRev(2, 'b')}`), 200, gone);
    for (const member of ['doc_count', 'doc_del_count', 'update_seq', 'purge_seq', 'instance_start_time']) {
      assert.equal(at(await t.info(), member), at(before, member), member);
    }
  }),

  test('compaction keeps settings of the database and local documents', async (t) => {
    await t.at('PUT', '/_security', { json: { members: { names: [], roles: ['staff'] } } });
    await t.at('PUT', '/_revs_limit', { body: '7' });
    await t.put('_local/mine', { n: 1 });
    await t.compact();
    assertJson(await t.get('/_security'), 200, { members: { names: [], roles: ['staff'] } });
    assert.equal((await t.get('/_revs_limit')).text, '7\n');
    assertJson(await t.get('/_local/mine'), 200, { _id: '_local/mine', _rev: '0-1', n: 1 });
  }),

  test('compaction frees space after many updates', async (t) => {
    const docs = Array.from({ length: 100 }, (_, n) => ({ _id: `${n}`, text: `${n} lorem ipsum `.repeat(50) }));
    let revs: unknown[] = [];
    for (let round = 0; round < 10; round += 1) {
      const rows = await t.bulk(docs.map((doc, n) => (round === 0 ? doc : { ...doc, _rev: revs[n], round })));
      revs = rows.map((row) => at(row, 'rev'));
    }
    const before = await t.info();
    await t.compact();
    const after = await t.info();
    assert.isBelow(numberAt(after, 'disk_size'), numberAt(before, 'disk_size'));
    assert.isAtMost(numberAt(after, 'data_size'), numberAt(after, 'disk_size'));
    assert.deepInclude(after, { doc_count: 100, update_seq: 1000 });
    assert.deepInclude((await t.get('/42')).json, { _id: '42', round: 9 });
  }),

  test('reads and writes continue during compaction', async (t) => {
    await t.bulk(Array.from({ length: 500 }, (_, n) => ({ _id: `${n}`, text: 'lorem ipsum '.repeat(30) })));
    const started = t.compact();
    const written = await Promise.all(Array.from({ length: 50 }, (_, n) => t.put(`during${n}`, { n })));
    await started;
    for (const [n, rev] of written.entries()) {
      assertJson(await t.get(`/during${n}`), 200, { _id: `during${n}`, _rev: rev, n });
    }
    assert.deepInclude(await t.info(), { doc_count: 550, update_seq: 550 });
  }),

  test('_compact needs POST and the content type of JSON', async (t) => {
    const reason = 'Content-Type must be application/json';
    assertError(await t.at('POST', '/_compact'), 415, 'bad_content_type', reason);
    const plain = await t.at('POST', '/_compact', { headers: { 'content-type': 'text/plain' } });
    assertError(plain, 415, 'bad_content_type', reason);
    assertAllowed(await t.get('/_compact'), 'POST');
  }),
]);
