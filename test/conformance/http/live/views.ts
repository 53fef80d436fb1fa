import { assert } from 'chai';
import { assertError, assertJson } from '../../../support/conformance/answer.ts';
import type { FeedReader } from '../../../support/conformance/feed-reader.ts';
import { at, parseJson, stringAt } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import { databasePath, type Toolkit } from '../../../support/conformance/toolkit.ts';

const views = {
  letters: { map: 'function (doc) { if (doc.letter) emit(doc.letter, doc.n); }' },
  count: { map: 'function (doc) { if (doc.letter) emit(doc.letter, doc.n); }', reduce: '_count' },
};
const patient = 'heartbeat=10000';

/** `a`, `b` and `c`, each with a row of a view. */
async function withRows(t: Toolkit): Promise<void> {
  await t.put('_design/d', { views });
  await t.bulk(['a', 'b', 'c'].map((letter, n) => ({ _id: letter, letter, n })));
}

async function follow(t: Toolkit, view: string, parameters: string): Promise<FeedReader> {
  return t.follow(`${databasePath(t.db)}/_design/d/_view/${view}?${parameters}&${patient}`);
}

/** The next event of a continuous feed, without its `seq`. */
async function next(feed: FeedReader): Promise<unknown> {
  const event = parseJson(await feed.line());
  assert.isNotEmpty(stringAt(event, 'seq'));
  return Object.fromEntries(Object.entries(Object(event)).filter(([name]) => name !== 'seq'));
}

async function change(t: Toolkit, id: string, document: object): Promise<void> {
  const { json } = await t.get(`/${id}`);
  await t.put(id, { ...document, _rev: stringAt(json, '_rev') });
}

const row = (id: string, key: string, value: number) => ({ id, key, value });

/** Queries of views that stay alive (docs/http/views.md#live-views). */
export default suite('live_views', [
  test('a live view sends the rows of the range, then rows added, changed and removed in it', async (t) => {
    await withRows(t);
    const feed = await follow(t, 'letters', 'feed=continuous&include_rows=true&startkey="b"');
    assert.deepEqual(await next(feed), { rows: [row('b', 'b', 1), row('c', 'c', 2)] });
    await t.put('d', { letter: 'd', n: 3 });
    assert.deepEqual(await next(feed), { added: [row('d', 'd', 3)] });
    await change(t, 'a', { letter: 'a', n: 10 });
    await change(t, 'b', { letter: 'b', n: 11 });
    assert.deepEqual(await next(feed), { changed: [row('b', 'b', 11)] });
    await change(t, 'c', { letter: 'a', n: 2 });
    assert.deepEqual(await next(feed), { removed: [row('c', 'c', 2)] });
    await t.request('DELETE', databasePath(t.db));
    assert.hasAllKeys(parseJson(await feed.line()), ['last_seq']);
    assert.equal(await feed.rest(), '');
  }),

  test('a reduction is sent again when it changes', async (t) => {
    await withRows(t);
    const feed = await follow(t, 'count', 'feed=continuous&include_rows=true');
    assert.deepEqual(await next(feed), { rows: [{ key: null, value: 3 }] });
    await t.put('d', { letter: 'd' });
    assert.deepEqual(await next(feed), { rows: [{ key: null, value: 4 }] });
  }),

  test('a longpoll waits for a change in its range, and continues from the state that it returned', async (t) => {
    await withRows(t);
    const feed = await follow(t, 'letters', 'feed=longpoll&key="b"');
    assert.equal(await feed.until('\n'), '{"results":[\n');
    await change(t, 'a', { letter: 'a', n: 10 });
    await change(t, 'b', { letter: 'b', n: 11 });
    const told = parseJson(`{"results":[${await feed.rest()}`);
    const seq = stringAt(told, 'last_seq');
    assert.deepEqual(told, { results: [{ seq }], last_seq: seq });
    const again = `/_design/d/_view/letters?feed=longpoll&timeout=10&since=${seq}`;
    assertJson(await t.get(again), 200, { results: [], last_seq: seq });
    await t.put('d', { letter: 'd' });
    const later = await t.get(again);
    assert.notEqual(at(later.json, 'last_seq'), seq);
    assert.lengthOf(Object(at(later.json, 'results')), 1);
  }),

  test('an eventsource has the state as id, and sends nothing if the state is unchanged', async (t) => {
    await withRows(t);
    const path = '/_design/d/_view/letters?feed=eventsource&include_rows=true&limit=1&reduce=false&timeout=10';
    assertError(
      await t.get(path),
      400,
      'bad_request',
      '`skip` and `limit` can not be combined with `include_rows` in a feed. Give bounds such as `startkey` and `endkey` instead.',
    );
    const first = await t.get(path.replace('&limit=1', '&key="a"'));
    assert.equal(first.header('content-type'), 'text/event-stream');
    const [, seq = ''] = /\nid: (\S+)\n\n$/.exec(first.text) ?? [];
    assert.equal(first.text, `data: {"seq":"${seq}","rows":[{"id":"a","key":"a","value":0}]}\nid: ${seq}\n\n`);
    assert.equal((await t.get(path.replace('&limit=1', '&key="a"'), { 'last-event-id': seq })).text, '\n');
  }),

  test('any other feed value returns the rows only', async (t) => {
    await withRows(t);
    const answer = await t.get('/_design/d/_view/letters?feed=normal&key="a"');
    assertJson(answer, 200, { total_rows: 3, offset: 0, rows: [row('a', 'a', 0)] });
  }),
]);
