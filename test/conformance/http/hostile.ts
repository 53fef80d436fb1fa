import { assert } from 'chai';
import { assertError, assertJson, assertWritten } from '../../support/conformance/answer.ts';
import type { BrokenBody } from '../../support/conformance/host.ts';
import { at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

const encoder = new TextEncoder();

/** Bytes of ASCII text around bytes that are given as they are. */
function bytesOf(before: string, raw: readonly number[], after: string): Uint8Array {
  return new Uint8Array([...encoder.encode(before), ...raw, ...encoder.encode(after)]);
}

/** What a connection answers to text that is sent as it is. */
async function sendText(t: Toolkit, text: string): Promise<string> {
  const answer = await t.host.sendRaw?.(encoder.encode(text));
  return new TextDecoder().decode(answer);
}

/** Nothing was written, and the service still works. */
async function assertUntouched(t: Toolkit): Promise<void> {
  assert.deepInclude(await t.info(), { doc_count: 0, doc_del_count: 0, update_seq: 0 });
  assert.equal((await t.at('PUT', '/proof', { json: {} })).status, 201);
}

const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__'];

/** Input that is out to break something. It is refused, or kept as it is; nothing else is harmed. */
export default suite('hostile', [
  ...[
    { what: 'a lone continuation byte', raw: [0x80] },
    { what: 'a truncated sequence', raw: [0xe2, 0x82] },
    { what: 'an overlong slash', raw: [0xc0, 0xaf] },
    { what: 'an encoded surrogate', raw: [0xed, 0xa0, 0x80] },
    { what: 'a byte that UTF-8 never has', raw: [0xff] },
  ].map(({ what, raw }) =>
    test(`a body with ${what} is refused as invalid JSON`, async (t) => {
      const body = bytesOf('{"text":"', raw, '"}');
      assertError(await t.at('PUT', '/doc', { body }), 400, 'bad_request', 'invalid_json');
      const bulk = bytesOf('{"docs":[{"_id":"doc","text":"', raw, '"}]}');
      const headers = { 'content-type': 'application/json' };
      assertError(await t.at('POST', '/_bulk_docs', { body: bulk, headers }), 400, 'bad_request', 'invalid_json');
      await assertUntouched(t);
    }),
  ),

  test('a lone surrogate, escaped, is refused', async (t) => {
    const answer = await t.at('PUT', '/doc', { body: '{"text":"\\ud800"}' });
    assert.deepEqual([answer.status, at(answer.json, 'error')], [400, 'bad_request']);
    await assertUntouched(t);
  }),

  test('names of built-in properties of JavaScript are members like others', async (t) => {
    const plain = names.filter((name) => !name.startsWith('_'));
    const outer = plain.map((name) => `"${name}":{"polluted":true}`).join(',');
    const inner = names.map((name) => `"${name}":{"polluted":true}`).join(',');
    const members = `${outer},"inner":{${inner}}`;
    const rev = assertWritten(await t.at('PUT', '/doc', { body: `{${members}}` }), 201, 'doc');
    assert.equal((await t.get('/doc')).text, `{"_id":"doc","_rev":"${rev}",${members}}\n`);
    assert.isUndefined(at({}, 'polluted'));
  }),

  test('__proto__ begins with an underscore, so it is no member of a document', async (t) => {
    const reason = 'Bad special document member: __proto__';
    const body = '{"__proto__":{"_rev":"1-a","_deleted":true}}';
    assertError(await t.at('PUT', '/doc', { body }), 400, 'doc_validation', reason);
    const headers = { 'content-type': 'application/json' };
    const bulk = await t.at('POST', '/_bulk_docs', { body: `{"docs":[${body}]}`, headers });
    assertError(bulk, 400, 'doc_validation', reason);
    const wrapped = await t.at('POST', '/_bulk_docs', { body: '{"__proto__":{"docs":[{}]}}', headers });
    assertError(wrapped, 400, 'bad_request', "Missing JSON list of 'docs'");
    await assertUntouched(t);
  }),

  ...['constructor', 'toString', 'hasOwnProperty', 'valueOf'].map((id) =>
    test(`${id} is an id like others`, async (t) => {
      assertError(await t.get(`/${id}`), 404, 'not_found', 'missing');
      const rev = assertWritten(await t.at('PUT', `/${id}`, { json: { n: 1 } }), 201, id);
      assertJson(await t.get(`/${id}`), 200, { _id: id, _rev: rev, n: 1 });
      const asked = { [id]: [rev, `1-${'0'.repeat(32)}`] };
      const diff = await t.at('POST', '/_revs_diff', { json: asked });
      assertJson(diff, 200, { [id]: { missing: [`1-${'0'.repeat(32)}`] } });
      assertJson(await t.at('POST', '/_purge', { json: { [id]: [rev] } }), 200, {
        purge_seq: 1,
        purged: { [id]: [rev] },
      });
    }),
  ),

  test('__proto__ works as an id in _revs_diff, _missing_revs and _bulk_get', async (t) => {
    const headers = { 'content-type': 'application/json' };
    const body = '{"__proto__":["1-a"]}';
    const diff = await t.at('POST', '/_revs_diff', { body, headers });
    assert.equal(diff.text, '{"__proto__":{"missing":["1-a"]}}\n');
    const missing = await t.at('POST', '/_missing_revs', { body, headers });
    assert.equal(missing.text, '{"missing_revs":{"__proto__":["1-a"]}}\n');
    const purged = await t.at('POST', '/_purge', { body, headers });
    assert.equal(purged.status, 200);
    assert.deepInclude(purged.json, { purged: {} });
    await assertUntouched(t);
  }),

  test('names of built-in properties of JavaScript work as paths and database names', async (t) => {
    for (const name of ['/constructor', '/__proto__', '/toString', '/_toString', '/_constructor']) {
      assert.include([400, 404], (await t.request('GET', name)).status, name);
      assert.include([400, 404, 405], (await t.at('GET', name)).status, name);
    }
    await t.createDatabase('constructor');
    assert.deepInclude((await t.request('GET', '/constructor')).json, { db_name: 'constructor' });
  }),

  test('10,000 levels of nesting are refused or stored, and never a crash', async (t) => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const deep = `${open.repeat(10_000)}1${close.repeat(10_000)}`;
      const answer = await t.at('PUT', '/doc', { body: `{"deep":${deep}}` });
      if (answer.status === 201) {
        const rev = stringAt(answer.json, 'rev');
        assert.isTrue((await t.get('/doc')).text === `{"_id":"doc","_rev":"${rev}","deep":${deep}}\n`);
        await t.delete('doc', rev);
      } else {
        assert.include([400, 413], answer.status);
      }
    }
    assert.equal((await t.at('PUT', '/proof', { json: {} })).status, 201);
  }),

  test('of a member that occurs twice the same one counts for the stored body and for the service', async (t) => {
    const answer = await t.at('PUT', '/doc', { body: '{"a":1,"a":2}' });
    assert.equal(answer.status, 201);
    assert.equal(at((await t.get('/doc')).json, 'a'), 2);
    const special = await t.at('POST', '', {
      body: '{"_id":"one","_id":"two"}',
      headers: { 'content-type': 'application/json' },
    });
    if (special.status === 201) {
      const id = stringAt(special.json, 'id');
      assert.equal(stringAt((await t.get(`/${id}`)).json, '_id'), id);
    } else {
      assert.equal(special.status, 400);
    }
  }),

  test('special members are recognized in any spelling', async (t) => {
    const hidden = await t.at('PUT', '/doc', { body: '{"\\u005fzing":1}' });
    assertError(hidden, 400, 'doc_validation', 'Bad special document member: _zing');
    const headers = { 'content-type': 'application/json' };
    const named = await t.at('POST', '', { body: '{"\\u005f\\u0069d":"escaped","n":1}', headers });
    assertWritten(named, 201, 'escaped');
    assert.hasAllKeys((await t.get('/escaped')).json, ['_id', '_rev', 'n']);
  }),

  test(
    'a body that breaks off leaves nothing in the database',
    async (t) => {
      const sent = encoder.encode('{"docs":[{"_id":"one"},{"_id":"two"}');
      const body: BrokenBody = { bytes: sent, announced: 1000 };
      const headers = { 'content-type': 'application/json' };
      const outcome = await Promise.allSettled([t.at('POST', '/_bulk_docs', { body, headers })]);
      if (outcome[0]?.status === 'fulfilled') assert.isAtLeast(outcome[0].value.status, 400);
      await assertUntouched(t);
    },
    { needs: ['broken-body'] },
  ),

  test(
    'a body that breaks off where it happens to be complete JSON leaves nothing in the database',
    async (t) => {
      const body: BrokenBody = { bytes: encoder.encode('{"n":1}'), announced: 1000 };
      const outcome = await Promise.allSettled([t.at('PUT', '/doc', { body })]);
      if (outcome[0]?.status === 'fulfilled') assert.isAtLeast(outcome[0].value.status, 400);
      await assertUntouched(t);
    },
    { needs: ['broken-body'] },
  ),

  test(
    'a path longer than the limit is refused',
    async (t) => {
      const small = await t.withSettings({ httpd: { max_uri_length: '200' } });
      const answer = await small.get(`/${'x'.repeat(200)}`);
      assertError(answer, 414, 'too_long', 'the request entity is too long');
      assert.equal((await small.get('/short')).status, 404);
    },
    { needs: ['settings'] },
  ),

  test('a generation too high for further edits is not accepted', async (t) => {
    const rev = (generation: number) => `${generation}-${'a'.repeat(32)}`;
    const [most, far] = [rev(4_503_599_627_370_496), rev(4_503_599_627_370_497)];
    const reason =
      "The revision's generation is greater than 4503599627370496, which leaves too few generations for later edits. Nothing was written for it.";
    for (const _rev of [far, rev(Number.MAX_SAFE_INTEGER)]) {
      assertError(await t.at('PUT', '/doc?new_edits=false', { json: { _rev } }), 400, 'bad_request', reason);
      const json = {
        new_edits: false,
        docs: [
          { _id: 'doc', _rev },
          { _id: 'other', _rev: '1-a' },
        ],
      };
      assertJson(await t.at('POST', '/_bulk_docs', { json }), 201, [
        { id: 'doc', rev: _rev, error: 'bad_request', reason },
      ]);
    }
    assert.equal((await t.at('GET', '/doc')).status, 404);
    assert.equal((await t.at('PUT', '/doc?new_edits=false', { json: { _rev: most } })).status, 201);
    const next = await t.at('PUT', '/doc', { json: { _rev: most, n: 1 } });
    assert.match(stringAt(next.json, 'rev'), /^4503599627370497-/);
    assert.equal((await t.at('DELETE', `/doc?rev=${stringAt(next.json, 'rev')}`)).status, 200);
  }),

  test('percent signs that encode nothing are harmless', async (t) => {
    for (const path of ['/%', '/%z', '/%zz', '/a%2', '/%u0041']) {
      assert.include([400, 404], (await t.get(path)).status, path);
      assert.isBelow((await t.at('PUT', path, { json: {} })).status, 500, path);
    }
    assert.include([400, 404], (await t.request('GET', '/%FF')).status);
  }),

  test(
    'a path with .. leads nowhere',
    async (t) => {
      const climb = ['/../../etc/passwd', '/..%2f..%2fetc%2fpasswd', `/${t.db}/../../x`, '/.%00'];
      for (const path of climb) assert.include([400, 404, 501], (await t.request('GET', path)).status, path);
    },
    { needs: ['any-url'] },
  ),

  test(
    "input that isn't HTTP is answered 400, or the connection is closed",
    async (t) => {
      for (const text of ['\r\n\r\n\r\n', 'GET\r\n\r\n', 'NONSENSE / HTTP/9.9\r\n\r\n', '\u0000\u0001\u0002']) {
        assert.match(await sendText(t, text), /^($|HTTP\/1\.1 400 )/);
      }
      assert.equal((await t.get('')).status, 200);
    },
    { needs: ['raw-socket'] },
  ),

  test(
    'a request of HTTP/1.1 without a Host is refused',
    async (t) => {
      assert.match(await sendText(t, 'GET / HTTP/1.1\r\n\r\n'), /^HTTP\/1\.1 400 /);
      assert.match(await sendText(t, 'GET /_up HTTP/1.1\r\nHost: localhost\r\n\r\n'), /^HTTP\/1\.1 200 /);
    },
    { needs: ['raw-socket'] },
  ),
]);
