import { assert } from 'chai';
import { type Answer, assertError } from '../../support/conformance/answer.ts';
import { gzip } from '../../support/conformance/gzip.ts';
import { arrayAt, at, numberAt } from '../../support/conformance/json.ts';
import { type Case, ofCore, suite, test } from '../../support/conformance/suite.ts';
import type { RequestOptions, Toolkit } from '../../support/conformance/toolkit.ts';

const LIMIT = 1_000;
const SETTINGS = { svc: { max_document_size: `${LIMIT}` } };
const REASON =
  'the request entity is too large: its JSON may have 1000 bytes (svc/max_document_size); nothing was changed. ' +
  'Keep large data in attachments, or send fewer documents at a time.';

/** A document whose JSON text has so many bytes. */
function textOf(bytes: number, members: Readonly<Record<string, unknown>> = {}): string {
  const empty = JSON.stringify({ ...members, text: '' });
  return JSON.stringify({ ...members, text: 'x'.repeat(bytes - empty.length) });
}

const JSON_TYPE = { 'content-type': 'application/json' };

function asJson(body: string): RequestOptions {
  return { body, headers: JSON_TYPE };
}

function related(document: string): RequestOptions {
  const body = `--b\r\ncontent-type: application/json\r\n\r\n${document}\r\n--b\r\n\r\nhello\r\n--b--`;
  return { body, headers: { 'content-type': 'multipart/related; boundary=b' } };
}

function form(t: Toolkit, document: string): RequestOptions {
  const body = `--b\r\ncontent-disposition: form-data; name="_doc"\r\n\r\n${document}\r\n--b--`;
  return { body, headers: { 'content-type': 'multipart/form-data; boundary=b', referer: `${t.baseUrl}/` } };
}

function bulk(bytes: number, members = ''): string {
  const docs = ['a', 'b', 'c', 'd'].map((_id) => textOf(200, { _id, _rev: members === '' ? undefined : '1-a' }));
  const filled = `{"docs":[${docs.join(',')}]${members},"note":""}`;
  return filled.replace('"note":""', `"note":"${'x'.repeat(bytes - filled.length)}"`);
}

type Send = (t: Toolkit, bytes: number) => Promise<Answer>;

/** Whatever way the JSON comes, with how many bytes it is to have. */
const WAYS: Readonly<Record<string, Send>> = {
  'a document': (t, bytes) => t.at('PUT', '/doc', asJson(textOf(bytes))),
  'a document without an id': (t, bytes) => t.at('POST', '', asJson(textOf(bytes))),
  'a replicated document': (t, bytes) => t.at('PUT', '/doc?new_edits=false', asJson(textOf(bytes, { _rev: '1-a' }))),
  'a local document': (t, bytes) => t.at('PUT', '/_local/doc', asJson(textOf(bytes))),
  'a design document': (t, bytes) => t.at('PUT', '/_design/doc', asJson(textOf(bytes))),
  'small documents of a bulk, all together': (t, bytes) => t.at('POST', '/_bulk_docs', asJson(bulk(bytes))),
  'replicated ones': (t, bytes) => t.at('POST', '/_bulk_docs', asJson(bulk(bytes, ',"new_edits":false'))),
  'content inside a document': (t, bytes) =>
    t.at('PUT', '/doc', asJson(textOf(bytes, { _attachments: { a: { data: 'aGVsbG8=' } } }))),
  'the document of a multipart body': (t, bytes) =>
    t.at('PUT', '/doc', related(textOf(bytes, { _attachments: { a: { follows: true } } }))),
  'the document of a form': (t, bytes) => t.at('POST', '/doc', form(t, textOf(bytes))),
  'a compressed document, by what comes out': async (t, bytes) =>
    t.at('PUT', '/doc', { body: await gzip(textOf(bytes)), headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } }),
};

type ShortBody = readonly [method: string, path: string, value: string, most: number];

/** Bodies that are short by their nature: method, path (below the database with `.`), value, bytes at most (docs/limits.md#bodies-of-requests). */
const SHORT_BODIES: readonly ShortBody[] = [
  ['POST', '/_session', '{"name":"nobody","password":"x"}', 65_536],
  ['PUT', '/_config/uuids/max_count', '"900"', 65_536],
  ['POST', '/_log', '{"level":"debug","message":"x"}', 524_288],
  ['PUT', './_revs_limit', '900', 1_024],
  ['PUT', './_security', '{}', 2_097_152],
  ['POST', '/_dbs_info', '{"keys":[]}', 1_048_576],
  ['POST', './_find', '{"selector":{}}', 4_194_304],
  ['POST', './_explain', '{"selector":{}}', 4_194_304],
  ['POST', './_index', '{"index":{"fields":["a"]}}', 4_194_304],
  ['POST', './_changes?filter=_selector', '{"selector":{}}', 4_194_304],
  ['POST', '/_replicate', '{"source":"absent-a","target":"absent-b"}', 4_194_304],
];

function boundOf([method, path, value, most]: ShortBody): Case {
  return test(
    `${method} ${path} takes ${most} bytes at most`,
    async (given) => {
      const t = await given.withSettings({});
      const send = (text: string) => {
        return path.startsWith('.') ? t.at(method, path.slice(1), asJson(text)) : t.request(method, path, asJson(text));
      };
      const refused = await send(value.padEnd(most + 1));
      assert.deepEqual([refused.status, at(refused.json, 'error')], [413, 'too_large']);
      assert.include(`${at(refused.json, 'reason')}`, `may have ${most} bytes; nothing was changed. `);
      assert.notEqual((await send(value.padEnd(most))).status, 413);
    },
    { needs: ['settings'] },
  );
}

