import { assert } from 'chai';
import { assertError } from '../../support/conformance/answer.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

const shows = {
  headers: `function (doc, req) {
    var headers = {}, i;
    for (i = 0; i < req.query.count; i++) headers["X-" + i] = "v";
    headers["X-Long"] = new Array(Number(req.query.length)).join("v");
    return { headers: headers, body: "x" };
  }`,
  hello: 'function (doc, req) { return doc ? "Hello " + doc.name : (req.id ? "no " + req.id : "Hello World"); }',
  type: 'function (doc, req) { return { headers: { "Content-Type": "text/x-greeting", "X-Own": "1" }, body: "hi", code: 202 }; }',
  json: 'function (doc, req) { return { json: { id: req.id } }; }',
  bytes: 'function (doc, req) { return { base64: "AAH/", headers: { "Content-Type": "image/x-dots" } }; }',
  bare: 'function (doc, req) { return { base64: "AAE=" }; }',
  number: 'function (doc, req) { return 5; }',
  throws: 'function (doc, req) { throw new Error("broken"); }',
  custom: 'function (doc, req) { throw ["error", "teapot", "short and stout"]; }',
  gone: 'function (doc, req) { throw ["error", "not_found", "nothing of that name"]; }',
  request: 'function (doc, req) { return { json: req }; }',
  self: 'function (doc, req) { return this.title + " " + require("lib/words").word; }',
  provides: `function (doc, req) {
    registerType("foo", "application/foo", "application/x-foo");
    provides("html", function () { return "<p>" + doc.name + "</p>"; });
    provides("xml", function () { return "<name>" + doc.name + "</name>"; });
    provides("json", function () { return { json: { name: doc.name } }; });
    provides("foo", function () { return "foofoo"; });
  }`,
};

/** As in the family: what is sent and what is returned comes in its turn, and start() has the headers themselves. */
const chunked = {
  started: 'function () { start({ "X-Own": "y" }); send("Hey"); }',
  mixed: 'function () { start({ "X-Own": "y" }); send("Hey "); return { headers: { "X-More": "z" }, body: "Dude" }; }',
  in_provides: 'function () { provides("text", function () { send("foo, "); send("bar, "); send("baz!"); }); }',
  in_turn: `function () {
    provides("text", function () { send("4, "); send("5, "); send("6, "); return "7!"; });
    send("1, ");
    send("2, ");
    return "3, ";
  }`,
};

const lib = { words: 'exports.word = "shown";' };

async function fill(t: Toolkit): Promise<void> {
  await t.put('_design/test', { title: 'design', shows, lib, language: 'javascript' });
  await t.put('ann', { name: 'Ann' });
}

function show(t: Toolkit, what: string, headers: Readonly<Record<string, string>> = {}) {
  return t.get(`/_design/test/_show/${what}`, headers);
}

