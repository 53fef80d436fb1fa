import { assert } from 'chai';
import { suite, test } from '../../../support/conformance/suite.ts';
import { rowText, threeDocuments } from './steps.ts';

const rows = [rowText(1, 'b', 'a'), rowText(2, 'a', 'b'), rowText(3, 'c', 'c')];

/** The four formats, byte by byte (docs/http/changes.md#formats-of-feeds). */
export default suite('changes_formats', [
  test('a normal feed is one JSON object', async (t) => {
    await threeDocuments(t);
    const { headers, text } = await t.get('/_changes?feed=normal&limit=2');
    assert.equal(text, `{"results":[\n${rows[0]},\n${rows[1]}\n],\n"last_seq":2,"pending":1}\n`);
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(headers['cache-control'], 'must-revalidate');
  }),

  test('a longpoll feed is one JSON object', async (t) => {
    await threeDocuments(t);
    const { headers, text } = await t.get('/_changes?feed=longpoll');
    assert.equal(text, `{"results":[\n${rows.join(',\n')}\n],\n"last_seq":3,"pending":0}\n`);
    assert.equal(headers['content-type'], 'application/json');
    const none = await t.get('/_changes?feed=longpoll&since=3&timeout=1');
    assert.equal(none.text, '{"results":[\n\n],\n"last_seq":3,"pending":0}\n');
    const some = await t.get('/_changes?feed=longpoll&limit=1&since=1');
    assert.equal(some.text, `{"results":[\n${rows[1]}\n],\n"last_seq":2,"pending":1}\n`);
  }),

  test('a continuous feed has one JSON object per line', async (t) => {
    await threeDocuments(t);
    const { headers, text } = await t.get('/_changes?feed=continuous&timeout=1');
    assert.equal(text, `${rows.join('\n')}\n{"last_seq":3,"pending":0}\n`);
    assert.equal(headers['content-type'], 'application/json');
    const limited = await t.get('/_changes?feed=continuous&limit=1');
    assert.equal(limited.text, `${rows[0]}\n{"last_seq":1,"pending":2}\n`);
    const none = await t.get('/_changes?feed=continuous&since=now&timeout=1');
    assert.equal(none.text, '\n{"last_seq":3,"pending":0}\n');
  }),

  test('an eventsource feed has data and id for each change', async (t) => {
    await threeDocuments(t);
    const { headers, text } = await t.get('/_changes?feed=eventsource&timeout=1');
    assert.equal(text, rows.map((row, index) => `data: ${row}\nid: ${index + 1}\n\n`).join(''));
    assert.equal(headers['content-type'], 'text/event-stream');
    assert.equal(headers['cache-control'], 'no-cache');
    // Nothing that a listener sees: it goes on from there when it connects again.
    assert.equal((await t.get('/_changes?feed=eventsource&since=now&timeout=1')).text, 'id: 3\n\n');
    const filtered = await t.get('/_changes?feed=eventsource&filter=_design&timeout=1');
    assert.equal(filtered.text, 'id: 3\n\n');
    const limited = await t.get('/_changes?feed=eventsource&limit=1');
    assert.equal(limited.text, `data: ${rows[0]}\nid: 1\n\n`);
  }),

  test('an eventsource that reconnects continues after its last event id', async (t) => {
    await threeDocuments(t);
    const headers = { accept: 'text/event-stream', 'last-event-id': '2' };
    const { text } = await t.get('/_changes?feed=eventsource&since=0&timeout=1', headers);
    assert.equal(text, `data: ${rows[2]}\nid: 3\n\n`);
  }),

  test("a client that doesn't accept JSON gets feeds as text, and an eventsource as events", async (t) => {
    const accept = { accept: 'text/plain' };
    const type = async (feed: string) =>
      (await t.get(`/_changes?feed=${feed}&timeout=1`, accept)).header('content-type');
    assert.equal(await type('normal'), 'text/plain; charset=utf-8');
    assert.equal(await type('continuous'), 'text/plain; charset=utf-8');
    assert.equal(await type('eventsource'), 'text/event-stream');
  }),

  test('documents that were written on many lines are sent on one line', async (t) => {
    const body = '{\n  "text": "two\\nlines",\r\n  "list": [\n 1,\n 2 ]\n}';
    const answer = await t.at('PUT', '/doc', { body, headers: { 'content-type': 'application/json' } });
    assert.equal(answer.status, 201, answer.text);
    const feed = await t.feed('feed=continuous&include_docs=true&limit=1');
    assert.include(await feed.line(), '"text":"two\\nlines","list":[1,2]}}');
    assert.equal(await feed.rest(), '{"last_seq":1,"pending":0}\n');
    const events = await t.get('/_changes?feed=eventsource&include_docs=true&limit=1');
    assert.match(events.text, /^data: \{"seq":1.*\}\}\nid: 1\n\n$/);
  }),
]);
