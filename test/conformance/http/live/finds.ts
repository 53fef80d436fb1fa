import { assert } from 'chai';
import { assertError, assertJson } from '../../../support/conformance/answer.ts';
import { at, parseJson, stringAt } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import { databasePath } from '../../../support/conformance/toolkit.ts';

const patient = 'heartbeat=10000';
const json = { selector: { n: { $gt: 1 } }, fields: ['_id', 'n'] };
const docs = [1, 2, 3].map((n) => ({ _id: `d${n}`, n }));

/** Selector queries that stay alive (docs/http/find.md#live-selector-queries). */
export default suite('live_finds', [
  test('a live query sends the answer, then documents that are added, changed and removed', async (t) => {
    await t.bulk(docs);
    const feed = await t.follow(`${databasePath(t.db)}/_find?feed=continuous&${patient}`, { method: 'POST', json });
    const first = parseJson(await feed.line());
    assert.equal(at(first, 'seq'), 3);
    assert.deepEqual(at(first, 'docs'), [
      { _id: 'd2', n: 2 },
      { _id: 'd3', n: 3 },
    ]);
    await t.put('d0', { n: 0 });
    const rev = await t.put('d4', { n: 4 });
    assert.equal(await feed.line(), '{"seq":5,"changed":[{"_id":"d4","n":4}]}');
    await t.put('d4', { n: 5, _rev: rev });
    assert.equal(await feed.line(), '{"seq":6,"changed":[{"_id":"d4","n":5}]}');
    const { json: present } = await t.get('/d3');
    await t.delete('d3', stringAt(present, '_rev'));
    assert.equal(await feed.line(), '{"seq":7,"removed":["d3"]}');
    await t.request('DELETE', databasePath(t.db));
    assert.equal(await feed.rest(), '{"last_seq":7}\n');
  }),

  test('a live query continues from a sequence number', async (t) => {
    await t.bulk(docs);
    const answer = await t.at('POST', '/_find?feed=longpoll&since=2', { json });
    assertJson(answer, 200, { results: [{ seq: 3, changed: [{ _id: 'd3', n: 3 }] }], last_seq: 3 });
    const none = await t.at('POST', '/_find?feed=longpoll&since=3&timeout=10', { json });
    assertJson(none, 200, { results: [], last_seq: 3 });
  }),

  test('an eventsource has one line for each event', async (t) => {
    await t.bulk(docs);
    const answer = await t.at('POST', '/_find?feed=eventsource&since=1&timeout=10', { json });
    assert.equal(answer.header('content-type'), 'text/event-stream');
    assert.equal(answer.text, 'data: {"seq":3,"changed":[{"_id":"d2","n":2},{"_id":"d3","n":3}]}\nid: 3\n\n');
  }),

  test('a live query with limit, skip or bookmark, or an invalid selector, is refused', async (t) => {
    const reason = 'A live query takes no `limit`. Leave out limit, skip, bookmark.';
    const limited = await t.at('POST', '/_find?feed=continuous', { json: { ...json, limit: 3 } });
    assertError(limited, 400, 'bad_request', reason);
    const wrong = await t.at('POST', '/_find?feed=continuous', { json: { selector: { n: { $x: 1 } } } });
    assert.deepEqual([wrong.status, at(wrong.json, 'error')], [400, 'invalid_operator']);
  }),
]);
