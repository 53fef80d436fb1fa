import { describe, expect, test } from 'vitest';
import { openProgram } from './quickjs-files.ts';
import { request, useSandbox } from './rendering-programs.ts';

const sandbox = useSandbox();

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
    ['start({"X-B": "b"}); send("one "); return "two"', { code: undefined, headers: { 'X-B': 'b' }, body: 'one two' }],
    [
      'start({code: 203, "X-B": "b"}); send("x"); return {body: "y", headers: {"X-B": "c", "X-C": "d"}}',
      { code: 203, headers: { 'X-B': 'b', 'X-C': 'd' }, body: 'xy' },
    ],
    [
      'provides("text", function () { send("4, "); send("5, "); send("6, "); return "7!"; }); send("1, "); send("2, "); return "3, "',
      { code: undefined, headers: { 'Content-Type': 'text/plain; charset=utf-8' }, body: '1, 2, 3, 4, 5, 6, 7!' },
    ],
    [
      'provides("text", function () { start({"Content-Type": "text/x-own"}); send("a"); }); return {body: "b", code: 202}',
      { code: 202, headers: { 'Content-Type': 'text/x-own' }, body: 'ba' },
    ],
    ['send(""); return {json: 1}', { code: undefined, headers: { 'Content-Type': 'application/json' }, body: '1' }],
    ['return false', { code: undefined, headers: {}, body: '' }],
    ['return undefined', { code: undefined, headers: {}, body: '' }],
    ['return null', { code: undefined, headers: {}, body: '' }],
    ['provides("html", function () {}); return null', expect.objectContaining({ body: '' })],
    ['return doc.title + req.query.x', { code: undefined, headers: {}, body: 'T5' }],
  ])('that does %s returns the right response', async (body, expected) => {
    const asked = request(undefined, { query: { x: 5 } });
    expect(await show(`function (doc, req) { ${body} }`, { document: '{"title":"T"}', asked })).toEqual(expected);
  });

  test.each([
    ['return 5', { code: 'render_error', reason: 'undefined response from show function' }],
    ['return ["text"]', { code: 'render_error', reason: 'undefined response from show function' }],
    ['throw ["error", "forbidden", "no"]', { code: 'forbidden', reason: 'no' }],
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

  test.each(['throw new Error("no")', 'return doc.x.y'])('of a missing document: %s', async (body) => {
    const asked = request(undefined, { id: 'missing' });
    await expect(show(`function (doc) { ${body} }`, { asked })).rejects.toMatchObject({
      code: 'not_found',
      reason: 'document not found',
    });
  });

  test('of a missing document, without a result, is empty', async () => {
    expect(await show('function (doc) {}', { asked: request(undefined, { id: 'missing' }) })).toMatchObject({
      body: '',
    });
  });

  test('keeps no state for the next request', async () => {
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

  test('prefers ?format=, and refuses if nothing matches', async () => {
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

test('types that a module registers apply to each request that requires it', async () => {
  const { program } = await openProgram(sandbox, {
    lib: {
      types:
        'registerType("geo", "application/vnd.geo"); exports.give = function () { provides("geo", function () { return "geo"; }); };',
      outer: 'exports.give = require("./types").give;',
    },
    shows: {
      s: 'function () { require("lib/types").give(); }',
      other: 'function () { require("lib/outer").give(); }',
      none: 'function () { provides("geo", function () { return "geo"; }); }',
    },
    filters: { f: 'function () { return require("lib/outer").give !== undefined; }' },
  });
  expect(await program.filter('f', ['{}'], '{}')).toEqual([true]);
  const asked = request('application/vnd.geo');
  for (const name of ['s', 'other', 's', 'other']) {
    const { body, headers } = await program.show(name, 'null', asked);
    expect([body, headers]).toEqual(['geo', { 'Content-Type': 'application/vnd.geo' }]);
  }
  await expect((async () => program.show('none', 'null', asked))()).rejects.toMatchObject({ code: 'not_acceptable' });
});
