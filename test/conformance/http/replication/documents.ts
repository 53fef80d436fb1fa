import { assert } from 'chai';
import { assertError } from '../../../support/conformance/answer.ts';
import { arrayAt, at, stringAt } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import {
  arrives,
  ask,
  documentCount,
  newTarget,
  noJobs,
  readAsked,
  until,
  untilState,
  useReplicator,
} from './steps.ts';

/** Documents of `_replicator`. */
export default suite('replication_documents', [
  test('a document is carried out, and records its completion', async (t) => {
    await useReplicator(t);
    const target = await newTarget(t);
    await t.bulk([{ _id: 'a' }, { _id: 'b' }]);
    await ask(t, 'copy', { target });
    const document = await untilState(t, 'copy', 'completed');
    assert.deepInclude(document, { source: t.db, target, owner: null });
    assert.match(stringAt(document, '_replication_state_time'), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.match(stringAt(document, '_replication_id'), /^[\da-f]{32}$/);
    assert.deepInclude(at(document, '_replication_stats'), {
      revisions_checked: 2,
      missing_revisions_found: 2,
      docs_read: 2,
      docs_written: 2,
      doc_write_failures: 0,
      checkpointed_source_seq: 2,
    });
    assert.equal(await documentCount(t, target), 2);
  }),

  test('no answer shows a secret, and a document can be written again as it was read', async (t) => {
    await useReplicator(t);
    const headers = { 'x-api-key': 'hunter2' };
    const auth = { basic: { username: 'ana', password: 'hunter2' } };
    const json = { source: 'http://ana:hunter2@127.0.0.1:1/a', target: { url: 'http://127.0.0.1:1/b', headers, auth } };
    assert.equal((await t.request('PUT', '/_replicator/doc', { json })).status, 201);
    const shown = [
      await t.request('GET', '/_replicator/doc'),
      await t.request('GET', '/_replicator/_all_docs?include_docs=true'),
      await t.request('GET', '/_replicator/_changes?include_docs=true'),
      await t.request('POST', '/_replicator/_bulk_get', { json: { docs: [{ id: 'doc' }] } }),
    ];
    for (const { text } of shown) {
      assert.notInclude(text, 'hunter2');
      assert.include(text, '-sealed-');
      assert.include(text, 'ana');
    }
    // The replicator may write the document's state between the reading and the writing.
    const put = async (id: string, change: Readonly<Record<string, unknown>>) => {
      const { _replication_state: _state, ...document } = Object(await readAsked(t, 'doc'));
      return t.request('PUT', `/_replicator/${id}`, { json: { ...document, ...change } });
    };
    const other = String(Object(await readAsked(t, 'doc')).source).replace('127.0.0.1:1', '127.0.0.1:2');
    const isDecided = ({ status }: { readonly status: number }) => status !== 409;
    const elsewhere = await until(() => put('doc', { source: other }), isDecided, 'the address should be refused');
    for (const refused of [elsewhere, await put('other', { _rev: undefined })]) {
      assert.equal(refused.status, 403, refused.text);
      assert.include(
        refused.text,
        'it was stored by another server, in another document, or for another owner, address or proxy',
      );
    }
    assert.equal((await until(() => put('doc', {}), isDecided, 'the document should be taken')).status, 201);
  }),

  test('the _replicator database is created with the first document', async (t) => {
    await useReplicator(t);
    await t.request('DELETE', '/_replicator');
    assertError(await t.request('GET', '/_replicator'), 404, 'not_found', 'no_db_file');
    assertError(await t.request('GET', '/_replicator/copy'), 404, 'not_found', 'no_db_file');
    await ask(t, 'copy', { target: await newTarget(t) });
    await untilState(t, 'copy', 'completed');
    assert.include(arrayAt((await t.request('GET', '/_all_dbs')).json), '_replicator');
  }),

  test("a refused document doesn't create the _replicator database", async (t) => {
    await useReplicator(t);
    await t.request('DELETE', '/_replicator');
    const wrong = { source: t.db };
    assert.equal((await t.request('PUT', '/_replicator/wrong', { json: wrong })).status, 403);
    assert.equal((await t.request('POST', '/_replicator', { json: { ...wrong, _id: 'wrong' } })).status, 403);
    const right = { source: t.db, target: `${t.db}_made` };
    const stale = { json: { ...right, _rev: '1-967a00dff5e02add41819138abb3284d' } };
    assert.equal((await t.request('PUT', '/_replicator/stale', stale)).status, 409);
    const headers = { 'content-type': 'application/json' };
    assert.equal((await t.request('PUT', '/_replicator/cut', { body: '{"source":', headers })).status, 400);
    const refused = await t.request('POST', '/_replicator/_bulk_docs', {
      json: { docs: [{ ...wrong, _id: 'wrong' }] },
    });
    assert.deepInclude(at(refused.json, 0), { id: 'wrong', error: 'forbidden' });
    assertError(await t.request('GET', '/_replicator'), 404, 'not_found', 'no_db_file');
    assert.notInclude(arrayAt((await t.request('GET', '/_all_dbs')).json), '_replicator');
    // One of several is enough, and so is one that is written later.
    const docs = [{ ...wrong, _id: 'wrong' }, { _id: '_local/mine' }];
    assert.equal((await t.request('POST', '/_replicator/_bulk_docs', { json: { docs } })).status, 201);
    assert.equal((await t.request('GET', '/_replicator/_local/mine')).status, 200);
    await t.request('DELETE', '/_replicator');
    const later = { json: { language: 'javascript' } };
    assert.equal((await t.request('PUT', '/_replicator/_design/later?batch=ok', later)).status, 202);
    assert.equal((await t.request('GET', '/_replicator/_design/later')).status, 200);
  }),

  test('doc_ids selects the documents to copy', async (t) => {
    await useReplicator(t);
    const target = await newTarget(t);
    await t.bulk([{ _id: 'a' }, { _id: 'b' }, { _id: 'c' }]);
    await ask(t, 'some', { target, doc_ids: ['a', 'c', 'none'] });
    assert.equal(at(await untilState(t, 'some', 'completed'), '_replication_stats', 'docs_written'), 2);
    assert.equal((await t.request('GET', `/${target}/b`)).status, 404);
  }),

  test('a filter of the source selects documents, and a missing filter is an error', async (t) => {
    await useReplicator(t);
    const target = await newTarget(t);
    await t.bulk([
      { _id: 'a', n: 1 },
      { _id: 'b', n: 2 },
    ]);
    await t.put('_design/f', { filters: { same: 'function (doc, req) { return String(doc.n) === req.query.n; }' } });
    await ask(t, 'some', { target, filter: 'f/same', query_params: { n: '2' } });
    await untilState(t, 'some', 'completed');
    assert.equal((await t.request('GET', `/${target}/b`)).status, 200);
    assert.equal(await documentCount(t, target), 1);
    await ask(t, 'bad', { target, filter: 'f/none' });
    assert.isNotEmpty(stringAt(await untilState(t, 'bad', 'error'), '_replication_state_reason'));
  }),

  test('filter parameters can be numbers, and an invalid selector is reported at once', async (t) => {
    await useReplicator(t);
    await t.bulk([1, 2, 3].map((n) => ({ _id: `d${n}`, n })));
    const least = 'function (doc, req) { return doc.n >= Number(req.query.least) && req.query.flag === "true"; }';
    await t.put('_design/f', { filters: { least } });
    const target = await newTarget(t);
    await ask(t, 'numbers', { target, filter: 'f/least', query_params: { least: 2, flag: true } });
    await untilState(t, 'numbers', 'completed');
    assert.equal(await documentCount(t, target), 2);
    await ask(t, 'wrong', { target, selector: { n: { $nonsense: 1 } } });
    const document = await untilState(t, 'wrong', 'error');
    assert.match(stringAt(document, '_replication_state_reason'), /\$nonsense/);
  }),

  test("a continuous replication runs, its document can't be edited, and it ends when the document is deleted", async (t) => {
    await useReplicator(t);
    const target = await newTarget(t);
    await t.put('one', {});
    await ask(t, 'live', { target, continuous: true });
    await arrives(t, target, 'one');
    const document = await untilState(t, 'live', 'triggered');
    assert.match(stringAt(document, '_replication_id'), /^[\da-f]{32}\+continuous$/);
    await t.put('two', {});
    await arrives(t, target, 'two');
    assertError(
      await t.request('PUT', '/_replicator/live', { json: { ...Object(document), note: 'mine' } }),
      403,
      'forbidden',
      'Only the replicator can edit replication documents that are in the triggered state.',
    );
    const cancel = { cancel: true, replication_id: at(document, '_replication_id') };
    assert.equal((await t.request('POST', '/_replicate', { json: cancel })).status, 403);
    const rev = stringAt(document, '_rev');
    assert.equal((await t.request('DELETE', `/_replicator/live?rev=${rev}`)).status, 200);
    await noJobs(t);
    await t.put('three', {});
    assert.equal((await t.request('GET', `/${target}/three`)).status, 404);
  }),

  test('of identical documents the first is carried out, and the second refers to its id', async (t) => {
    await useReplicator(t);
    const target = await newTarget(t);
    await ask(t, 'one', { target, continuous: true });
    const one = await untilState(t, 'one', 'triggered');
    await ask(t, 'two', { target, continuous: true });
    const two = await until(
      () => readAsked(t, 'two'),
      (document) => at(document, '_replication_id') !== undefined,
      'the second should have an id',
    );
    assert.equal(at(two, '_replication_id'), at(one, '_replication_id'));
    assert.notProperty(two, '_replication_state');
    assert.include(stringAt(two, '_replication_state_reason'), '`one');
    await t.request('DELETE', `/_replicator/one?rev=${stringAt(one, '_rev')}`);
    await untilState(t, 'two', 'triggered');
  }),

  test('successive documents are carried out one after another, and a completed one is not repeated', async (t) => {
    await useReplicator(t);
    const target = await newTarget(t);
    await t.put('a', {});
    await ask(t, 'first', { target });
    const first = await untilState(t, 'first', 'completed');
    await t.put('b', {});
    await t.request('PUT', '/_replicator/first', { json: { ...Object(first), note: 'mine' } });
    await ask(t, 'second', { target });
    const second = await untilState(t, 'second', 'completed');
    assert.equal(at(second, '_replication_stats', 'docs_written'), 1);
    assert.equal(await documentCount(t, target), 2);
    const kept = await readAsked(t, 'first');
    assert.deepInclude(kept, { note: 'mine', _replication_state: 'completed' });
    assert.equal(at(kept, '_replication_state_time'), at(first, '_replication_state_time'));
  }),

  test('a failed document has the reason, and starts again when it is changed', async (t) => {
    await useReplicator(t);
    const target = `${t.db}_made`;
    t.forgetLater(target);
    await t.put('a', {});
    await ask(t, 'copy', { target });
    const failed = await untilState(t, 'copy', 'error');
    assert.include(stringAt(failed, '_replication_state_reason'), `could not open ${target}`);
    const rev = stringAt(failed, '_rev');
    const changed = { _rev: rev, source: t.db, target, create_target: true };
    assert.equal((await t.request('PUT', '/_replicator/copy', { json: changed })).status, 201);
    assert.notProperty(await untilState(t, 'copy', 'completed'), '_replication_state_reason');
    assert.equal(await documentCount(t, target), 1);
  }),

  test('a POST to _replicate for the task of a failed document is tried at once', async (t) => {
    await useReplicator(t);
    await t.put('one', {});
    const target = `${t.db}_late`;
    await ask(t, 'copy', { target });
    await untilState(t, 'copy', 'error');
    const request = () => t.request('POST', '/_replicate', { json: { source: t.db, target } });
    assertError(await request(), 500, 'db_not_found', `could not open ${target}`);
    await newTarget(t, 'late');
    const answer = await request();
    assert.equal(answer.status, 200, answer.text);
    assert.equal(await documentCount(t, target), 1);
    await untilState(t, 'copy', 'completed');
  }),

  test('numbers in the document keep their digits when the state is written', async (t) => {
    await useReplicator(t);
    const target = await newTarget(t);
    const body = `{"source":"${t.db}","target":"${target}","note":1.500,"long":123456789012345678901234567890}`;
    const headers = { 'content-type': 'application/json' };
    assert.equal((await t.request('PUT', '/_replicator/copy', { body, headers })).status, 201);
    await untilState(t, 'copy', 'completed');
    const { text } = await t.request('GET', '/_replicator/copy');
    assert.include(text, '"note":1.500,"long":123456789012345678901234567890,');
  }),

  test('the state has the ids of refused documents', async (t) => {
    await useReplicator(t);
    const target = await newTarget(t);
    await t.bulk([
      { _id: 'a', n: 1 },
      { _id: 'b', n: 2 },
    ]);
    const rules = { validate_doc_update: "function (doc) { if (doc.n === 2) throw { forbidden: 'no twos' }; }" };
    await t.request('PUT', `/${target}/_design/rules`, { json: rules });
    await ask(t, 'copy', { target });
    const stats = at(await untilState(t, 'copy', 'completed'), '_replication_stats');
    assert.deepInclude(stats, { docs_written: 1, doc_write_failures: 1, refused_count: 1 });
    assert.deepInclude(arrayAt(stats, 'refused')[0], { id: 'b', error: 'forbidden', reason: 'no twos' });
  }),
]);
