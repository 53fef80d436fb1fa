import { assert } from 'chai';
import { assertError } from '../../../support/conformance/answer.ts';
import { at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import { changes, rowText, threeDocuments } from './steps.ts';

/** POST: the parameters stand in the address, and the body is for filters (docs/http/changes.md). */
export default suite('changes_posts', [
  test('POST is answered like GET', async (t) => {
    await threeDocuments(t);
    const parameters = 'since=1&limit=1&include_docs=true';
    const answer = await t.at('POST', `/_changes?${parameters}`, { json: {} });
    assert.equal(answer.status, 200);
    assert.equal(answer.text, (await t.get(`/_changes?${parameters}`)).text);
  }),

  test('parameters in the body are ignored', async (t) => {
    await threeDocuments(t);
    const { text } = await changes(t, 'limit=1', { json: { since: 2, limit: 3, descending: true } });
    assert.deepEqual(text, [rowText(1, 'b', 'a')]);
  }),

  test('a body that no filter reads can be anything', async (t) => {
    await threeDocuments(t);
    const headers = { 'content-type': 'application/json' };
    for (const body of ['', '[]', 'no JSON']) assert.lengthOf((await changes(t, '', { headers, body })).rows, 3);
  }),

  test('POST needs the content type of JSON, in any feed', async (t) => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
      for (const feed of ['normal', 'longpoll', 'continuous', 'eventsource']) {
        const options = { headers: { 'content-type': type }, body: '{}' };
        const answer = await t.at('POST', `/_changes?feed=${feed}`, options);
        assertError(answer, 415, 'bad_content_type', 'Content-Type must be application/json');
      }
    }
    assert.lengthOf(
      (await changes(t, '', { headers: { 'content-type': 'application/json; charset=utf-8' }, body: '{}' })).rows,
      0,
    );
  }),

  test('a body that a filter reads must be an object', async (t) => {
    const headers = { 'content-type': 'application/json' };
    for (const [filter, reason] of [
      ['_doc_ids', 'Request body must be a JSON object'],
      ['_selector', 'Selector error: expected a JSON object'],
    ] as const) {
      const path = `/_changes?filter=${filter}`;
      assertError(await t.at('POST', path, { headers, body: '{' }), 400, 'bad_request', 'invalid_json');
      assertError(await t.at('POST', path, { headers, body: '[]' }), 400, 'bad_request', reason);
    }
  }),

  test('ids in the body override ids in the query', async (t) => {
    await threeDocuments(t);
    const inAddress = `filter=_doc_ids&doc_ids=${encodeURIComponent('["a"]')}`;
    const idsOf = async (json: unknown) => (await changes(t, inAddress, { json })).rows.map((row) => at(row, 'id'));
    assert.deepEqual(await idsOf({ doc_ids: ['b', 'c'] }), ['b', 'c']);
    assert.deepEqual(await idsOf({ doc_ids: [] }), []);
    assert.deepEqual(await idsOf({}), ['a']);
    const reason = '`doc_ids` filter parameter is not a list.';
    assertError(await t.at('POST', `/_changes?${inAddress}`, { json: { doc_ids: 'b' } }), 400, 'bad_request', reason);
  }),

  test('POST waits for changes like GET', async (t) => {
    const feed = await t.feed('feed=longpoll&filter=_doc_ids', { method: 'POST', json: { doc_ids: ['b'] } });
    assert.equal(await feed.until('\n'), '{"results":[\n');
    await threeDocuments(t);
    assert.equal(await feed.rest(), `${rowText(1, 'b', 'a')}\n],\n"last_seq":3,"pending":0}\n`);
  }),
]);
