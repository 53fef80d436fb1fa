import { assert } from 'chai';
import { assertError, assertJson } from '../../support/conformance/answer.ts';
import { find, findIds, idsOf, index } from '../../support/conformance/find-steps.ts';
import { at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

const people = [
  { _id: 'ada', name: { given: 'Ada', family: 'Lovelace' }, born: 1815, tags: ['math', 'poetry'] },
  { _id: 'alan', name: { given: 'Alan', family: 'Turing' }, born: 1912, tags: ['math'] },
  { _id: 'grace', name: { given: 'Grace', family: 'Hopper' }, born: 1906, tags: ['navy', 'compilers'] },
  { _id: 'konrad', name: { given: 'Konrad', family: 'Zuse' }, born: 1910, tags: [] },
];

const NO_INDEX = 'No matching index found, create an index to optimize query time.';

async function withPeople(t: Toolkit): Promise<void> {
  await t.bulk(people);
}

function numbers(count: number): readonly { _id: string; n: number; even: boolean }[] {
  return Array.from({ length: count }, (_, n) => ({ _id: `d${`${n}`.padStart(3, '0')}`, n, even: n % 2 === 0 }));
}

/** What `_find` answers (docs/http/find.md#find). */
export default suite('find_basics', [
  test('an empty selector returns whole documents in the order of ids, with a bookmark and a warning', async (t) => {
    const rev = await t.put('b', { n: 1, text: 'ä' });
    const other = await t.put('a', { n: 1 });
    await t.put('c', { n: 2 });
    const answer = await find(t, { selector: { n: 1 } });
    assert.equal(answer.header('content-type'), 'application/json');
    assert.deepEqual(at(answer.json, 'docs'), [
      { _id: 'a', _rev: other, n: 1 },
      { _id: 'b', _rev: rev, n: 1, text: 'ä' },
    ]);
    assert.isNotEmpty(stringAt(answer.json, 'bookmark'));
    assert.equal(at(answer.json, 'warning'), NO_INDEX);
    assert.deepEqual(at(answer.json, 'suggested_index'), { index: { fields: ['n'] } });
    assert.hasAllKeys(answer.json, ['docs', 'bookmark', 'warning', 'suggested_index']);
  }),

  test('a query without matches has the bookmark "nil"', async (t) => {
    await withPeople(t);
    const answer = await find(t, { selector: { _id: 'nobody' } });
    assertJson(answer, 200, { docs: [], bookmark: 'nil' });
  }),

  test('nested fields, implicit equality and several conditions match', async (t) => {
    await withPeople(t);
    assert.deepEqual(await findIds(t, { 'name.given': 'Ada' }), ['ada']);
    assert.deepEqual(await findIds(t, { name: { given: 'Ada' } }), ['ada']);
    assert.deepEqual(await findIds(t, { name: { given: { $gt: 'B' }, family: { $lt: 'J' } } }), ['grace']);
    assert.deepEqual(await findIds(t, { born: { $gt: 1905, $lt: 1911 } }), ['grace', 'konrad']);
    assert.deepEqual(await findIds(t, { 'tags.0': 'math' }), ['ada', 'alan']);
    assert.deepEqual(await findIds(t, {}), ['ada', 'alan', 'grace', 'konrad']);
  }),

  test('a dot in a field name is escaped with a backslash', async (t) => {
    await t.bulk([
      { _id: 'dotted', 'a.b': 1 },
      { _id: 'nested', a: { b: 1 } },
    ]);
    assert.deepEqual(await findIds(t, { 'a\\.b': 1 }), ['dotted']);
    assert.deepEqual(await findIds(t, { 'a.b': 1 }), ['nested']);
    const answer = await find(t, { selector: { 'a\\.b': 1 }, fields: ['a\\.b'] });
    assert.deepEqual(at(answer.json, 'docs'), [{ 'a.b': 1 }]);
  }),

  test('fields selects the members that are returned, and absent ones are left out', async (t) => {
    await withPeople(t);
    const shown = async (fields: readonly string[]) =>
      at((await find(t, { selector: { born: 1815 }, fields })).json, 'docs');
    assert.deepEqual(await shown(['_id', 'name.given']), [{ _id: 'ada', name: { given: 'Ada' } }]);
    assert.deepEqual(await shown(['name.family', 'name.given', 'nothing', 'born.no']), [
      { name: { family: 'Lovelace', given: 'Ada' } },
    ]);
    assert.deepEqual(await shown(['nothing']), [{}]);
    const [ada] = people;
    assert.containsAllKeys(at(await find(t, { selector: { born: 1815 }, fields: [] }).then((a) => a.json), 'docs', 0), {
      ...ada,
      _rev: '',
    });
  }),

  test('numbers keep their digits in whole documents and in fields', async (t) => {
    await t.at('PUT', '/n', { body: '{"big":12345678901234567890,"exact":1.10,"in":{"x":1e2}}' });
    await index(t, ['big'], 'big');
    for (const selector of [{ _id: 'n' }, { big: { $gt: 0 } }]) {
      assert.include((await find(t, { selector })).text, '"big":12345678901234567890,"exact":1.10,"in":{"x":1e2}');
      const some = await find(t, { selector, fields: ['big', 'in.x', 'exact'] });
      assert.include(some.text, '{"big":12345678901234567890,"in":{"x":1e2},"exact":1.10}');
    }
    assert.include(
      (await find(t, { selector: { big: { $gt: 0 } }, fields: ['big'] })).text,
      '{"big":12345678901234567890}',
    );
  }),

  test('limit defaults to 25, and skip counts matches', async (t) => {
    await t.bulk(numbers(60));
    const ids = (from: number, to: number) =>
      numbers(60)
        .slice(from, to)
        .map(({ _id }) => _id);
    assert.deepEqual(idsOf(await find(t, { selector: { n: { $gte: 0 } } })), ids(0, 25));
    assert.deepEqual(idsOf(await find(t, { selector: { n: { $gte: 10 } }, skip: 5, limit: 3 })), ids(15, 18));
    assert.deepEqual(idsOf(await find(t, { selector: { n: { $gte: 0 } }, skip: 60 })), []);
    assert.deepEqual(idsOf(await find(t, { selector: { n: { $gte: 0 } }, limit: 0 })), []);
  }),

  test('bookmarks lead through all pages, with and without an index, ascending and descending', async (t) => {
    await t.bulk(numbers(50));
    const pages = async (body: Readonly<Record<string, unknown>>): Promise<unknown[]> => {
      const found: unknown[] = [];
      for (let bookmark: unknown; ; ) {
        const more = bookmark === undefined ? {} : { bookmark };
        const page = await find(t, { selector: { even: true }, limit: 7, fields: ['n'], ...body, ...more });
        const docs = at(page.json, 'docs');
        assert.isArray(docs);
        if (!Array.isArray(docs) || docs.length === 0) {
          assert.equal(at(page.json, 'bookmark'), bookmark, 'what ends it stays as it was');
          return found;
        }
        found.push(...docs.map((doc: unknown) => at(doc, 'n')));
        bookmark = at(page.json, 'bookmark');
      }
    };
    const evens = Array.from({ length: 25 }, (_, n) => 2 * n);
    assert.deepEqual(await pages({}), evens);
    assert.deepEqual(await pages({ sort: [{ _id: 'desc' }] }), evens.toReversed());
    await index(t, ['even'], 'even');
    assert.deepEqual(await pages({}), evens);
    await index(t, ['even', 'n'], 'both');
    assert.deepEqual(await pages({ sort: ['even', 'n'] }), evens);
    assert.deepEqual(await pages({ sort: [{ n: 'desc' }] }), evens.toReversed());
  }),

  test('a bookmark after a long key is short, and continues correctly', async (t) => {
    const long = (n: number) => `${n}`.repeat(70_000);
    await t.bulk(Array.from({ length: 5 }, (_, n) => ({ _id: `d${n}`, text: long(n) })));
    await index(t, ['text'], 'text');
    const query = { selector: { text: { $gt: null } }, fields: ['_id'], limit: 1 };
    let bookmark: unknown;
    for (const [skip, id] of [
      [0, 'd0'],
      [1, 'd2'],
      [0, 'd3'],
    ]) {
      const page = await find(t, { ...query, skip, ...(bookmark === undefined ? {} : { bookmark }) });
      bookmark = at(page.json, 'bookmark');
      assert.isBelow(String(bookmark).length, 200);
      assert.deepEqual(idsOf(page), [id]);
    }
  }),

  test('a bookmark continues in its own index even if other indexes are created', async (t) => {
    await t.bulk(numbers(10));
    const query = { selector: { n: { $gte: 0 }, even: true }, limit: 2 };
    const first = await find(t, query);
    await index(t, ['even', 'n'], 'better');
    const second = await find(t, { ...query, bookmark: at(first.json, 'bookmark') });
    assert.deepEqual(idsOf(second), ['d004', 'd006']);
    const foreign = at((await find(t, query)).json, 'bookmark');
    const answer = await t.at('POST', '/_find', {
      json: { selector: { even: { $exists: false } }, bookmark: foreign },
    });
    assert.deepEqual([answer.status, at(answer.json, 'error')], [400, 'invalid_bookmark']);
  }),

  test('execution_stats counts the documents and keys examined', async (t) => {
    await t.bulk(numbers(40));
    await index(t, ['n'], 'n');
    const stats = async (body: Readonly<Record<string, unknown>>) => {
      const answer = await find(t, { execution_stats: true, ...body });
      const found = at(answer.json, 'execution_stats');
      assert.isAtLeast(Number(at(found, 'execution_time_ms')), 0);
      return [
        at(found, 'total_keys_examined'),
        at(found, 'total_docs_examined'),
        at(found, 'total_quorum_docs_examined'),
        at(found, 'results_returned'),
      ];
    };
    assert.deepEqual(await stats({ selector: { n: { $gte: 10, $lt: 15 } } }), [6, 5, 0, 5]);
    // Nothing but the index's own field: no document is read.
    assert.deepEqual(await stats({ selector: { n: { $gte: 10, $lte: 15 } }, fields: ['_id', 'n'] }), [6, 0, 0, 6]);
    const [, documents] = await stats({ selector: { even: true }, limit: 40 });
    assert.equal(documents, 40);
  }),

  test('design documents and local documents are never found', async (t) => {
    await t.put('_design/x', { kind: 'a' });
    await t.put('_local/x', { kind: 'a' });
    await t.put('x', { kind: 'a' });
    assert.deepEqual(await findIds(t, { kind: 'a' }), ['x']);
    assert.deepEqual(await findIds(t, { _id: '_design/x' }), []);
    assert.deepEqual(await findIds(t, { _id: { $in: ['_design/x', 'x', 'y', '_local/x', ''] } }), ['x']);
    await index(t, ['kind'], 'kind');
    assert.deepEqual(await findIds(t, { kind: 'a' }), ['x']);
  }),

  test('conflicts are returned with conflicts: true', async (t) => {
    const revisions = (hash: string) => ({ start: 1, ids: [hash] });
    await t.replicate([
      { _id: 'x', _revisions: revisions('b'.repeat(32)), n: 1 },
      { _id: 'x', _revisions: revisions('a'.repeat(32)), n: 1 },
      { _id: 'y', _revisions: revisions('c'.repeat(32)), n: 1 },
    ]);
    const plain = await find(t, { selector: { n: 1 } });
    assert.notInclude(plain.text, '_conflicts');
    const answer = await find(t, { selector: { n: 1 }, conflicts: true });
    assert.deepEqual(at(answer.json, 'docs', 0, '_conflicts'), [`1-${'a'.repeat(32)}`]);
    assert.isUndefined(at(answer.json, 'docs', 1, '_conflicts'));
  }),

  test('a changed document is found at once, and a deleted one is not', async (t) => {
    await index(t, ['n'], 'n');
    const rev = await t.put('x', { n: 1 });
    assert.deepEqual(await findIds(t, { n: 1 }), ['x']);
    const next = await t.put(`x?rev=${rev}`, { n: 2 });
    assert.deepEqual(await findIds(t, { n: 1 }), []);
    assert.deepEqual(await findIds(t, { n: 2 }), ['x']);
    await t.delete('x', next);
    assert.deepEqual(await findIds(t, { n: { $gt: 0 } }), []);
  }),

  test("update: false reads the index without updating it, and returns no document that doesn't match", async (t) => {
    await index(t, ['n'], 'n');
    await t.put('x', { n: 1 });
    const rev = await t.put('y', { n: 1 });
    assert.deepEqual(await findIds(t, { n: 1 }), ['x', 'y']);
    await t.put('z', { n: 1 });
    await t.put(`y?rev=${rev}`, { n: 2 });
    assert.deepEqual(await findIds(t, { n: 1 }, { update: false }), ['x']);
    assert.deepEqual(await findIds(t, { n: 1 }, { stale: 'ok' }), ['x']);
    assert.deepEqual(await findIds(t, { n: 1 }, { update: true }), ['x', 'z']);
  }),

  test('a query without an index finds a few documents among many', async (t) => {
    await t.bulk(Array.from({ length: 700 }, (_, n) => ({ _id: `${n}`, n, text: 'x'.repeat(200) })));
    const found = await findIds(t, { n: { $mod: [100, 1] } }, { sort: [{ _id: 'desc' }] });
    assert.deepEqual(found, ['601', '501', '401', '301', '201', '101', '1']);
    const whole = await find(t, { selector: { n: { $gte: 0 } }, limit: 1000 });
    assert.lengthOf(idsOf(whole), 700);
  }),

  test('a body must be a JSON object', async (t) => {
    const wrong = await t.at('POST', '/_find', { body: '{}' });
    assertError(wrong, 415, 'bad_content_type', 'Content-Type must be application/json');
    assertError(await t.at('POST', '/_find', { json: [] }), 400, 'bad_request', 'Request body must be a JSON object');
    const deep = `{"selector":${'{"a":'.repeat(3000)}1${'}'.repeat(3000)}}`;
    const headers = { 'content-type': 'application/json' };
    assertError(
      await t.at('POST', '/_find', { body: deep, headers }),
      400,
      'bad_request',
      'The JSON has arrays and objects in more than 1000 levels; send what is nested deeper as a string.',
    );
  }),
]);
