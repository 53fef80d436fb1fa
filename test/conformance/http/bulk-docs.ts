import { assert } from 'chai';
import { assertAllowed, assertError, assertJson } from '../../support/conformance/answer.ts';
import { fakeRev, replicated } from '../../support/conformance/fake-revisions.ts';
import { at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

function conflictRow(id: string, rev = ''): object {
  return { id, rev, error: 'conflict', reason: 'Document update conflict.' };
}

function badRevRow(id: string, rev: string): object {
  const where = `the _rev of document ${JSON.stringify(id)} is ${JSON.stringify(rev)}`;
  const reason = `Invalid rev format: ${where}. Send the revision exactly as the database returned it.`;
  return { id, rev, error: 'bad_request', reason };
}

/** `_bulk_docs` (docs/http/bulk.md#bulk-writes). */
export default suite('bulk_docs', [
  test('creates, updates and deletes, with one row per document in order', async (t) => {
    const rows = await t.bulk([{ _id: 'b', n: 1 }, { _id: 'a', n: 2 }, { n: 3 }]);
    const [b, a, unnamed] = rows.map((row) => stringAt(row, 'rev'));
    const id = stringAt(rows, 2, 'id');
    assert.deepEqual(rows, [
      { ok: true, id: 'b', rev: b },
      { ok: true, id: 'a', rev: a },
      { ok: true, id, rev: unnamed },
    ]);
    assert.match(id, /^[0-9a-f]{32}$/);

    const next = await t.bulk([
      { _id: 'a', _rev: a, n: 20 },
      { _id: 'b', _rev: b, _deleted: true },
    ]);
    assert.match(stringAt(next, 0, 'rev'), /^2-[0-9a-f]{32}$/);
    assert.match(stringAt(next, 1, 'rev'), /^2-[0-9a-f]{32}$/);
    assertJson(await t.get('/a'), 200, { _id: 'a', _rev: stringAt(next, 0, 'rev'), n: 20 });
    assertError(await t.get('/b'), 404, 'not_found', 'deleted');
    assert.deepInclude(await t.info(), { doc_count: 2, doc_del_count: 1, update_seq: 5 });
  }),

  test('refuses single documents without a word to the others', async (t) => {
    const rev = await t.put('old', { n: 1 });
    await t.put('old', { _rev: rev, n: 2 });
    const rows = await t.bulk([{ _id: 'new' }, { _id: 'old', _rev: rev, n: 3 }, { _id: 'old', n: 4 }, { _id: 'last' }]);
    assert.deepEqual(rows[1], conflictRow('old', rev));
    assert.deepEqual(rows[2], conflictRow('old'));
    assert.deepInclude(rows[0], { ok: true, id: 'new' });
    assert.deepInclude(rows[3], { ok: true, id: 'last' });
    assert.equal(at((await t.get('/old')).json, 'n'), 2);
  }),

  test('edits several leaves of one document, each once, as conflicts are resolved', async (t) => {
    const [left, right] = [fakeRev(2, 'a'), fakeRev(2, 'b')];
    await t.replicate([replicated('doc', 2, 'a1', { n: 1 }), replicated('doc', 2, 'b1', { n: 2 })]);
    const rows = await t.bulk([
      { _id: 'doc', _rev: left, n: 3 },
      { _id: 'doc', _rev: right, _deleted: true },
      { _id: 'doc', _rev: left, n: 4 },
    ]);
    const [merged, gone] = [stringAt(rows, 0, 'rev'), stringAt(rows, 1, 'rev')];
    assert.deepEqual(rows.slice(0, 2), [
      { ok: true, id: 'doc', rev: merged },
      { ok: true, id: 'doc', rev: gone },
    ]);
    assert.deepEqual(rows[2], conflictRow('doc', left));
    assertJson(await t.get('/doc?conflicts=true&deleted_conflicts=true'), 200, {
      _id: 'doc',
      _rev: merged,
      n: 3,
      _deleted_conflicts: [gone],
    });
  }),

  test('all_or_nothing edits several leaves of one document, too', async (t) => {
    const [left, right] = [fakeRev(2, 'a'), fakeRev(2, 'b')];
    await t.replicate([replicated('doc', 2, 'a1', { n: 1 }), replicated('doc', 2, 'b1', { n: 2 })]);
    const docs = [
      { _id: 'doc', _rev: left, n: 3 },
      { _id: 'doc', _rev: right, _deleted: true },
    ];
    const rows = await t.bulk(docs, { all_or_nothing: true });
    assert.deepInclude((await t.get('/doc?conflicts=true')).json, { _rev: stringAt(rows, 0, 'rev'), n: 3 });
    assert.notProperty((await t.get('/doc?conflicts=true')).json, '_conflicts');
  }),

  test('validation functions judge each leaf by itself, and a refused edit leaves its leaf to the next one', async (t) => {
    const [left, right] = [fakeRev(2, 'a'), fakeRev(2, 'b')];
    await t.replicate([replicated('doc', 2, 'a1', { n: 1 }), replicated('doc', 2, 'b1', { n: 2 })]);
    const validator = 'function (doc, old) { if (old && doc.n < old.n) throw { forbidden: "less than " + old.n }; }';
    await t.put('_design/rules', { validate_doc_update: validator });
    const rows = await t.bulk([
      { _id: 'doc', _rev: right, n: 1 },
      { _id: 'doc', _rev: left, n: 1 },
      { _id: 'doc', _rev: right, n: 5 },
    ]);
    assert.deepInclude(rows[0], { id: 'doc', error: 'forbidden', reason: 'less than 2' });
    assert.deepInclude(rows[1], { ok: true });
    assert.deepInclude(rows[2], { ok: true });
    const last = [stringAt(rows, 1, 'rev'), stringAt(rows, 2, 'rev')];
    const open = (await t.get('/doc?open_revs=all')).json;
    assert.sameMembers([stringAt(open, 0, 'ok', '_rev'), stringAt(open, 1, 'ok', '_rev')], last);
  }),

  test('the first of two writes to one leaf wins', async (t) => {
    const rows = await t.bulk([
      { _id: 'doc', n: 1 },
      { _id: 'doc', n: 2 },
    ]);
    assert.deepInclude(rows[0], { ok: true, id: 'doc' });
    assert.deepEqual(rows[1], conflictRow('doc'));
    assertJson(await t.get('/doc?conflicts=true'), 200, { _id: 'doc', _rev: stringAt(rows[0], 'rev'), n: 1 });

    const rev = stringAt(rows[0], 'rev');
    const again = await t.bulk([
      { _id: 'doc', _rev: rev, n: 3 },
      { _id: 'doc', _rev: rev, n: 4 },
    ]);
    assert.deepEqual(again[1], conflictRow('doc', rev));
    assert.equal(at((await t.get('/doc')).json, 'n'), 3);
  }),

  test('a document is not made anew by the request that deletes it', async (t) => {
    const rev = await t.put('doc', { n: 1 });
    const rows = await t.bulk([
      { _id: 'doc', _rev: rev, _deleted: true },
      { _id: 'doc', n: 2 },
    ]);
    assert.deepInclude(rows[0], { ok: true, id: 'doc' });
    assert.deepEqual(rows[1], conflictRow('doc'));
    assertError(await t.get('/doc'), 404, 'not_found', 'deleted');
  }),

  test('a document cannot be updated by a revision that the same request makes', async (t) => {
    const [row] = await t.bulk([{ _id: 'elsewhere', n: 1 }]);
    const rows = await t.bulk([
      { _id: 'doc', n: 1 },
      { _id: 'doc', _rev: stringAt(row, 'rev'), n: 2 },
    ]);
    assert.deepEqual(rows[1], conflictRow('doc', stringAt(row, 'rev')));
  }),

  test('a tombstone may keep members', async (t) => {
    const rev = await t.put('doc', { n: 1 });
    const [row] = await t.bulk([{ _id: 'doc', _rev: rev, _deleted: true, why: 'obsolete' }]);
    const last = stringAt(row, 'rev');
    assertJson(await t.get(`/doc?rev=${last}`), 200, { _id: 'doc', _rev: last, _deleted: true, why: 'obsolete' });
  }),

  test('nothing to do is done', async (t) => {
    assert.deepEqual(await t.bulk([]), []);
    assert.equal(await t.updateSeq(), 0);
  }),

  test('without a list of documents: 400', async (t) => {
    const reason = "Missing JSON list of 'docs'";
    assertError(await t.at('POST', '/_bulk_docs', { json: {} }), 400, 'bad_request', reason);
    assertError(await t.at('POST', '/_bulk_docs', { json: { doc: [] } }), 400, 'bad_request', reason);
  }),

  test('what is no document refuses the whole request', async (t) => {
    const reason = 'Document must be a JSON object';
    for (const bad of [1, 'text', null, ['a']]) {
      const answer = await t.at('POST', '/_bulk_docs', { json: { docs: [{ _id: 'good' }, bad] } });
      assertError(answer, 400, 'bad_request', reason);
    }
    assert.deepInclude(await t.info(), { doc_count: 0, update_seq: 0 });
  }),

  test('a member that begins with an underscore refuses the whole request', async (t) => {
    const docs = [{ _id: 'good' }, { _id: 'bad', _zing: 1 }];
    const answer = await t.at('POST', '/_bulk_docs', { json: { docs } });
    assertError(answer, 400, 'doc_validation', 'Bad special document member: _zing');
    assertError(await t.get('/good'), 404, 'not_found', 'missing');
  }),

  test('a _rev that is no revision refuses its row alone, and the reason names the document', async (t) => {
    const long = `1-${'x'.repeat(300)}`;
    const docs = [
      { _id: 'first' },
      { _id: 'cut', _rev: '1-' },
      { _id: 'number', _rev: 5 },
      { _id: 'none', _rev: null },
      { _id: 'long', _rev: long },
      { _id: 'zero', _rev: '0-1' },
      { _id: '_local/own', _rev: '1-' },
      { _id: 'last' },
    ];
    const rows = await t.bulk(docs);
    assert.deepInclude(rows[0], { ok: true, id: 'first' });
    assert.deepEqual(rows.slice(1, 7), [
      badRevRow('cut', '1-'),
      badRevRow('number', '5'),
      badRevRow('none', 'null'),
      badRevRow('long', `${long.slice(0, 200)}…`),
      badRevRow('zero', '0-1'),
      badRevRow('_local/own', '1-'),
    ]);
    assert.deepInclude(rows[7], { ok: true, id: 'last' });
    const [unnamed] = await t.bulk([{ _rev: '0-1' }]);
    assert.deepEqual(unnamed, badRevRow(stringAt(unnamed, 'id'), '0-1'));
    assert.deepInclude(await t.info(), { doc_count: 2, update_seq: 2 });
    // By itself it is refused as ever.
    assertError(await t.at('PUT', '/cut', { json: { _rev: '1-' } }), 400, 'bad_request', 'Invalid rev format');
    assertError(await t.at('POST', '', { json: { _rev: '0-1' } }), 400, 'bad_request', 'Invalid rev format');
  }),

  test('so it does with new_edits=false, and with all_or_nothing it keeps the others from being written', async (t) => {
    const docs = [replicated('first', 1, 'a'), { _id: 'cut', _rev: '1-' }];
    assert.deepEqual(await t.bulk(docs, { new_edits: false }), [badRevRow('cut', '1-')]);
    assert.equal((await t.get('/first')).status, 200);
    const json = { docs: [{ _id: 'second' }, { _id: '_local/x' }, { _id: 'cut', _rev: '1-' }], all_or_nothing: true };
    assertJson(await t.at('POST', '/_bulk_docs', { json }), 417, [badRevRow('cut', '1-')]);
    assert.equal((await t.get('/second')).status, 404);
    assert.equal((await t.get('/_local/x')).status, 404);
  }),

  test('rev is in every row of a refused write, also of one that all_or_nothing keeps back', async (t) => {
    const rev = await t.put('old', { n: 1 });
    const validator = 'function (doc) { if (doc.bad) throw { forbidden: "bad" }; }';
    await t.put('_design/rules', { validate_doc_update: validator });
    const docs = [{ _id: 'good' }, { _id: 'new', bad: 1 }, { _id: 'old', _rev: rev, bad: 1 }];
    const refused = [
      { id: 'new', rev: '', error: 'forbidden', reason: 'bad' },
      { id: 'old', rev, error: 'forbidden', reason: 'bad' },
    ];
    assertJson(await t.at('POST', '/_bulk_docs', { json: { docs, all_or_nothing: true } }), 417, refused);
    assert.deepEqual((await t.bulk(docs)).slice(1), refused);
  }),

  test('_access is a member like any other', async (t) => {
    const [row] = await t.bulk([{ _id: 'many', _access: ['ana'], n: 1 }]);
    assertJson(await t.get('/many'), 200, { _id: 'many', _rev: stringAt(row, 'rev'), _access: ['ana'], n: 1 });
    const rev = await t.put('one', { _access: ['ana'] });
    assertJson(await t.get('/one'), 200, { _id: 'one', _rev: rev, _access: ['ana'] });
  }),

  test('the body must be declared as JSON', async (t) => {
    const reason = 'Content-Type must be application/json';
    const body = '{"docs":[{"_id":"a"}]}';
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/json; a=b; c=d']) {
      const answer = await t.at('POST', '/_bulk_docs', { body, headers: { 'content-type': type } });
      assertError(answer, 415, 'bad_content_type', reason);
    }
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    assert.equal((await t.at('POST', '/_bulk_docs', { body, headers })).status, 201);
  }),

  test('all_or_nothing makes a branch where it would conflict', async (t) => {
    const first = await t.put('doc', { n: 1 });
    const second = await t.put('doc', { _rev: first, n: 2 });
    const [row, other] = await t.bulk([{ _id: 'doc', _rev: first, n: 3 }, { _id: 'new' }], { all_or_nothing: true });
    assert.deepInclude(row, { ok: true, id: 'doc' });
    assert.deepInclude(other, { ok: true, id: 'new' });
    const third = stringAt(row, 'rev');
    assert.match(third, /^2-/);
    const [winner = '', loser = ''] = [second, third].toSorted().toReversed();
    const read = (await t.get('/doc?conflicts=true')).json;
    assert.deepInclude(read, { _rev: winner, _conflicts: [loser] });
  }),

  test('all_or_nothing asks local documents for no revision either', async (t) => {
    await t.put('_local/mine', { n: 1 });
    const docs = [{ _id: 'doc' }, { _id: '_local/mine', n: 2 }, { _id: '_local/other', _rev: fakeRev(1, 'a') }];
    const rows = await t.bulk(docs, { all_or_nothing: true });
    assert.deepInclude(rows[0], { ok: true, id: 'doc' });
    assert.deepEqual(rows.slice(1), [
      { ok: true, id: '_local/mine', rev: '0-2' },
      { ok: true, id: '_local/other', rev: '0-1' },
    ]);
    assert.deepInclude((await t.get('/_local/mine')).json, { n: 2 });
  }),

  test('new_edits=false answers with nothing, be the revisions new or known', async (t) => {
    const docs = [replicated('a', 3, 'cba', { n: 1 }), replicated('b', 1, 'a', { n: 2 })];
    assert.deepEqual(await t.bulk(docs, { new_edits: false }), []);
    assert.equal(await t.updateSeq(), 2);
    assert.deepEqual(await t.bulk(docs, { new_edits: false }), []);
    assert.equal(await t.updateSeq(), 2);
    assertJson(await t.get('/a?revs=true'), 200, {
      _id: 'a',
      _rev: fakeRev(3, 'c'),
      n: 1,
      _revisions: { start: 3, ids: ['c'.repeat(32), 'b'.repeat(32), 'a'.repeat(32)] },
    });
  }),

  test('new_edits=false keeps the revision as it is, with or without ancestors', async (t) => {
    await t.replicate([{ _id: 'doc', _rev: fakeRev(4, 'd'), n: 1 }]);
    assertJson(await t.get('/doc?revs=true'), 200, {
      _id: 'doc',
      _rev: fakeRev(4, 'd'),
      n: 1,
      _revisions: { start: 4, ids: ['d'.repeat(32)] },
    });
  }),

  test('new_edits=false never conflicts', async (t) => {
    await t.replicate([replicated('doc', 1, 'a', { n: 1 })]);
    await t.replicate([replicated('doc', 2, 'ba', { n: 2 }), replicated('doc', 2, 'ca', { n: 3 })]);
    assertJson(await t.get('/doc?conflicts=true'), 200, {
      _id: 'doc',
      _rev: fakeRev(2, 'c'),
      n: 3,
      _conflicts: [fakeRev(2, 'b')],
    });
  }),

  test('new_edits=false without a revision: 400, and nothing written', async (t) => {
    const docs = [replicated('good', 1, 'a'), { _id: 'doc' }];
    const answer = await t.at('POST', '/_bulk_docs', { json: { docs, new_edits: false } });
    assertError(answer, 400, 'bad_request', 'Document must have a _rev when new_edits is false');
    assertError(await t.get('/good'), 404, 'not_found', 'missing');
  }),

  test('only POST', async (t) => {
    assertAllowed(await t.at('GET', '/_bulk_docs'), 'POST');
    assertAllowed(await t.at('PUT', '/_bulk_docs', { json: {} }), 'POST');
  }),
]);
