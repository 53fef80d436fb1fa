import { afterAll, describe, expect, test } from 'vitest';
import { createTestSandbox, openProgram } from './quickjs-files.ts';

const sandbox = createTestSandbox();
afterAll(() => sandbox.close());

const request = (accept?: string, more: object = {}) =>
  JSON.stringify({ id: null, query: {}, headers: accept === undefined ? {} : { Accept: accept }, ...more });

async function show(source: string, { document = 'null', asked = request() } = {}) {
  const { program } = await openProgram(sandbox, { greeting: 'Hi', shows: { s: source } });
  return program.show('s', document, asked);
}

describe('a show', () => {
  test.each([
    ['return "text"', { code: undefined, headers: {}, body: 'text' }],
    [
      'return {code: 201, headers: {"X-A": 1}, body: this.greeting}',
      { code: 201, headers: { 'X-A': '1' }, body: 'Hi' },
    ],
    [
      'return {json: {a: [1]}}',
      { code: undefined, headers: { 'Content-Type': 'application/json' }, body: '{"a":[1]}' },
    ],
    [
      'return {base64: "AQI="}',
      { code: undefined, headers: { 'Content-Type': 'application/binary' }, body: Uint8Array.of(1, 2) },
    ],
    [
      'return {json: 1, headers: {"content-type": "text/plain"}}',
      { code: undefined, headers: { 'content-type': 'text/plain' }, body: '1' },
    ],
    [
      'start({headers: {"X-B": "b"}}); send("one "); send(2); return " three"',
      { code: undefined, headers: { 'X-B': 'b' }, body: 'one 2 three' },
    ],
    ['return doc.title + req.query.x', { code: undefined, headers: {}, body: 'T5' }],
  ])('that does %s', async (body, expected) => {
    const asked = request(undefined, { query: { x: 5 } });
    expect(await show(`function (doc, req) { ${body} }`, { document: '{"title":"T"}', asked })).toEqual(expected);
  });

  test.each([
    ['return undefined', { code: 'render_error', reason: 'undefined response from show function' }],
    ['throw new Error("no")', { code: 'render_error', reason: 'function raised error: Error: no' }],
    [
      'throw ["error", "teapot", "short and stout"]',
      { code: 'function_error', word: 'teapot', reason: 'short and stout' },
    ],
    ['throw {forbidden: "no"}', { code: 'forbidden', reason: 'no' }],
    ['return {code: 99}', { code: 'render_error' }],
    ['return {headers: {"X\\r\\nY": "1"}}', { code: 'render_error' }],
    ['return {headers: {"X": "1\\r\\nSet-Cookie: a=b"}}', { code: 'render_error' }],
    ['getRow.call(null); emit(1)', { code: 'render_error' }],
  ])('that does %s fails', async (body, expected) => {
    await expect(show(`function () { ${body} }`)).rejects.toMatchObject(expected);
  });

  test.each(['return undefined', 'throw new Error("no")', 'return doc.x.y'])(
    'of a document that is not there: %s',
    async (body) => {
      const asked = request(undefined, { id: 'missing' });
      await expect(show(`function (doc) { ${body} }`, { asked })).rejects.toMatchObject({
        code: 'not_found',
        reason: 'document not found',
      });
    },
  );

  test('keeps nothing for the next request', async () => {
    const { program } = await openProgram(sandbox, {
      shows: { s: 'function () { send("x"); registerType("own", "a/b"); return ""; }' },
    });
    expect((await program.show('s', 'null', request())).body).toBe('x');
    expect((await program.show('s', 'null', request())).body).toBe('x');
  });
});

describe('provides', () => {
  const source = `function () {
    provides("html", function () { return "<html>"; });
    provides("json", function () { return {json: 1}; });
    registerType("own", "application/x-own");
    provides("own", function () { return {body: "own", headers: {"X-C": "c"}}; });
  }`;
  test.each([
    [undefined, 'text/html; charset=utf-8', '<html>'],
    ['*/*', 'text/html; charset=utf-8', '<html>'],
    ['application/json', 'application/json', '1'],
    ['text/html;q=0.5, text/x-json', 'text/x-json', '1'],
    ['application/x-own, application/json;q=0.9', 'application/x-own', 'own'],
    ['text/*', 'text/html; charset=utf-8', '<html>'],
    ['image/png, */*;q=0.1', 'text/html; charset=utf-8', '<html>'],
    ['text/html;q=0, */*', 'application/json', '1'],
  ])('for Accept: %s', async (accept, type, body) => {
    const response = await show(source, { asked: request(accept) });
    expect(response.headers['Content-Type']).toBe(type);
    expect(response.body).toBe(body);
  });

  test('takes ?format= first, and refuses what nothing fits', async () => {
    const asked = request('text/html', { query: { format: 'own' } });
    expect(await show(source, { asked })).toEqual({
      code: undefined,
      headers: { 'X-C': 'c', 'Content-Type': 'application/x-own' },
      body: 'own',
    });
    await expect(show(source, { asked: request('image/png') })).rejects.toMatchObject({ code: 'not_acceptable' });
    await expect(show(source, { asked: request('text/html', { query: { format: 'csv' } }) })).rejects.toMatchObject({
      code: 'not_acceptable',
    });
  });
});

