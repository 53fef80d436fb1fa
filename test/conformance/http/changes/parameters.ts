import { assert } from 'chai';
import { assertError } from '../../../support/conformance/answer.ts';
import { at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import { changes, rowText, threeDocuments } from './steps.ts';

const noSince = (text: string): string =>
  `since is "${text}"; it must be a sequence number, now, or a time such as 2026-11-29T07:00:00Z.`;

const [first, second, third] = [rowText(1, 'b', 'a'), rowText(2, 'a', 'b'), rowText(3, 'c', 'c')];

/** docs/http/changes.md#parameters-of-feeds. */
export default suite('changes_parameters', [
  test('since leaves out earlier changes, and the feed continues from last_seq', async (t) => {
    await threeDocuments(t);
    assert.deepEqual((await changes(t, 'since=0')).text, [first, second, third]);
    assert.deepEqual((await changes(t, 'since=1')).text, [second, third]);
    assert.deepEqual((await changes(t, 'since=3')).text, []);
    assert.equal((await changes(t, 'since=3')).lastSeq, 3);
  }),

  test('last-event-id is an alias of since, and since has precedence', async (t) => {
    await threeDocuments(t);
    assert.deepEqual((await changes(t, 'last-event-id=2')).text, [third]);
    assert.deepEqual((await changes(t, 'last-event-id=1&since=2')).text, [third]);
  }),

  test('the header Last-Event-ID counts in an eventsource only', async (t) => {
    await threeDocuments(t);
    const headers = { 'last-event-id': '2' };
    assert.deepEqual((await changes(t, 'since=1', { headers })).text, [second, third]);
  }),

  test('since can be a JSON string', async (t) => {
    await threeDocuments(t);
    assert.deepEqual((await changes(t, 'since=%222%22')).text, [third]);
  }),

  test('since=now leaves out all existing changes', async (t) => {
    await threeDocuments(t);
    assert.deepEqual(await changes(t, 'since=now'), { rows: [], text: [], lastSeq: 3, pending: 0 });
  }),

  test('a since beyond the last sequence is kept', async (t) => {
    await threeDocuments(t);
    assert.deepEqual(await changes(t, 'since=1000'), { rows: [], text: [], lastSeq: 1000, pending: 0 });
  }),

  test('limit ends the list, and pending counts the rest', async (t) => {
    await threeDocuments(t);
    assert.deepInclude(await changes(t, 'limit=2'), { text: [first, second], lastSeq: 2, pending: 1 });
    assert.deepInclude(await changes(t, 'limit=2&since=2'), { text: [third], lastSeq: 3, pending: 0 });
    assert.deepInclude(await changes(t, 'limit=3'), { lastSeq: 3, pending: 0 });
    assert.deepInclude(await changes(t, 'limit=99'), { text: [first, second, third], pending: 0 });
  }),

  test('a limit of 0 counts as 1', async (t) => {
    await threeDocuments(t);
    assert.deepInclude(await changes(t, 'limit=0'), { text: [first], lastSeq: 1, pending: 2 });
  }),

  test('descending begins with the newest change and ignores since', async (t) => {
    await threeDocuments(t);
    assert.deepEqual((await changes(t, 'descending=true')).text, [third, second, first]);
    assert.deepEqual((await changes(t, 'descending=true&since=2')).text, [third, second, first]);
    assert.deepInclude(await changes(t, 'descending=true&limit=1'), { text: [third], lastSeq: 3, pending: 0 });
    assert.deepInclude(await changes(t, 'descending=true&since=now&limit=2'), { text: [third, second], lastSeq: 2 });
  }),

  test('parameter names are case-insensitive, and the first of two counts', async (t) => {
    await threeDocuments(t);
    assert.deepEqual((await changes(t, 'Since=1&LIMIT=1')).text, [second]);
    assert.deepEqual((await changes(t, 'since=2&SINCE=0')).text, [third]);
    assert.property((await changes(t, 'Include_Docs=true&limit=1')).rows[0], 'doc');
  }),

  test('unknown parameters, seq_interval among them, change nothing', async (t) => {
    await threeDocuments(t);
    const all = [first, second, third];
    for (const parameters of ['seq_interval=2', 'nonsense=%22', 'timeout=0', 'heartbeat=false', 'view=a/b']) {
      assert.deepEqual((await changes(t, parameters)).text, all, parameters);
    }
  }),

  test('flags are true with the literal true only', async (t) => {
    await threeDocuments(t);
    for (const parameters of ['include_docs=false', 'include_docs=', 'include_docs=TRUE', 'conflicts=true']) {
      assert.deepEqual((await changes(t, `${parameters}&limit=1`)).text, [first], parameters);
    }
    assert.deepEqual((await changes(t, 'descending=yes')).text, [first, second, third]);
  }),

  test('an unknown feed is treated as a normal feed', async (t) => {
    await threeDocuments(t);
    assert.deepEqual((await changes(t, 'feed=other')).text, [first, second, third]);
    assert.deepEqual((await changes(t, 'feed=LONGPOLL&since=3')).text, []);
  }),

  sinceRefusal('x'),
  sinceRefusal('2026-11-29'),
  sinceRefusal('2026-13-29T07:00:00Z'),
  sinceRefusal(''),
  sinceRefusal('-1'),
  sinceRefusal('1.5'),
  sinceRefusal('99999999999999999'),
  refusal('limit=x', 'limit is "x"; it must be a whole number.'),
  refusal('limit=-1', 'limit is "-1"; it must be a whole number.'),
  refusal('heartbeat=x', 'heartbeat is "x"; it must be true, false, or a number of milliseconds.'),
  refusal('timeout=x', 'timeout is "x"; it must be a number of milliseconds.'),
  refusal('style=x', 'style is "x"; it must be main_only or all_docs.'),

  test('an invalid Last-Event-ID is refused', async (t) => {
    const options = { headers: { 'last-event-id': 'x' } };
    const answer = await t.at('GET', '/_changes?feed=eventsource', options);
    assertError(answer, 400, 'bad_request', noSince('x'));
  }),

  test('a large list read with a heartbeat has the same rows', async (t) => {
    await t.bulk(Array.from({ length: 2_000 }, (_, n) => ({ _id: `${n}` })));
    const { rows } = await changes(t, 'heartbeat=10');
    assert.lengthOf(rows, 2_000);
    assert.equal(at(rows[1_999], 'seq'), 2_000);
  }),
]);

function sinceRefusal(text: string) {
  return refusal(`since=${text}`, noSince(text));
}

function refusal(parameters: string, reason: string) {
  return test(`${parameters} is refused, in any feed`, async (t) => {
    for (const feed of ['normal', 'longpoll', 'continuous', 'eventsource']) {
      assertError(await t.get(`/_changes?feed=${feed}&${parameters}`), 400, 'bad_request', reason);
    }
  });
}
