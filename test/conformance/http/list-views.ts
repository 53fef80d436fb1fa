import { assert } from 'chai';
import { assertAllowed, assertError } from '../../support/conformance/answer.ts';
import { at } from '../../support/conformance/json.ts';
import { ofCore, suite, test } from '../../support/conformance/suite.ts';
import type { RequestOptions, Toolkit } from '../../support/conformance/toolkit.ts';
import { numbered } from '../../support/conformance/view-steps.ts';

const lists = {
  basic: `function (head, req) {
    send("head " + JSON.stringify(head) + "\\n");
    var row;
    while (row = getRow()) send(JSON.stringify([row.id, row.key, row.value]) + "\\n");
    return "tail";
  }`,
  docs: 'function (head, req) { var row, names = []; while (row = getRow()) names.push(row.doc.string); return names.join(","); }',
  typed:
    'function (head, req) { start({ code: 206, headers: { "Content-Type": "text/csv", "X-Own": "1" } }); send("a;b"); return "\\n"; }',
  stops: 'function (head, req) { var row = getRow(); send("first " + row.key); return " enough"; }',
  silent: 'function (head, req) { while (getRow()); }',
  nothing_read: 'function (head, req) { return "not one"; }',
  provides: `function (head, req) {
    provides("html", function () { var row, n = 0; while (row = getRow()) n += 1; return "<p>" + n + "</p>"; });
    provides("json", function () { var row, n = 0; while (row = getRow()) n += 1; send(JSON.stringify({ n: n })); });
  }`,
  throws: 'function (head, req) { send("begun"); throw new Error("broken"); }',
  request: 'function (head, req) { return JSON.stringify(req); }',
  arrow: '(head) => { let row; while ((row = getRow())) send(row.id + ";"); return head.total_rows; }',
  hidden: 'function () { var next = getRow, row; while (row = next()) send(row.id + ";"); return "end"; }',
  nested: 'function () { [1, 2].forEach(function () { send(getRow().id + ";"); }); return "end"; }',
  late_start:
    'function () { start({ code: 202 }); getRow(); start({ code: 203, headers: { "X-T": "y" } }); send("none"); }',
  later_start: 'function () { var n = 0; while (getRow()) n++; start({ code: 206 }); return n + " rows"; }',
  too_late: 'function () { start({ code: 202 }); send("a"); getRow(); start({ code: 203 }); return "x"; }',
  hidden_start:
    'function () { var next = getRow; next(); start({ code: 203 }); send("a"); next(); start({ code: 404 }); }',
  padded: 'function () { var row, pad = "x".repeat(1000); while (row = getRow()) send(row.id + pad + "\\n"); }',
};

const map = 'function (doc) { emit(doc.integer, doc.string); }';

async function fill(t: Toolkit, count = 10): Promise<void> {
  await t.put('_design/test', {
    lists,
    views: { rows: { map }, sum: { map: 'function (doc) { emit(doc.integer % 2, doc.integer); }', reduce: '_sum' } },
  });
  await t.put('_design/views', { views: { backwards: { map: 'function (doc) { emit(-doc.integer, 1); }' } } });
  await t.bulk(numbered(count));
}

function list(t: Toolkit, what: string, options: RequestOptions = {}) {
  return t.at('json' in options ? 'POST' : 'GET', `/_design/test/_list/${what}`, options);
}