describe('an update', () => {
  const update = async (body: string, document = 'null') => {
    const { program } = await openProgram(sandbox, { updates: { u: `function (doc, req) { ${body} }` } });
    return program.update('u', document, request());
  };

  test('gives the document to save, and an answer', async () => {
    expect(await update('doc.n++; return [doc, "ok"];', '{"_id":"a","n":1}')).toEqual({
      document: '{"_id":"a","n":2}',
      response: { code: undefined, headers: {}, body: 'ok' },
    });
    expect(await update('return [null, {code: 202, json: {a: 1}}];')).toEqual({
      document: undefined,
      response: { code: 202, headers: { 'Content-Type': 'application/json' }, body: '{"a":1}' },
    });
  });

  test('without an answer fails', async () => {
    const expected = { code: 'render_error', reason: 'undefined response from update function' };
    await expect(update('return [doc];')).rejects.toMatchObject(expected);
    await expect(update('')).rejects.toMatchObject(expected);
  });
});

describe('a list', () => {
  const list = async (source: string, batches: readonly string[], accept?: string) => {
    const { program } = await openProgram(sandbox, { lists: { l: source } });
    const waiting = [...batches];
    return program.list('l', '{"total_rows":3,"offset":0}', request(accept), { next: () => waiting.shift() });
  };
  const batches = ['[{"id":"a","key":1},{"id":"b","key":2}]', '[{"id":"c","key":3}]'];

  test('gets its rows one by one, over all batches', async () => {
    const source = `function (head, req) {
      start({code: 203, headers: {"Content-Type": "text/csv"}});
      send(head.total_rows + "\\n");
      var row;
      while (row = getRow()) send(row.id + "," + row.key + "\\n");
      return "end" + getRow();
    }`;
    const { code, headers, chunks } = await list(source, batches);
    expect(code).toBe(203);
    expect(headers).toEqual({ 'Content-Type': 'text/csv' });
    expect(chunks.join('')).toBe('3\na,1\nb,2\nc,3\nendnull');
  });

  test('may stop early, or send nothing', async () => {
    expect((await list('function () { return getRow().id; }', batches)).chunks.join('')).toBe('a');
    expect((await list('function () { getRow(); }', [])).chunks).toEqual([]);
  });

  test('may provide types', async () => {
    const source = `function () {
      provides("html", function () { var row, all = ""; while (row = getRow()) all += "<li>" + row.id; return all; });
      provides("text", function () { send("plain"); });
    }`;
    const html = await list(source, batches, 'text/html');
    expect(html.headers).toEqual({ 'Content-Type': 'text/html; charset=utf-8' });
    expect(html.chunks.join('')).toBe('<li>a<li>b<li>c');
    expect((await list(source, batches, 'text/plain')).chunks.join('')).toBe('plain');
  });

  test('that throws fails', async () => {
    await expect(list('function () { getRow(); throw new Error("no"); }', batches)).rejects.toMatchObject({
      code: 'render_error',
    });
  });

  test('of more than the bound is refused', async () => {
    let asked = 0;
    const { program } = await openProgram(sandbox, { lists: { l: 'function () {}' } });
    const rows = { next: () => (asked++ < 100 ? `["${'x'.repeat(1024 * 1024)}"]` : undefined) };
    await expect(program.list('l', '{}', request(), rows)).rejects.toMatchObject({ code: 'too_large' });
    expect(asked).toBeLessThan(70);
  });

  test('that sends more than the bound is refused, and the next one works', async () => {
    const source = 'function () { for (;;) { try { if (!getRow()) return; } catch (e) {} send("x".repeat(1e6)); } }';
    await expect(
      list(
        source,
        Array.from({ length: 100 }, () => '[1]'),
      ),
    ).rejects.toMatchObject({ code: 'too_large' });
    expect((await list('function () { return "y"; }', [])).chunks).toEqual(['y']);
  });
});
