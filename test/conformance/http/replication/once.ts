import { assert } from 'chai';
import { assertError } from '../../../support/conformance/answer.ts';
import { fakeRev, replicated } from '../../../support/conformance/fake-revisions.ts';
import { arrayAt, at, numberAt, stringAt } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import { documentCount, newTarget, replicate } from './steps.ts';

const RFC_2822 = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;

export default suite('replication_once', [
  test('documents, tombstones and conflicts are copied unchanged', async (t) => {
    const target = await newTarget(t);
    await t.put('doc', { n: 1 });
    const tombstone = await t.delete('gone', await t.put('gone', {}));
    await t.replicate([replicated('split', 2, 'ba', { n: 1 }), replicated('split', 2, 'ca', { n: 2 })]);
    await t.put('_design/views', { views: {} });
    await t.put('_local/mine', {});
    const result = await replicate(t, { target });
    assert.equal(at(result, 'source_last_seq'), await t.updateSeq());
    assert.equal(at(result, 'replication_id_version'), 3);
    assert.notProperty(result, 'no_changes');
    assert.deepInclude((await t.request('GET', `/${target}/doc`)).json, { n: 1 });
    assert.equal(at((await t.request('GET', `/${target}/gone?rev=${tombstone}`)).json, '_deleted'), true);
    assert.deepInclude((await t.request('GET', `/${target}/split?conflicts=true`)).json, {
      n: 2,
      _conflicts: [fakeRev(2, 'b')],
    });
    assert.equal((await t.request('GET', `/${target}/_design/views`)).status, 200);
    assertError(await t.request('GET', `/${target}/_local/mine`), 404, 'not_found', 'missing');
  }),

  test('design documents are left out if design_docs is false', async (t) => {
    const target = await newTarget(t);
    await t.put('doc', {});
    await t.put('_design/views', { views: {} });
    const result = await replicate(t, { target, design_docs: false });
    assert.deepInclude(result, { docs_written: 1, doc_write_failures: 0, source_last_seq: await t.updateSeq() });
    assertError(await t.request('GET', `/${target}/_design/views`), 404, 'not_found', 'missing');
    // It is another replication, with checkpoints of its own.
    assert.deepInclude(await replicate(t, { target }), { docs_written: 1 });
    assert.equal((await t.request('GET', `/${target}/_design/views`)).status, 200);
    const wrong = await t.request('POST', '/_replicate', { json: { source: t.db, target, design_docs: 0 } });
    assertError(wrong, 400, 'bad_request', "The `design_docs' field must be a boolean.");
  }),

  test('the history records the run, and the next run continues from there', async (t) => {
    const target = await newTarget(t);
    await t.bulk([{ _id: 'a' }, { _id: 'b' }, { _id: 'c' }]);
    const first = await replicate(t, { target });
    const entry = at(first, 'history', 0);
    assert.deepInclude(entry, {
      session_id: at(first, 'session_id'),
      start_last_seq: 0,
      end_last_seq: 3,
      recorded_seq: 3,
      missing_checked: 3,
      missing_found: 3,
      docs_read: 3,
      docs_written: 3,
      doc_write_failures: 0,
    });
    assert.match(stringAt(entry, 'start_time'), RFC_2822);
    assert.match(stringAt(entry, 'end_time'), RFC_2822);
    for (const name of ['start_time', 'end_time', 'missing_checked', 'missing_found', 'docs_read', 'docs_written']) {
      assert.equal(at(first, name), at(entry, name), name);
    }
    assert.equal(at(first, 'doc_write_failures'), 0);
    const none = await replicate(t, { target });
    assert.deepInclude(none, { no_changes: true, source_last_seq: 3, session_id: at(first, 'session_id') });
    assert.deepInclude(none, { docs_read: 0, docs_written: 0, doc_write_failures: 0, missing_checked: 0 });
    assert.match(stringAt(none, 'start_time'), RFC_2822);
    await t.put('d', {});
    const second = await replicate(t, { target });
    assert.lengthOf(arrayAt(second, 'history'), 2);
    assert.deepInclude(at(second, 'history', 0), { start_last_seq: 3, end_last_seq: 4, docs_read: 1, docs_written: 1 });
    assert.deepEqual(at(second, 'history', 1), entry);
    assert.equal(await documentCount(t, target), 4);
  }),

  test('attachments are copied with their digests', async (t) => {
    const target = await newTarget(t);
    const data = 'QSB3YWxrIGF0IG5vb24u';
    await t.put('doc', { _attachments: { 'a b.txt': { content_type: 'text/plain', data } } });
    await replicate(t, { target });
    const original = at((await t.get('/doc')).json, '_attachments', 'a b.txt');
    const copy = at((await t.request('GET', `/${target}/doc`)).json, '_attachments', 'a b.txt');
    assert.deepEqual(copy, original);
    assert.equal((await t.request('GET', `/${target}/doc/a%20b.txt`)).text, 'A walk at noon.');
  }),

  test('a document that the target has changed becomes a conflict, with the same winner on both sides', async (t) => {
    const target = await newTarget(t);
    const rev = await t.put('doc', { n: 0 });
    await replicate(t, { target });
    await t.put('doc', { _rev: rev, side: 'source' });
    await t.request('PUT', `/${target}/doc`, { json: { _rev: rev, side: 'target' } });
    await replicate(t, { target });
    await replicate(t, { source: target, target: t.db });
    const [one, other] = await Promise.all(
      [t.db, target].map(async (name) => (await t.request('GET', `/${name}/doc?conflicts=true`)).json),
    );
    assert.lengthOf(arrayAt(one, '_conflicts'), 1);
    assert.deepEqual(one, other);
  }),

  test('doc_ids, selectors and filters select documents', async (t) => {
    await t.bulk([1, 2, 3, 4].map((n) => ({ _id: `d${n}`, n })));
    await t.put('_design/f', {
      filters: { least: 'function (doc, req) { return doc.n >= Number(req.query.least); }' },
    });
    const idsOf = async (name: string) =>
      arrayAt((await t.request('GET', `/${name}/_all_docs`)).json, 'rows').map((row) => at(row, 'id'));
    const byIds = await newTarget(t, 'ids');
    await replicate(t, { target: byIds, doc_ids: ['d3', 'd1', 'none'] });
    assert.deepEqual(await idsOf(byIds), ['d1', 'd3']);
    const bySelector = await newTarget(t, 'selector');
    await replicate(t, { target: bySelector, selector: { n: { $lt: 3 } } });
    assert.deepEqual(await idsOf(bySelector), ['d1', 'd2']);
    const byFilter = await newTarget(t, 'filter');
    await replicate(t, { target: byFilter, filter: 'f/least', query_params: { least: '3' } });
    assert.deepEqual(await idsOf(byFilter), ['d3', 'd4']);
  }),

  test('doc_ids are percent-decoded, and a missing document is not a change', async (t) => {
    const ids = ['_design/x', 'a b', 'ü', '100%', '50%zz', 'a+b', '%41'];
    await t.bulk([...ids, 'other', 'A'].map((_id) => ({ _id })));
    const target = await newTarget(t, 'decoded');
    const asked = ['_design%2Fx', 'a%20b', '%C3%BC', '100%', '50%zz', 'a+b', '%2541'];
    const result = await replicate(t, { target, doc_ids: asked });
    assert.deepInclude(result, { docs_read: ids.length, docs_written: ids.length, doc_write_failures: 0 });
    assert.notProperty(result, 'no_changes');
    const { json } = await t.request('GET', `/${target}/_all_docs`);
    assert.sameMembers(
      arrayAt(json, 'rows').map((row) => at(row, 'id')),
      ids,
    );
    const none = await replicate(t, { target, doc_ids: ['nobody', '%61bsent'] });
    assert.deepInclude(none, { no_changes: true, docs_read: 0, docs_written: 0 });
    assert.deepInclude(await replicate(t, { target, selector: { none: 1 } }), { no_changes: true, docs_written: 0 });
  }),

  test('since_seq starts later, and without checkpoints a run starts from the beginning', async (t) => {
    const target = await newTarget(t);
    await t.bulk([{ _id: 'a' }, { _id: 'b' }]);
    const late = await replicate(t, { target, since_seq: 1, use_checkpoints: false });
    assert.equal(numberAt(late, 'history', 0, 'docs_written'), 1);
    const whole = await replicate(t, { target, use_checkpoints: false });
    assert.deepInclude(at(whole, 'history', 0), { missing_checked: 2, docs_written: 1 });
    assert.equal(numberAt((await t.request('GET', `/${target}/_local_docs`)).json, 'total_rows'), 0);
  }),

  test('create_target creates the target', async (t) => {
    const target = `${t.db}_made`;
    t.forgetLater(target);
    await t.put('doc', {});
    const refused = await t.request('POST', '/_replicate', { json: { source: t.db, target } });
    assert.equal(refused.status, 500);
    assert.deepInclude(refused.json, { error: 'db_not_found', reason: `could not open ${target}` });
    await replicate(t, { target, create_target: true });
    await replicate(t, { target, create_target: true });
    assert.equal(await documentCount(t, target), 1);
  }),

  test('an invalid request is refused', async (t) => {
    const post = (json: object) => t.request('POST', '/_replicate', { json });
    const ends = { source: t.db, target: t.db };
    assertError(
      await post({ target: t.db }),
      400,
      'bad_request',
      "The `source' property must exist and be either a string or an object.",
    );
    assertError(
      await post({ ...ends, filter: 'a/b', query_params: { n: 1 } }),
      400,
      'bad_request',
      '`n` value must be a string.',
    );
    assert.equal((await post({ ...ends, doc_ids: ['a'], selector: {} })).status, 400);
    assert.equal((await post({ ...ends, continuous: 'yes' })).status, 400);
    const form = { body: JSON.stringify(ends), headers: { 'content-type': 'text/plain' } };
    assert.equal((await t.request('POST', '/_replicate', form)).status, 415);
    const unknown = await post({ ...ends, cancel: true });
    const reason = 'There is no such replication. GET /_scheduler/jobs lists the replications with their ids.';
    assertError(unknown, 404, 'not found', reason);
    assertError(await post({ cancel: true, replication_id: 'none' }), 404, 'not found', reason);
    for (const selector of [{ n: { $nonsense: 1 } }, { $and: 7 }, { n: { $regex: '(' } }]) {
      const answer = await post({ ...ends, selector });
      assert.deepEqual([answer.status, at(answer.json, 'error')], [400, 'bad_request'], answer.text);
    }
    assertError(await post({ ...ends, selector: 7 }), 400, 'bad_request', "The `selector' field must be an object.");
  }),

  test('documents that the target refuses are listed, and copied when the run is repeated', async (t) => {
    const target = await newTarget(t);
    await t.bulk([
      { _id: 'a', n: 1 },
      { _id: 'b', n: 2 },
    ]);
    const rules = { validate_doc_update: "function (doc) { if (doc.n === 2) throw { forbidden: 'no twos' }; }" };
    const written = await t.request('PUT', `/${target}/_design/rules`, { json: rules });
    const entry = at(await replicate(t, { target }), 'history', 0);
    assert.deepInclude(entry, { docs_read: 2, docs_written: 1, doc_write_failures: 1 });
    const [refused] = arrayAt(entry, 'refused');
    assert.deepInclude(refused, { id: 'b', error: 'forbidden', reason: 'no twos' });
    assert.match(stringAt(refused, 'rev'), /^1-/);
    await t.request('DELETE', `/${target}/_design/rules?rev=${stringAt(written.json, 'rev')}`);
    await replicate(t, { target });
    assertError(await t.request('GET', `/${target}/b`), 404, 'not_found', 'missing');
    await replicate(t, { target, retry_refused: true });
    assert.deepInclude((await t.request('GET', `/${target}/b`)).json, { n: 2 });
  }),
]);