/** List functions (docs/http/functions.md#list-functions). */
export default suite('list_views', [
  test('a list function gets the head, then each row, and returns a text', async (t) => {
    await fill(t, 2);
    const answer = await list(t, 'basic/rows');
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.text, 'head {"total_rows":2,"offset":0}\n["0",0,"0"]\n["1",1,"1"]\ntail');
    assert.equal(answer.header('content-type'), 'application/json');
    assert.equal(answer.header('vary'), 'Accept');
  }),

  test('a list function gets the parameters of the view', async (t) => {
    await fill(t);
    const answer = await list(t, 'basic/rows?startkey=3&limit=1&update_seq=true');
    assert.equal(answer.text, 'head {"total_rows":10,"offset":3,"update_seq":12}\n["3",3,"3"]\ntail');
    const keyed = await list(t, 'basic/rows', { json: { keys: [5, 'x', 2] } });
    assert.equal(keyed.text, 'head {"total_rows":10,"offset":5}\n["5",5,"5"]\n["2",2,"2"]\ntail');
    assert.equal((await list(t, 'docs/rows?include_docs=true&limit=3')).text, '0,1,2');
    const wrong = await list(t, 'basic/rows?limit=x');
    assertError(wrong, 400, 'query_parse_error', 'Invalid value for integer: x');
  }),

  test('the head that a list function gets is empty for a reduced view', async (t) => {
    await fill(t);
    assert.equal((await list(t, 'basic/sum')).text, 'head {}\n[null,null,45]\ntail');
    assert.equal((await list(t, 'basic/sum?group=true')).text, 'head {}\n[null,0,20]\n[null,1,25]\ntail');
    assert.equal((await list(t, 'basic/sum?reduce=false&limit=0')).text, 'head {"total_rows":10,"offset":0}\ntail');
  }),

  test('a list function can be applied to a view of another design document, or to all documents', async (t) => {
    await fill(t, 2);
    assert.equal(
      (await list(t, 'basic/views/backwards?limit=1')).text,
      'head {"total_rows":2,"offset":0}\n["1",-1,1]\ntail',
    );
    const all = await list(t, 'docs/_all_docs?include_docs=true&startkey="0"&endkey="9"');
    assert.equal(all.text, '0,1');
    const keyed = await list(t, 'docs/_all_docs?include_docs=true', { json: { keys: ['1', '0'] } });
    assert.equal(keyed.text, '1,0');
    const posted = { include_docs: true, startkey: '1', endkey: '9', limit: 1 };
    assert.equal((await list(t, 'docs/_all_docs', { json: posted })).text, '1');
    assert.match((await list(t, 'basic/_all_docs?startkey="1"')).text, /^head {"total_rows":4,"offset":1}\n\["1","1",/);
  }),

  test('a list function sets status and headers', async (t) => {
    await fill(t, 1);
    const answer = await list(t, 'typed/rows');
    assert.deepEqual([answer.status, answer.text, answer.header('x-own')], [206, 'a;b\n', '1']);
    assert.equal(answer.header('content-type'), 'text/csv');
  }),

  test('a list function can return without reading rows or sending text', async (t) => {
    await fill(t);
    assert.equal((await list(t, 'stops/rows')).text, 'first 0 enough');
    assert.equal((await list(t, 'nothing_read/rows')).text, 'not one');
    assert.equal((await list(t, 'silent/rows')).text, '');
  }),

  ...ofCore([
    test('a list function can read thousands of rows', async (t) => {
      await fill(t, 3000);
      const text = (await list(t, 'basic/rows')).text.split('\n');
      assert.lengthOf(text, 3002);
      assert.equal(text[2345], '["2344",2344,"2344"]');
    }),
  ]),

  test('a list function can be written in any form that calls getRow()', async (t) => {
    await fill(t, 3);
    assert.equal((await list(t, 'arrow/rows')).text, '0;1;2;3');
    assert.equal((await list(t, 'hidden/rows')).text, '0;1;2;end');
    assert.equal((await list(t, 'nested/rows')).text, '0;1;end');
  }),

  test("a list function's output is sent as it is made", async (t) => {
    await fill(t, 3000);
    const { text } = await list(t, 'padded/rows');
    assert.lengthOf(text, 3000 * 1001 + 10 + 90 * 2 + 900 * 3 + 2000 * 4);
    assert.equal(text.slice(0, 3), '0xx');
    assert.equal(text.slice(-1002), `9${'x'.repeat(1000)}\n`);
  }),

  test('the response begins with the first text that a list function sends', async (t) => {
    await fill(t, 3000);
    const late = await list(t, 'late_start/rows');
    assert.deepEqual([late.status, late.header('x-t'), late.text], [203, 'y', 'none']);
    const later = await list(t, 'later_start/rows');
    assert.deepEqual([later.status, later.text], [206, '3000 rows']);
    const tooLate = await list(t, 'too_late/rows');
    assert.deepEqual([tooLate.status, tooLate.text], [202, 'ax']);
    assert.equal((await list(t, 'hidden_start/rows')).status, 203);
  }),

  test('Accept or format selects the provided content type', async (t) => {
    await fill(t);
    const html = await list(t, 'provides/rows', { headers: { accept: 'text/html' } });
    assert.deepEqual([html.header('content-type'), html.text], ['text/html; charset=utf-8', '<p>10</p>']);
    const json = await list(t, 'provides/rows', { headers: { accept: 'application/json' } });
    assert.deepEqual([json.header('content-type'), json.text], ['application/json', '{"n":10}']);
    assert.equal((await list(t, 'provides/rows?format=html')).text, '<p>10</p>');
    const none = await list(t, 'provides/rows', { headers: { accept: 'image/png' } });
    assert.deepEqual([none.status, at(none.json, 'error')], [406, 'not_acceptable']);
  }),

  test("the ETag depends on the view's rows, the design document and Accept", async (t) => {
    await fill(t);
    const tag = `${(await list(t, 'basic/rows')).header('etag')}`;
    assert.equal((await list(t, 'basic/rows', { headers: { 'if-none-match': tag } })).status, 304);
    const html = { 'if-none-match': tag, accept: 'text/html' };
    assert.equal((await list(t, 'basic/rows', { headers: html })).status, 200);
    await t.put('more', { integer: 5 });
    assert.equal((await list(t, 'basic/rows', { headers: { 'if-none-match': tag } })).status, 200);
  }),

  test('failures have the messages of the interface', async (t) => {
    await fill(t, 1);
    assertError(
      await list(t, 'absent/rows'),
      404,
      'not_found',
      'missing lists function absent on design doc _design/test',
    );
    assertError(await list(t, 'basic/absent'), 404, 'not_found', 'missing_named_view');
    assertError(await list(t, 'basic/absent/rows'), 404, 'not_found', 'missing');
    assertError(await list(t, 'basic'), 404, 'list_error', 'Bad path.');
    assertError(await t.get('/_design/test/_list'), 404, 'list_error', 'Bad path.');
    assertError(await list(t, 'basic/a/b/c'), 404, 'list_error', 'Bad path.');
    const thrown = await list(t, 'throws/rows');
    assert.deepEqual([thrown.status, at(thrown.json, 'error')], [500, 'render_error']);
    assertAllowed(await t.at('DELETE', '/_design/test/_list/basic/rows'), 'GET,POST,HEAD,QUERY');
    assert.equal((await t.at('OPTIONS', '/_design/test/_list/arrow/rows')).text, '0;1');
  }),

  test('a list function sees the request', async (t) => {
    await fill(t, 1);
    const request = (await list(t, 'request/rows?limit=1&key=0')).json;
    assert.deepInclude(request, { id: null, method: 'GET', query: { limit: '1', key: 0 } });
    const posted = (await list(t, 'request/rows', { json: { keys: [0] } })).json;
    assert.deepInclude(posted, { method: 'POST', body: '{"keys":[0]}' });
  }),
]);
