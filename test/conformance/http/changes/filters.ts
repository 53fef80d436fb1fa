import { assert } from 'chai';
import { assertError } from '../../../support/conformance/answer.ts';
import { replicated } from '../../../support/conformance/fake-revisions.ts';
import { at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import type { RequestOptions, Toolkit } from '../../../support/conformance/toolkit.ts';
import { json } from '../../../support/conformance/view-steps.ts';
import { changes, threeDocuments } from './steps.ts';

async function idsOf(t: Toolkit, parameters: string, options?: RequestOptions): Promise<unknown[]> {
  return (await changes(t, parameters, options)).rows.map((row) => at(row, 'id'));
}

/** The filters that are there without a design document (docs/http/changes.md#filters-of-changes). */
export default suite('changes_filters', [
  test('_doc_ids lets the listed documents pass, in the order of their changes', async (t) => {
    await threeDocuments(t);
    const ids = ['c', 'nowhere', 'b', 'c'];
    assert.deepEqual(await idsOf(t, `filter=_doc_ids&doc_ids=${json(ids)}`), ['b', 'c']);
    assert.deepEqual(await idsOf(t, 'filter=_doc_ids', { json: { doc_ids: ids } }), ['b', 'c']);
    assert.deepEqual(await idsOf(t, `filter=_doc_ids&doc_ids=${json([])}`), []);
  }),

  test('doc_ids without filter=_doc_ids is ignored', async (t) => {
    await threeDocuments(t);
    assert.lengthOf(await idsOf(t, `doc_ids=${json(['b'])}`), 3);
  }),

  test('_doc_ids works with since, limit and descending, for few ids and for many', async (t) => {
    await t.replicate(Array.from({ length: 300 }, (_, n) => replicated(`doc${n}`, 1, 'a')));
    const few = json(['doc7', 'doc3', 'doc5']);
    const many = json(Array.from({ length: 200 }, (_, n) => `doc${n + 50}`));
    assert.deepEqual(await idsOf(t, `filter=_doc_ids&doc_ids=${few}&since=4`), ['doc5', 'doc7']);
    assert.deepEqual(await idsOf(t, `filter=_doc_ids&doc_ids=${few}&descending=true`), ['doc7', 'doc5', 'doc3']);
    assert.deepInclude(await changes(t, `filter=_doc_ids&doc_ids=${few}&limit=2`), { lastSeq: 6, pending: 294 });
    assert.lengthOf(await idsOf(t, `filter=_doc_ids&doc_ids=${many}`), 200);
    assert.deepEqual(await idsOf(t, `filter=_doc_ids&doc_ids=${many}&since=248`), ['doc248', 'doc249']);
    assert.deepInclude(await changes(t, `filter=_doc_ids&doc_ids=${few}`), { lastSeq: 300, pending: 0 });
    assert.deepInclude(await changes(t, `filter=_doc_ids&doc_ids=${many}`), { lastSeq: 300, pending: 0 });
  }),

  test('_design lets design documents pass', async (t) => {
    await threeDocuments(t);
    await t.put('_design/x', {});
    assert.deepEqual(await idsOf(t, 'filter=_design'), ['_design/x']);
    assert.deepInclude(await changes(t, 'filter=_design'), { lastSeq: 4, pending: 0 });
    assert.deepInclude(await changes(t, 'filter=_design&since=1000'), { rows: [], lastSeq: 1000 });
  }),

  test('_selector lets matching documents pass, and tombstones by their remaining members', async (t) => {
    await threeDocuments(t);
    await t.replicate([
      replicated('d', 2, 'da', { n: 2, _deleted: true }),
      replicated('e', 2, 'da', { _deleted: true }),
    ]);
    const select = (selector: unknown) => idsOf(t, 'filter=_selector', { json: { selector } });
    assert.deepEqual(await select({ n: { $gte: 2 } }), ['a', 'c', 'd']);
    assert.deepEqual(await select({ _id: 'b' }), ['b']);
    assert.deepEqual(await select({ _deleted: true }), ['d', 'e']);
    assert.deepEqual(await select({}), ['b', 'a', 'c', 'd', 'e']);
  }),

  test('a filter that lets nothing pass still reads to the end', async (t) => {
    await threeDocuments(t);
    const nothing = { rows: [], text: [], lastSeq: 3, pending: 0 };
    assert.deepEqual(await changes(t, 'filter=_design'), nothing);
    assert.deepEqual(await changes(t, `filter=_doc_ids&doc_ids=${json(['x'])}`), nothing);
    assert.deepEqual(await changes(t, 'filter=_selector', { json: { selector: { n: 99 } } }), nothing);
    assert.deepInclude(await changes(t, 'filter=_design&feed=longpoll&timeout=1'), { rows: [], lastSeq: 3 });
    const { text } = await t.get('/_changes?filter=_design&feed=continuous&timeout=1');
    assert.equal(text, '\n{"last_seq":3,"pending":0}\n');
  }),

  test('limit counts rows that pass', async (t) => {
    await threeDocuments(t);
    const options = { json: { selector: { n: { $in: [1, 3] } } } };
    assert.deepInclude(await changes(t, 'filter=_selector&limit=1', options), { lastSeq: 1, pending: 2 });
    assert.deepEqual(await idsOf(t, 'filter=_selector&limit=2', options), ['b', 'c']);
  }),

  test('an empty filter name means no filter', async (t) => {
    await threeDocuments(t);
    assert.lengthOf(await idsOf(t, 'filter='), 3);
  }),

  refusal('_doc_ids', '`doc_ids` filter parameter is not a list.'),
  refusal('_doc_ids&doc_ids=%22a%22', '`doc_ids` filter parameter is not a list.'),
  refusal('_doc_ids&doc_ids=[', 'invalid_json'),
  refusal('_selector', 'Selector must be specified in POST payload'),
  refusal('_view', '`view` filter parameter is not provided.'),
  refusal('_view&view=app', 'Invalid `view` parameter.'),
  refusal('_view&view=app/', 'Invalid `view` parameter.'),
  refusal('_view&view=app/a/b', 'Invalid `view` parameter.'),
  refusal('_other', 'unknown builtin filter name'),
  refusal('app', 'filter parameter must be of the form `designname/filtername`'),
  refusal('/name', 'filter parameter must be of the form `designname/filtername`'),
  refusal('app/a/b', 'filter parameter must be of the form `designname/filtername`'),

  test('invalid id lists and selectors in a body are refused', async (t) => {
    const send = (filter: string, body: unknown) => t.at('POST', `/_changes?filter=${filter}`, { json: body });
    const noList = '`doc_ids` filter parameter is not a list.';
    for (const body of [{}, { doc_ids: {} }, { doc_ids: null }]) {
      assertError(await send('_doc_ids', body), 400, 'bad_request', noList);
    }
    const noSelector = 'Selector must be specified in POST payload';
    assertError(await send('_selector', {}), 400, 'bad_request', noSelector);
    const noObject = 'Selector error: expected a JSON object';
    for (const body of [[], 'text', 7, { selector: 7 }, { selector: [] }, { selector: null }, { selector: 'n' }]) {
      assertError(await send('_selector', body), 400, 'bad_request', noObject);
    }
    const unknown = await send('_selector', { selector: { n: { $nonsense: 1 } } });
    assert.equal(unknown.status, 400);
    assert.propertyVal(unknown.json, 'error', 'bad_request');
  }),
]);

function refusal(filter: string, reason: string) {
  return test(`filter=${filter} is refused, in any feed`, async (t) => {
    for (const feed of ['normal', 'longpoll', 'continuous', 'eventsource']) {
      assertError(await t.get(`/_changes?feed=${feed}&filter=${filter}`), 400, 'bad_request', reason);
    }
  });
}
