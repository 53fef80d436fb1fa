import { assert } from 'chai';
import { assertError } from '../../support/conformance/answer.ts';
import { gzip } from '../../support/conformance/gzip.ts';
import { at, parseJson, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

const encoder = new TextEncoder();

function join(...pieces: readonly (string | Uint8Array)[]): Uint8Array {
  const bytes = pieces.map((piece) => (typeof piece === 'string' ? encoder.encode(piece) : piece));
  const joined = new Uint8Array(bytes.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const piece of bytes) {
    joined.set(piece, offset);
    offset += piece.length;
  }
  return joined;
}

function related(document: unknown, ...parts: readonly (string | Uint8Array)[]): Uint8Array {
  const first = `--b\r\nContent-Type: application/json\r\n\r\n${JSON.stringify(document)}`;
  return join(first, ...parts.flatMap((part) => ['\r\n--b\r\n', part]), '\r\n--b--');
}

function put(t: Toolkit, path: string, body: Uint8Array, type = 'multipart/related; boundary="b"') {
  return t.at('PUT', path, { body, headers: { 'content-type': type } });
}

const follows = (length: number, more: object = {}) => ({ follows: true, content_type: 'x/y', length, ...more });

/** Documents with their attachments behind them (docs/http/attachments.md#multipart-uploads). */
export default suite('attachments_multipart', [
  test('parts are matched to attachments by their order', async (t) => {
    const document = { n: 1, _attachments: { one: follows(5), two: follows(3) } };
    const answer = await put(t, '/doc', related(document, '\r\nhello', 'X-Unknown: header\r\n\r\nabc'));
    assert.equal(answer.status, 201, answer.text);
    assert.equal((await t.get('/doc/one')).text, 'hello');
    assert.equal((await t.get('/doc/two')).text, 'abc');
    const stub = at((await t.get('/doc')).json, '_attachments', 'one');
    assert.deepInclude(stub, { content_type: 'x/y', length: 5, revpos: 1, stub: true });
  }),

  test('parts are matched by order also if names look like numbers, which JSON objects reorder', async (t) => {
    const entries = `"2":${JSON.stringify(follows(3))},"1":${JSON.stringify(follows(3))}`;
    const first = `--b\r\n\r\n{"_attachments": {${entries}}}`;
    const answer = await put(t, '/doc', join(first, '\r\n--b\r\n\r\ntwo\r\n--b\r\n\r\none\r\n--b--'));
    assert.equal(answer.status, 201, answer.text);
    assert.equal((await t.get('/doc/2')).text, 'two');
    assert.equal((await t.get('/doc/1')).text, 'one');
  }),

  test('parts are matched to attachments by their file names', async (t) => {
    const document = { _attachments: { 'a b.txt': follows(5), c: follows(3) } };
    const parts = [
      'Content-Disposition: attachment; filename="c"\r\n\r\nabc',
      'content-disposition: attachment; filename="a b.txt"\r\n\r\nhello',
    ];
    const answer = await put(
      t,
      '/doc',
      related(document, ...parts),
      'multipart/related; type="application/json"; boundary=b',
    );
    assert.equal(answer.status, 201, answer.text);
    assert.equal((await t.get('/doc/a%20b.txt')).text, 'hello');
    assert.equal((await t.get('/doc/c')).text, 'abc');
  }),

  test('a file name with unescaped quotes is ignored', async (t) => {
    const document = { _attachments: { 'a"b': follows(3), a: follows(3) } };
    const parts = [
      'Content-Disposition: attachment; filename="a"b"\r\n\r\none',
      'Content-Disposition: attachment; filename="a"\r\n\r\ntwo',
    ];
    assert.equal((await put(t, '/doc', related(document, ...parts))).status, 201);
    assert.equal((await t.get('/doc/a%22b')).text, 'one');
    assert.equal((await t.get('/doc/a')).text, 'two');
  }),

  test('parts can be mixed with inline content and stubs', async (t) => {
    const rev = await t.put('doc', { _attachments: { kept: { data: 'eA==' } } });
    const _attachments = { kept: { stub: true }, inline: { data: 'eQ==' }, followed: follows(1) };
    assert.equal((await put(t, '/doc', related({ _rev: rev, _attachments }, '\r\nz'))).status, 201);
    assert.equal((await t.get('/doc/kept')).text, 'x');
    assert.equal((await t.get('/doc/inline')).text, 'y');
    assert.equal((await t.get('/doc/followed')).text, 'z');
  }),

  test('replicated parts in gzip are stored unchanged', async (t) => {
    const packed = await gzip('hello');
    const hash = 'a'.repeat(32);
    const entry = follows(5, { revpos: 1, encoding: 'gzip', encoded_length: packed.length });
    const document = {
      _rev: `2-${hash}`,
      _revisions: { start: 2, ids: [hash, 'b'.repeat(32)] },
      _attachments: { a: entry },
    };
    const answer = await put(t, '/doc?new_edits=false', related(document, join('\r\n', packed)));
    assert.equal(answer.status, 201, answer.text);
    assert.equal(stringAt(answer.json, 'rev'), `2-${hash}`);
    assert.deepInclude(at((await t.get('/doc')).json, '_attachments', 'a'), { revpos: 1, length: 5 });
    assert.equal((await t.get('/doc/a', { 'accept-encoding': 'identity' })).text, 'hello');
  }),

  test('content can look like a boundary', async (t) => {
    const tricky = '\r\n--\r\n--c\r\n-b--\r\n--';
    const answer = await put(t, '/doc', related({ _attachments: { a: follows(tricky.length) } }, `\r\n${tricky}`));
    assert.equal(answer.status, 201, answer.text);
    assert.equal((await t.get('/doc/a')).text, tricky);
  }),

  test('a body that differs from what it announces is refused, and nothing is stored', async (t) => {
    const refused = async (body: Uint8Array, reason: string) =>
      assertError(await put(t, '/doc', body), 400, 'bad_request', reason);
    const one = { _attachments: { a: follows(5) } };
    await refused(
      related(one, '\r\nhell'),
      'The attachment has 4 bytes, but its length was given as 5; nothing was changed.',
    );
    await refused(related(one), 'Attachment a should follow the document, but is missing; nothing was changed.');
    const cut = related(one, '\r\nhello').slice(0, -4);
    await refused(cut, 'The multipart body ended before its last boundary; nothing was changed.');
    const image = join('--b\r\nContent-Type: image/png\r\n\r\nx\r\n--b--');
    await refused(image, 'The first part must be the document, as application/json.');
    assert.deepInclude(await t.info(), { doc_count: 0, update_seq: 0 });
  }),

  test('the Content-MD5 of a part is checked', async (t) => {
    const one = { _attachments: { a: follows(5) } };
    for (const sum of ['XUFAKrxLKna5cZ2REBfFkQ==', 'nonsense']) {
      const answer = await put(t, '/doc', related(one, `Content-MD5: ${sum}\r\n\r\nhello`));
      assertError(answer, 400, 'content_md5_mismatch', 'Possible message corruption.');
    }
    assert.deepInclude(await t.info(), { doc_count: 0 });
    const right = related(one, 'Content-MD5: XUFAKrxLKna5cZ2REBfFkg==\r\n\r\nhello');
    assert.equal((await put(t, '/doc', right)).status, 201);
  }),

  test('a Content-Type without a boundary is refused', async (t) => {
    const answer = await put(t, '/doc', related({}), 'multipart/related');
    const reason = 'The Content-Type of a multipart body must name its boundary: multipart/related';
    assertError(answer, 400, 'bad_request', reason);
  }),

  test('a document is read with its attachments after it', async (t) => {
    const rev = await t.put('doc', {
      n: 1,
      _attachments: { 'a"b': { content_type: 'x/y', data: 'aGVsbG8=' }, z: { content_type: 'x/y', data: 'eA==' } },
    });
    const answer = await t.get('/doc?attachments=true', { accept: 'multipart/related' });
    assert.equal(answer.status, 200);
    const type = answer.header('content-type') ?? '';
    const boundary = /^multipart\/related; boundary="([^"]+)"$/.exec(type)?.[1];
    assert.isString(boundary, type);
    const [before, json, first, second, end] = answer.text.split(`--${boundary}`);
    assert.equal(before, '');
    assert.equal(end, '--');
    const document = parseJson((json ?? '').slice('\r\nContent-Type: application/json\r\n\r\n'.length));
    assert.deepInclude(document, { _id: 'doc', _rev: rev, n: 1 });
    const entry = at(document, '_attachments', 'a"b');
    assert.deepInclude(entry, { follows: true, content_type: 'x/y', revpos: 1, length: 5 });
    assert.notProperty(entry, 'data');
    const head = (name: string, length: number) =>
      `\r\nContent-Disposition: attachment; filename="${name}"\r\nContent-Type: x/y\r\nContent-Length: ${length}\r\n\r\n`;
    assert.equal(first, `${head('a\\"b', 5)}hello\r\n`);
    assert.equal(second, `${head('z', 1)}x\r\n`);
  }),

  test('a client that accepts only multipart gets attachments without asking for them', async (t) => {
    const rev = await t.put('doc', { n: 1, _attachments: { a: { content_type: 'x/y', data: 'aGVsbG8=' } } });
    await t.put('plain', { n: 1 });
    const read = async (path: string, accept: string) => (await t.get(path, { accept })).header('content-type') ?? '';
    for (const accept of [
      'multipart/related',
      'multipart/*',
      'Multipart/Related;q=0.5',
      'multipart/related, image/png',
    ]) {
      for (const query of ['', `?rev=${rev}`, '?revs=true', '?att_encoding_info=true']) {
        assert.match(await read(`/doc${query}`, accept), /^multipart\/related; boundary=/, `${accept} ${query}`);
      }
    }
    assert.include((await t.get('/doc', { accept: 'multipart/related' })).text, '\r\n\r\nhello\r\n');
    for (const accept of [
      '*/*',
      'multipart/related, application/json',
      'multipart/related, */*;q=0.1',
      'multipart/mixed',
    ]) {
      assert.match(await read('/doc', accept), /^(?:application\/json|text\/plain)/, accept);
    }
    assert.match(await read('/plain', 'multipart/related'), /^text\/plain/);
  }),

  test('a multipart body that was read can be written to another database unchanged', async (t) => {
    const text = 'the same again, '.repeat(100);
    await t.at('PUT', '/doc/a.txt', { body: text, headers: { 'content-type': 'text/plain' } });
    const read = await t.get('/doc?attachments=true&revs=true', { accept: 'multipart/related' });
    await t.createDatabase(`${t.db}-other`);
    const path = `/${encodeURIComponent(`${t.db}-other`)}/doc`;
    const headers = { 'content-type': read.header('content-type') ?? '' };
    const written = await t.request('PUT', `${path}?new_edits=false`, { body: read.bytes, headers });
    assert.equal(written.status, 201, written.text);
    const copy = await t.request('GET', `${path}/a.txt`, { headers: { 'accept-encoding': 'identity' } });
    assert.equal(copy.text, text);
    assert.deepEqual((await t.request('GET', path)).json, (await t.get('/doc')).json);
  }),

  test('a text and the gzip file of the same text can be written to another database unchanged', async (t) => {
    const text = 'the same again, '.repeat(100);
    const packed = await gzip(text);
    const _attachments = {
      text: follows(text.length, { encoding: 'gzip', encoded_length: packed.length }),
      file: follows(packed.length),
    };
    const sent = related({ _attachments }, join('\r\n', packed), join('\r\n', packed));
    assert.equal((await put(t, '/doc', sent)).status, 201);
    const read = await t.get('/doc?attachments=true&revs=true', { accept: 'multipart/related' });
    await t.createDatabase(`${t.db}-other`);
    const path = `/${encodeURIComponent(`${t.db}-other`)}/doc`;
    const headers = { 'content-type': read.header('content-type') ?? '' };
    const written = await t.request('PUT', `${path}?new_edits=false`, { body: read.bytes, headers });
    assert.equal(written.status, 201, written.text);
    const copy = (name: string) => t.request('GET', `${path}/${name}`, { headers: { 'accept-encoding': 'identity' } });
    assert.equal((await copy('text')).text, text);
    assert.deepEqual((await copy('file')).bytes, packed);
    assert.deepEqual((await t.request('GET', path)).json, (await t.get('/doc')).json);
  }),

  test('attachments that the reader already has stay stubs', async (t) => {
    const first = await t.put('doc', { _attachments: { a: { data: 'eA==' } } });
    await t.put('doc', { _rev: first, _attachments: { a: { stub: true }, b: { data: 'eQ==' } } });
    const since = encodeURIComponent(JSON.stringify([first]));
    const { text } = await t.get(`/doc?atts_since=${since}`, { accept: 'multipart/related' });
    assert.match(text, /"a":\{[^}]*"stub":true\}/);
    assert.match(text, /"b":\{[^}]*"follows":true\}/);
    assert.equal(text.split('Content-Disposition').length, 2);
  }),

  test('open revisions come with their attachments, each as a part with parts', async (t) => {
    const first = await t.put('doc', { n: 1, _attachments: { a: { content_type: 'x/y', data: 'aGVsbG8=' } } });
    const other = `1-${'f'.repeat(32)}`;
    await t.replicate([{ _id: 'doc', _rev: other, n: 2 }]);
    const unknown = `9-${'0'.repeat(32)}`;
    const asked = encodeURIComponent(JSON.stringify([first, other, unknown]));
    const answer = await t.get(`/doc?open_revs=${asked}&revs=true`, { accept: 'multipart/mixed' });
    assert.equal(answer.status, 200);
    const boundary = /^multipart\/mixed; boundary="([^"]+)"$/.exec(answer.header('content-type') ?? '')?.[1];
    const [before, withAttachment, plain, missing, end] = answer.text.split(`--${boundary}`);
    assert.equal(before, '');
    assert.equal(end, '--');
    const inner = /^\r\nContent-Type: multipart\/related; boundary="([^"]+)"\r\n\r\n--/.exec(withAttachment ?? '')?.[1];
    assert.isString(inner, withAttachment);
    const [, json, attachment, innerEnd] = (withAttachment ?? '').split(`--${inner}`);
    assert.include(json ?? '', '"follows":true');
    assert.match(attachment ?? '', /\r\n\r\nhello\r\n$/);
    assert.equal(innerEnd, '--\r\n');
    assert.match(plain ?? '', /^\r\nContent-Type: application\/json\r\n\r\n\{.*"n":2.*\}\r\n$/);
    assert.equal(missing, `\r\nContent-Type: application/json; error="true"\r\n\r\n{"missing":"${unknown}"}\r\n`);
  }),

  test('open revisions as JSON have inline content if attachments=true', async (t) => {
    const rev = await t.put('doc', { _attachments: { a: { content_type: 'x/y', data: 'aGVsbG8=' } } });
    const stubs = (await t.get('/doc?open_revs=all')).json;
    assert.deepInclude(at(stubs, 0, 'ok', '_attachments', 'a'), { stub: true, length: 5 });
    const inside = (await t.get('/doc?open_revs=all&attachments=true')).json;
    assert.deepInclude(at(inside, 0, 'ok'), { _id: 'doc', _rev: rev });
    assert.deepInclude(at(inside, 0, 'ok', '_attachments', 'a'), { data: 'aGVsbG8=', content_type: 'x/y' });
  }),

  test('bulk reads have inline content if attachments=true', async (t) => {
    const first = await t.put('a', { _attachments: { x: { content_type: 'x/y', data: 'aGVsbG8=' } } });
    const second = await t.put('a', { _rev: first, _attachments: { x: { stub: true }, z: { data: 'eA==' } } });
    await t.put('b', { n: 1 });
    const docs = [{ id: 'a' }, { id: 'a', atts_since: [first] }, { id: 'b' }, { id: 'none' }];
    const stubs = (await t.at('POST', '/_bulk_get', { json: { docs } })).json;
    assert.deepInclude(at(stubs, 'results', 0, 'docs', 0, 'ok', '_attachments', 'x'), { stub: true });
    const { json } = await t.at('POST', '/_bulk_get?attachments=true&revs=true', { json: { docs } });
    const document = (index: number) => at(json, 'results', index, 'docs', 0, 'ok');
    assert.deepInclude(document(0), { _id: 'a', _rev: second });
    assert.deepInclude(at(document(0), '_attachments', 'x'), { data: 'aGVsbG8=', revpos: 1 });
    assert.deepInclude(at(document(0), '_attachments', 'z'), { data: 'eA==', revpos: 2 });
    assert.deepInclude(at(document(1), '_attachments', 'x'), { stub: true, length: 5 });
    assert.deepInclude(at(document(1), '_attachments', 'z'), { data: 'eA==' });
    assert.deepInclude(document(2), { _id: 'b', n: 1 });
    assert.deepInclude(at(json, 'results', 3, 'docs', 0, 'error'), { id: 'none', error: 'not_found' });
    assert.equal(at(json, 'results', 3, 'id'), 'none');
  }),

  test('a multipart body that was read can be written elsewhere, whatever the attachment names', async (t) => {
    const names = ['a\r\nb', 'a b', '2', '1', 'a"b', 'a', 'a\\b', ' a', 'é/😀', 'constructor'];
    const entries = names.map((name, index) => `${JSON.stringify(name)}:{"data":"${btoa(`${index}`)}"}`);
    assert.equal((await t.at('PUT', '/doc', { body: `{"_attachments":{${entries.join(',')}}}` })).status, 201);
    const read = await t.get('/doc?attachments=true&revs=true', { accept: 'multipart/related' });
    const other = `${t.db}_other`;
    await t.createDatabase(other);
    const headers = { 'content-type': read.header('content-type') ?? '' };
    const put = await t.request('PUT', `/${other}/doc?new_edits=false`, { body: read.bytes, headers });
    assert.equal(put.status, 201, put.text);
    for (const [index, name] of names.entries()) {
      assert.equal((await t.request('GET', `/${other}/doc/${encodeURIComponent(name)}`)).text, `${index}`, name);
    }
  }),

  test('_bulk_get as multipart returns attachments after each document', async (t) => {
    const first = await t.put('a', { _attachments: { x: { content_type: 'x/y', data: 'aGVsbG8=' } } });
    await t.put('a', { _rev: first, _attachments: { x: { stub: true }, z: { content_type: 'x/y', data: 'eA==' } } });
    await t.put('b', { n: 1 });
    const docs = [{ id: 'a' }, { id: 'a', atts_since: [first] }, { id: 'b' }, { id: 'none' }];
    const headers = { accept: 'multipart/mixed' };
    const { text } = await t.at('POST', '/_bulk_get?attachments=true', { json: { docs }, headers });
    const inner = [...text.matchAll(/multipart\/related; boundary="(\w+)"/g)].map(([, boundary]) => boundary);
    assert.lengthOf(inner, 2);
    const [all = [], since = []] = inner.map((boundary) => text.split(`--${boundary}`).slice(1, -1));
    const shown = (parts: readonly string[]) => parts.slice(1).map((part) => part.split('\r\n\r\n')[1]);
    assert.deepEqual(shown(all), ['hello\r\n', 'x\r\n']);
    assert.deepEqual(shown(since), ['x\r\n']);
    const stub = at(parseJson(since[0]?.split('\r\n\r\n')[1] ?? ''), '_attachments', 'x');
    assert.deepInclude(stub, { stub: true, length: 5 });
    assert.match(text, /application\/json\r\n\r\n\{"_id":"b"/);
    assert.match(text, /error="true"\r\n\r\n\{"id":"none","rev":"undefined","error":"not_found"/);
  }),
]);