/** One bound of megabytes shows that a host passes such a body on. */
const isLarge = ([, path, , most]: ShortBody) => most > 1_000_000 && path !== './_find';

/** `svc/max_document_size` (docs/http/requests.md#size-of-bodies), and what is shorter. */
export default suite('document_size', [
  ...Object.entries(WAYS).map(([what, send]) =>
    test(
      `the document size limit applies to ${what}`,
      async (given) => {
        const t = await given.withSettings(SETTINGS);
        for (const bytes of [LIMIT + 1, 50 * LIMIT, 1_000 * LIMIT]) {
          assertError(await send(t, bytes), 413, 'too_large', REASON);
        }
        assert.deepInclude(await t.info(), { doc_count: 0, update_seq: 0 });
        assert.equal((await t.get('/_local/doc')).status, 404);
        const taken = await send(t, LIMIT);
        assert.equal(taken.status, 201, taken.text);
      },
      // Forms have a `Referer`, which `fetch` keeps to itself.
      { needs: what.includes('form') ? ['settings', 'forbidden-headers'] : ['settings'] },
    ),
  ),

  test(
    "the document size limit doesn't count attachments, alone or with a document",
    async (given) => {
      const t = await given.withSettings(SETTINGS);
      const body = 'x'.repeat(50 * LIMIT);
      assert.equal((await t.at('PUT', '/alone/a', { body, headers: { 'content-type': 'x/y' } })).status, 201);
      const options = related('{"_attachments":{"a":{"follows":true}}}');
      const large = { ...options, body: String(options.body).replace('hello', body) };
      assert.equal((await t.at('PUT', '/doc', large)).status, 201);
      assert.equal((await t.get('/doc/a')).text, body);
    },
    { needs: ['settings'] },
  ),

  ...SHORT_BODIES.filter((body) => !isLarge(body)).map(boundOf),
  ...ofCore(SHORT_BODIES.filter(isLarge).map(boundOf)),

  test('a log-in form has the same limit', async (t) => {
    const form = {
      body: `name=a&password=${'x'.repeat(65_536)}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    };
    const answer = await t.request('POST', '/_session', form);
    assert.deepEqual([answer.status, at(answer.json, 'error')], [413, 'too_large']);
  }),

  test(
    'a document larger than a later limit can be read and copied, and replications skip it by name',
    async (given) => {
      const t = await given.withSettings({});
      await t.put('small', {});
      await t.put('large', { text: 'x'.repeat(5_000) });
      const target = `${t.db}-target`;
      await t.createDatabase(target);
      const set = await t.request('PUT', '/_config/svc/max_document_size', asJson('"1000"'));
      assert.equal(set.status, 200, set.text);
      assert.equal((await t.get('/large')).status, 200);
      assert.equal((await t.at('COPY', '/large', { headers: { destination: 'copy' } })).status, 201);
      const { status, json, text } = await t.request('POST', '/_replicate', { json: { source: t.db, target } });
      assert.equal(status, 200, text);
      assert.equal(numberAt(json, 'docs_written'), 1);
      const refused = arrayAt(json, 'history', 0, 'refused').map((one) => [at(one, 'id'), at(one, 'error')]);
      assert.sameDeepMembers(refused, [
        ['copy', 'too_large'],
        ['large', 'too_large'],
      ]);
    },
    { needs: ['settings'] },
  ),

  test(
    'a document over the limit is answered 413, also to a client that reads only after sending everything',
    async (given) => {
      const t = await given.withSettings(SETTINGS);
      const body = textOf(8_000_000);
      const head = `PUT /${t.db}/doc HTTP/1.1\r\nHost: ${new URL(t.baseUrl).host}\r\nConnection: close\r\n`;
      const chunked = `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
      for (const rest of [`Content-Length: ${body.length}\r\n\r\n${body}`, chunked]) {
        const bytes = await t.host.sendRaw?.(new TextEncoder().encode(head + rest));
        const answer = new TextDecoder().decode(bytes);
        assert.match(answer, /^HTTP\/1\.1 413 /);
        assert.include(answer, REASON);
      }
    },
    { needs: ['settings', 'raw-socket'] },
  ),

  test(
    'the lowest limit still lets users log in and the setting be changed',
    async (given) => {
      const t = await given.withSettings({});
      const path = '/_config/svc/max_document_size';
      assert.equal((await t.request('PUT', path, asJson('"20"'))).status, 200);
      const json = { name: 'nobody at all', password: 'of more than twenty bytes' };
      const reason = 'Name or password is incorrect.';
      assertError(await t.request('POST', '/_session', { json }), 401, 'unauthorized', reason);
      assert.equal((await t.request('PUT', path, asJson('"67108864"'.padEnd(40)))).status, 200);
    },
    { needs: ['settings'] },
  ),

  test(
    'a body over the limit of requests is refused, whatever is in it',
    async (given) => {
      const t = await given.withSettings({ chttpd: { max_http_request_size: '70000' } });
      const reason =
        'the request entity is too large: a body may have 70000 bytes (httpd/max_http_request_size); nothing was changed.';
      const headers = { 'content-type': 'application/octet-stream' };
      const put = (bytes: number) => t.at('PUT', '/doc/file', { headers, body: 'x'.repeat(bytes) });
      assertError(await put(70_001), 413, 'too_large', reason);
      assertError(await t.at('PUT', '/other', asJson(textOf(70_001))), 413, 'too_large', reason);
      assertError(await t.at('GET', '/doc'), 404, 'not_found', 'missing');
      assert.equal((await put(70_000)).status, 201);
    },
    { needs: ['settings'] },
  ),
]);
