import { assert } from 'chai';
import { assertAllowed, assertError } from '../../../support/conformance/answer.ts';
import { fakeRev, replicated } from '../../../support/conformance/fake-revisions.ts';
import { at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import { changes, rowText, threeDocuments } from './steps.ts';

/** Which changes are listed, and what their rows say (docs/http/changes.md, docs/http/changes.md#rows-of-changes). */
export default suite('changes_rows', [
  test('a database without documents has no rows', async (t) => {
    assert.equal((await t.get('/_changes')).text, '{"results":[\n\n],\n"last_seq":0,"pending":0}\n');
  }),

  test('documents are listed in the order of their latest change, in the exact format', async (t) => {
    await threeDocuments(t);
    const { status, text } = await t.get('/_changes');
    const rows = [rowText(1, 'b', 'a'), rowText(2, 'a', 'b'), rowText(3, 'c', 'c')];
    assert.equal(status, 200);
    assert.equal(text, `{"results":[\n${rows.join(',\n')}\n],\n"last_seq":3,"pending":0}\n`);
  }),

  test('a document that changes moves to the end, and is listed once', async (t) => {
    await threeDocuments(t);
    await t.replicate([replicated('b', 2, 'da')]);
    assert.deepEqual((await changes(t, '')).text, [
      rowText(2, 'a', 'b'),
      rowText(3, 'c', 'c'),
      `{"seq":4,"id":"b","changes":[{"rev":"${fakeRev(2, 'd')}"}]}`,
    ]);
  }),

  test('a deleted document is listed as deleted, and as live when it is written again', async (t) => {
    const first = await t.put('a', { n: 1 });
    const second = await t.delete('a', first);
    const deleted = [{ seq: 2, id: 'a', changes: [{ rev: second }], deleted: true }];
    assert.deepEqual((await changes(t, '')).rows, deleted);
    const third = await t.put('a', { n: 2 });
    assert.deepEqual((await changes(t, '')).rows, [{ seq: 3, id: 'a', changes: [{ rev: third }] }]);
  }),

  test('ids are JSON strings in rows', async (t) => {
    const ids = ['a/b', 'with "quotes" \\', 'tab\t', 'ümläut 🐘', '_design/x'];
    await t.replicate(ids.map((id) => replicated(id, 1, 'a')));
    assert.sameMembers(
      (await changes(t, '')).rows.map((row) => at(row, 'id')),
      ids,
    );
    const quotes = (await changes(t, '')).text.find((line) => line.includes('quotes'));
    assert.include(quotes, '"id":"with \\"quotes\\" \\\\","changes"');
  }),

  test('local documents are not listed', async (t) => {
    await t.put('_local/x', { n: 1 });
    await threeDocuments(t);
    assert.lengthOf((await changes(t, '')).rows, 3);
  }),

  test('a refused write and a known revision are not changes', async (t) => {
    await threeDocuments(t);
    assertError(await t.at('PUT', '/a', { json: {} }), 409, 'conflict', 'Document update conflict.');
    await t.replicate([replicated('a', 1, 'b', { n: 1 })]);
    assert.equal((await changes(t, '')).lastSeq, 3);
  }),

  test('purged documents are not listed, and last_seq advances', async (t) => {
    await threeDocuments(t);
    const answer = await t.at('POST', '/_purge', { json: { c: [fakeRev(1, 'c')] } });
    assert.equal(answer.status, 200, answer.text);
    const { rows, lastSeq } = await changes(t, '');
    assert.deepEqual(
      rows.map((row) => at(row, 'id')),
      ['b', 'a'],
    );
    assert.equal(lastSeq, await t.updateSeq());
    assert.isAbove(lastSeq, 3);
  }),

  test('a compaction changes no row', async (t) => {
    await threeDocuments(t);
    await t.replicate([replicated('b', 2, 'da')]);
    const { text } = await t.get('/_changes');
    await t.compact();
    assert.equal((await t.get('/_changes')).text, text);
  }),

  test('thousands of changes are listed in order, each once', async (t) => {
    await t.bulk(Array.from({ length: 5_000 }, (_, n) => ({ _id: `${n}` })));
    const { rows, lastSeq } = await changes(t, '');
    assert.equal(lastSeq, 5_000);
    assert.deepEqual(
      rows.map((row) => at(row, 'seq')),
      Array.from({ length: 5_000 }, (_, n) => n + 1),
    );
    assert.lengthOf(new Set(rows.map((row) => at(row, 'id'))), 5_000);
  }),

  test(
    'rows keep their sequences over a restart',
    async (t) => {
      await threeDocuments(t);
      const before = await t.get('/_changes?limit=2');
      await t.restart();
      assert.equal((await t.get('/_changes?limit=2')).text, before.text);
      await t.replicate([replicated('d', 1, 'd')]);
      const later = await changes(t, 'since=3');
      assert.deepEqual(
        later.rows.map((row) => at(row, 'id')),
        ['d'],
      );
    },
    { needs: ['restart'] },
  ),

  test('a missing database is answered 404, in any feed', async (t) => {
    for (const feed of ['normal', 'longpoll', 'continuous', 'eventsource']) {
      const answer = await t.request('GET', `/conformance_nowhere/_changes?feed=${feed}`);
      assertError(answer, 404, 'not_found', 'no_db_file');
    }
  }),

  test('only GET and POST are allowed', async (t) => {
    for (const method of ['PUT', 'DELETE']) assertAllowed(await t.at(method, '/_changes'), 'GET,HEAD,POST,QUERY');
  }),
]);
