import { assert } from 'chai';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';
import { numbered, putViews, query } from '../../support/conformance/view-steps.ts';

async function tagOf(t: Toolkit, what: string): Promise<string> {
  return `${(await query(t, what)).header('etag')}`;
}

async function fill(t: Toolkit): Promise<string> {
  const rev = await putViews(t, {
    even: { map: 'function (doc) { if (doc.integer % 2 === 0) emit(doc.integer, 1); }', reduce: '_sum' },
    odd: 'function (doc) { if (doc.integer % 2 === 1) emit(doc.integer, 1); }',
  });
  await t.bulk(numbered(6));
  return rev;
}

/** Tags of views change when their own rows do (docs/http/views.md#view-etags). */
export default suite('etags_views', [
  test('a view with an ETag that the client has is answered 304', async (t) => {
    await fill(t);
    const tag = await tagOf(t, 'even');
    const path = '/_design/test/_view/even';
    const again = await t.get(path, { 'if-none-match': tag });
    assert.deepEqual([again.status, again.header('etag')], [304, tag]);
    assert.equal((await t.get(path, { 'if-none-match': `"other", ${tag}` })).status, 304);
    assert.equal((await t.at('HEAD', path, { headers: { 'if-none-match': tag } })).status, 304);
    assert.equal((await t.get(path, { 'if-none-match': '"other"' })).status, 200);
  }),

  test("a document without rows in the view doesn't change the ETag", async (t) => {
    await fill(t);
    const [even, odd] = [await tagOf(t, 'even'), await tagOf(t, 'odd')];
    await t.put('1', { _rev: (await t.get('/1')).header('etag')?.slice(1, -1), integer: 7 });
    assert.equal(await tagOf(t, 'even'), even);
    assert.notEqual(await tagOf(t, 'odd'), odd);
    await t.put('other', {});
    assert.equal(await tagOf(t, 'even'), even);
  }),

  test("a document that emits the same rows again doesn't change the ETag", async (t) => {
    await fill(t);
    const even = await tagOf(t, 'even');
    await t.put('2', { _rev: (await t.get('/2')).header('etag')?.slice(1, -1), integer: 2, colour: 'blue' });
    assert.equal(await tagOf(t, 'even'), even);
  }),

  test('each query has its own ETag', async (t) => {
    await fill(t);
    const tags = new Set<string>();
    for (const what of [
      'even',
      'even?reduce=false',
      'even?group=true',
      'even?limit=1',
      'even?keys=[0]&group=true',
      'odd',
    ]) {
      tags.add(await tagOf(t, what));
    }
    assert.equal(tags.size, 6);
    const one = await query(t, 'odd', { json: { keys: [1] } });
    const two = await query(t, 'odd', { json: { keys: [3] } });
    assert.notEqual(one.header('etag'), two.header('etag'));
  }),

  test('with include_docs any change of an included document changes the ETag', async (t) => {
    await fill(t);
    const tag = await tagOf(t, 'odd?include_docs=true');
    assert.equal(await tagOf(t, 'odd?include_docs=true'), tag);
    await t.put('other', {});
    assert.notEqual(await tagOf(t, 'odd?include_docs=true'), tag);
  }),

  test('another definition of the views changes the ETag', async (t) => {
    const rev = await fill(t);
    const odd = await tagOf(t, 'odd');
    const views = { odd: 'function (doc) { if (doc.integer % 2 === 1) emit(doc.integer, 1); } // again' };
    await putViews(t, views, { _rev: rev });
    assert.notEqual(await tagOf(t, 'odd'), odd);
  }),

  test('an equal database created again has another ETag', async (t) => {
    await fill(t);
    const odd = await tagOf(t, 'odd');
    await t.createDatabase(t.db);
    await fill(t);
    assert.notEqual(await tagOf(t, 'odd'), odd);
  }),
]);