/** Show functions (docs/http/functions.md#show-functions). */
export default suite('show_documents', [
  test('a show function gets a document, or null', async (t) => {
    await fill(t);
    const answer = await show(t, 'hello/ann');
    assert.deepEqual([answer.status, answer.text], [200, 'Hello Ann']);
    assert.equal(answer.header('content-type'), 'text/html; charset=utf-8');
    assert.equal(answer.header('vary'), 'Accept');
    assert.equal((await show(t, 'hello')).text, 'Hello World');
    assert.equal((await show(t, 'hello/nobody')).text, 'no nobody');
  }),

  test('the document id can have slashes, plain or encoded', async (t) => {
    await fill(t);
    await t.put('a%2Fb%20c', { name: 'Slash' });
    assert.equal((await show(t, 'hello/a%2Fb%20c')).text, 'Hello Slash');
    assert.equal((await show(t, 'hello/a/b%20c')).text, 'Hello Slash');
  }),

  test('a show function sets status, headers and kind of body', async (t) => {
    await fill(t);
    const typed = await show(t, 'type');
    assert.deepEqual([typed.status, typed.text, typed.header('x-own')], [202, 'hi', '1']);
    assert.equal(typed.header('content-type'), 'text/x-greeting');
    const json = await show(t, 'json/ann');
    assert.deepEqual([json.header('content-type'), json.text], ['application/json', '{"id":"ann"}']);
    const bytes = await show(t, 'bytes');
    assert.deepEqual([bytes.header('content-type'), [...bytes.bytes]], ['image/x-dots', [0, 1, 255]]);
    assert.equal((await show(t, 'bare')).header('content-type'), 'application/binary');
  }),

  test('Accept or format selects the provided content type', async (t) => {
    await fill(t);
    const expected: readonly [string, string, string][] = [
      ['text/html', 'text/html; charset=utf-8', '<p>Ann</p>'],
      ['text/html,application/atom+xml; q=0.9', 'text/html; charset=utf-8', '<p>Ann</p>'],
      ['application/xml', 'application/xml', '<name>Ann</name>'],
      ['application/json', 'application/json', '{"name":"Ann"}'],
      ['application/x-foo', 'application/x-foo', 'foofoo'],
    ];
    for (const [accept, type, text] of expected) {
      const answer = await show(t, 'provides/ann', { accept });
      assert.deepEqual([answer.status, answer.header('content-type'), answer.text], [200, type, text], accept);
    }
    assert.equal((await show(t, 'provides/ann?format=xml', { accept: 'text/html' })).text, '<name>Ann</name>');
    const none = await show(t, 'provides/ann', { accept: 'image/png' });
    assert.deepEqual([none.status, at(none.json, 'error')], [406, 'not_acceptable']);
  }),

  test('the ETag depends on design document, document and Accept', async (t) => {
    await fill(t);
    const tag = `${(await show(t, 'hello/ann')).header('etag')}`;
    const again = await show(t, 'hello/ann', { 'if-none-match': tag });
    assert.deepEqual([again.status, again.header('etag'), again.header('vary')], [304, tag, 'Accept']);
    assert.equal((await show(t, 'hello/ann', { 'if-none-match': tag, accept: 'text/html' })).status, 200);
    await t.put('other', {});
    assert.equal((await show(t, 'hello/ann', { 'if-none-match': tag })).status, 304);
    await t.put('ann', { _rev: (await t.get('/ann')).header('etag')?.slice(1, -1), name: 'Anna' });
    const changed = await show(t, 'hello/ann', { 'if-none-match': tag });
    assert.deepEqual([changed.status, changed.text], [200, 'Hello Anna']);
    const rev = (await t.get('/_design/test')).header('etag')?.slice(1, -1);
    await t.put('_design/test', { _rev: rev, shows: { hello: 'function () { return "new"; }' } });
    const fresh = await show(t, 'hello/ann', { 'if-none-match': `${changed.header('etag')}` });
    assert.deepEqual([fresh.status, fresh.text], [200, 'new']);
  }),

  test('the ETag depends on everything that the function sees of the document, also conflicts', async (t) => {
    const source = 'function (doc) { return {json: doc && [doc._conflicts, doc.name]}; }';
    await t.put('_design/test', { shows: { seen: source } });
    const seen = async (id: string, tag = '') => {
      const answer = await show(t, `seen/${id}`, { 'if-none-match': tag });
      return { shown: [answer.status, answer.text.trim()], tag: `${answer.header('etag')}` };
    };
    await t.put('ann', { name: 'Ann' });
    const alone = await seen('ann');
    assert.deepEqual(alone.shown, [200, '[null,"Ann"]']);
    await t.at('PUT', '/ann?new_edits=false', { json: { _rev: '1-0', name: 'Anna' } });
    const inConflict = await seen('ann', alone.tag);
    assert.deepEqual(inConflict.shown, [200, '[["1-0"],"Ann"]']);
    assert.deepEqual((await seen('ann', inConflict.tag)).shown, [304, '']);
    await t.at('DELETE', '/ann?rev=1-0');
    assert.deepEqual((await seen('ann', inConflict.tag)).shown, [200, '[null,"Ann"]']);
    assert.deepEqual((await seen('ann', alone.tag)).shown, [304, '']);

    await t.put('_local/ann', { name: 'one' });
    const local = await seen('_local/ann');
    await t.at('DELETE', '/_local/ann?rev=0-1');
    await t.put('_local/ann', { name: 'other' });
    assert.deepEqual((await seen('_local/ann', local.tag)).shown, [200, '[null,"other"]']);
  }),

  test('a show function can send its response in parts', async (t) => {
    await t.put('_design/test', { shows: chunked });
    const started = await show(t, 'started');
    assert.deepEqual([started.text, started.header('x-own')], ['Hey', 'y']);
    const mixed = await show(t, 'mixed');
    assert.deepEqual([mixed.text, mixed.header('x-own'), mixed.header('x-more')], ['Hey Dude', 'y', 'z']);
    const provided = await show(t, 'in_provides', { accept: 'text/plain' });
    assert.deepEqual([provided.text, provided.header('content-type')], ['foo, bar, baz!', 'text/plain; charset=utf-8']);
    assert.equal((await show(t, 'in_turn', { accept: 'text/plain' })).text, '1, 2, 3, 4, 5, 6, 7!');
  }),

  test('a show function can set as many headers as clients accept', async (t) => {
    await fill(t);
    assert.equal((await show(t, 'headers?count=100&length=1000')).status, 200);
    const many = 'A response has 256 headers at most, and that of the function has 257. Send what is more in the body.';
    assertError(await show(t, 'headers?count=256&length=1'), 500, 'render_error', many);
    const long = "The function's headers have more than 65536 characters. Send what is more in the body.";
    assertError(await show(t, 'headers?count=1&length=65537'), 500, 'render_error', long);
  }),

  test('a show function sees forms with up to 10,000 fields', async (t) => {
    await fill(t);
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const send = (body: string) => t.at('POST', '/_design/test/_show/request', { body, headers });
    const fields = (count: number) => Array.from({ length: count }, (_, n) => `f${n}=v`).join('&');
    const seen = await send(fields(10_000));
    assert.equal(at(seen.json, 'form', 'f9999'), 'v', seen.text.slice(0, 200));
    const many =
      'A form has 10000 fields at most, and this one has 10001; nothing was changed. Send less in a form; functions read JSON from `req.body`.';
    assertError(await send(fields(10_001)), 413, 'too_large', many);
    const long =
      'the request entity is too large: a body of this kind may have 1048576 bytes; nothing was changed. Send less in a form; functions read JSON from `req.body`.';
    assertError(await send(`f=${'v'.repeat(1_048_576)}`), 413, 'too_large', long);
  }),

  test('failures have the messages of the interface', async (t) => {
    await fill(t);
    assertError(await show(t, 'number'), 500, 'render_error', 'undefined response from show function');
    assertError(await show(t, 'throws/nobody'), 404, 'not_found', 'document not found');
    const thrown = await show(t, 'throws/ann');
    assert.deepEqual([thrown.status, at(thrown.json, 'error')], [500, 'render_error']);
    assert.match(`${at(thrown.json, 'reason')}`, /^function raised error: .*broken/);
    assertError(await show(t, 'custom/ann'), 500, 'teapot', 'short and stout');
    assertError(
      await show(t, 'absent/ann'),
      404,
      'not_found',
      'missing shows function absent on design doc _design/test',
    );
    assertError(await t.get('/_design/test/_show'), 404, 'show_error', 'Invalid path.');
    assertError(await t.get('/_design/none/_show/hello'), 404, 'not_found', 'missing');
  }),

  test('a show function sees the request', async (t) => {
    await fill(t);
    const headers = { 'x-colour': 'blue', 'content-type': 'application/x-www-form-urlencoded' };
    const path = '/_design/test/_show/request/ann?x=1&key=[2]';
    const answer = await t.at('POST', path, { headers, body: 'one=1&two=a+b%21' });
    const request = answer.json;
    assert.deepInclude(request, {
      id: 'ann',
      method: 'POST',
      body: 'one=1&two=a+b%21',
      form: { one: '1', two: 'a b!' },
      query: { x: '1', key: [2] },
      userCtx: { db: t.db, name: null, roles: ['_admin'] },
      secObj: {},
    });
    assert.deepInclude(at(request, 'info'), { db_name: t.db, doc_count: 2 });
    assert.match(`${at(request, 'uuid')}`, /^[0-9a-f]{32}$/);
    assert.equal(at(request, 'headers', 'X-Colour'), 'blue');
    assert.deepEqual(at(request, 'path'), [t.db, '_design', 'test', '_show', 'request', 'ann']);
    assert.deepEqual(at(request, 'requested_path'), at(request, 'path'));
    assert.equal(at(request, 'raw_path'), `${t.basePath}/${t.db}${path}`);
    const bare = (await show(t, 'request')).json;
    assert.deepInclude(bare, { id: null, method: 'GET', body: 'undefined', form: {}, query: {} });
  }),

  test(
    'a show function sees the cookies parsed',
    async (t) => {
      await fill(t);
      const answer = await show(t, 'request', { cookie: 'a=1; b=two' });
      assert.deepInclude(answer.json, { cookie: { a: '1', b: 'two' } });
    },
    { needs: ['forbidden-headers'] },
  ),

  test('a show function sees its design document and modules', async (t) => {
    await fill(t);
    assert.equal((await show(t, 'self')).text, 'design shown');
  }),

  test('a show function answers every method, but changes nothing', async (t) => {
    await fill(t);
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'COPY', 'OPTIONS']) {
      const answer = await t.at(method, '/_design/test/_show/hello/ann');
      assert.deepEqual([answer.status, answer.text], [200, 'Hello Ann'], method);
    }
    const head = await t.at('HEAD', '/_design/test/_show/hello/ann');
    assert.deepEqual([head.status, head.bytes.length], [200, 0]);
    assert.deepInclude(await t.info(), { update_seq: 2 });
  }),
]);
