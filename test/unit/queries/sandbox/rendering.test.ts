import { afterAll, describe, expect, test } from 'vitest';
import type { ListResult } from '../../../../src/queries/sandbox/contract.ts';
import { createTestSandbox, openProgram, TickingClock } from './quickjs-files.ts';

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

describe('an update', () => {
  const update = async (body: string, document = 'null') => {
    const { program } = await openProgram(sandbox, { updates: { u: `function (doc, req) { ${body} }` } });
    return program.update('u', document, request());
  };

  test('returns the document to save, and a response', async () => {
    expect(await update('doc.n++; return [doc, "ok"];', '{"_id":"a","n":1}')).toEqual({
      document: '{"_id":"a","n":2}',
      response: { code: undefined, headers: {}, body: 'ok' },
    });
    expect(await update('return [null, {code: 202, json: {a: 1}}];')).toEqual({
      document: undefined,
      response: { code: 202, headers: { 'Content-Type': 'application/json' }, body: '{"a":1}' },
    });
  });

  test('without a response fails', async () => {
    const expected = { code: 'render_error', reason: 'undefined response from update function' };
    await expect(update('return [doc];')).rejects.toMatchObject(expected);
    await expect(update('')).rejects.toMatchObject(expected);
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

describe('a list', () => {
  const list = async (source: string, batches: readonly string[], accept?: string) => {
    const { program } = await openProgram(sandbox, { lists: { l: source } });
    const waiting = [...batches];
    const made = await program.list('l', '{"total_rows":3,"offset":0}', request(accept), {
      next: () => waiting.shift(),
    });
    return { code: made.code, headers: made.headers, chunks: await chunksOf(made) };
  };
  const batches = ['[{"id":"a","key":1},{"id":"b","key":2}]', '[{"id":"c","key":3}]'];

  test('gets its rows one by one, across batches', async () => {
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

  test('can stop early, or send nothing', async () => {
    expect((await list('function () { return getRow().id; }', batches)).chunks.join('')).toBe('a');
    expect((await list('function () { getRow(); }', [])).chunks).toEqual([]);
  });

  test('can provide types', async () => {
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

  test.each([
    ['getRow(); start({code: 203})', 203],
    ['start({code: 202}); getRow(); start({code: 203}); while (getRow());', 203],
    ['while (getRow()); start({code: 203})', 203],
    ['send(""); getRow(); start({code: 203})', 203],
    ['start({code: 202}); send("a"); start({code: 203}); getRow(); start({code: 204})', 203],
    ['getRow(); start({code: 203}); send("a"); getRow(); start({code: 204}); while (getRow());', 203],
    ['getRow(); getRow(); send("a"); getRow(); start({code: 204});', undefined],
  ])('has the head passed to start() before text was sent: %s', async (body, code) => {
    expect((await list(`function () { ${body}; return "x"; }`, batches)).code).toBe(code);
    // It gets all rows at once, since it calls getRow() by another name.
    expect(
      (
        await list(
          `function () { var getRow2 = getRow; ${body.replaceAll('getRow(', 'getRow2(')}; return "x"; }`,
          batches,
        )
      ).code,
    ).toBe(code);
  });

  test('has its own head if provides() chose a type', async () => {
    const source = `function () {
      provides("html", function () { var row = getRow(); start({code: 404, headers: {"X-T": "y"}}); send("none"); return "!"; });
      send("early ");
      return "not sent";
    }`;
    const { code, headers, chunks } = await list(source, batches, 'text/html');
    expect([code, headers, chunks.join('')]).toEqual([
      undefined,
      { 'Content-Type': 'text/html; charset=utf-8' },
      'early none!',
    ]);
    const late = await list(source.replace('send("early ");', ''), batches, 'text/html');
    expect([late.code, late.headers]).toEqual([404, { 'X-T': 'y', 'Content-Type': 'text/html; charset=utf-8' }]);
  });
});

async function chunksOf(made: ListResult): Promise<string[]> {
  const chunks: string[] = [];
  for await (const chunk of made.chunks()) chunks.push(chunk);
  return chunks;
}

/** Rows one by one, and how many were asked for. */
class CountedRows {
  asked = 0;
  closed = 0;
  readonly #count: number;

  constructor(count: number) {
    this.#count = count;
  }

  next(): string | undefined {
    return this.asked < this.#count ? `[{"key":${this.asked++}}]` : undefined;
  }

  close(): void {
    this.closed++;
  }
}

const ROW_BY_ROW =
  'function (head, req) { send("<"); var row; while (row = getRow()) send(row.key + ","); return ">"; }';

describe('a list that can wait', () => {
  const open = async (source: string, rows: CountedRows, lists = {}) => {
    const { program } = await openProgram(sandbox, { lists: { l: source, ...lists } });
    return { program, made: await program.list('l', '{}', request(), rows) };
  };

  test('reads rows as its output is read', async () => {
    const rows = new CountedRows(1_000_000);
    const { made } = await open(ROW_BY_ROW, rows);
    expect(rows.asked).toBe(0);
    const chunks = made.chunks();
    expect([(await chunks.next()).value, (await chunks.next()).value, (await chunks.next()).value]).toEqual([
      '<',
      '0,',
      '1,',
    ]);
    expect(rows.asked).toBe(2);
    await chunks.return();
    expect(rows.closed).toBe(1);
  });

  test('can wait in a function passed to provides()', async () => {
    const rows = new CountedRows(3);
    const source =
      'function () { provides("text", function () { send("rows: "); var row, n = 0; while (row = getRow()) n += 1; send(n); }); }';
    const { made } = await open(source, rows);
    expect(rows.asked).toBe(0);
    expect(made.headers).toEqual({ 'Content-Type': 'text/plain; charset=utf-8' });
    expect(await chunksOf(made)).toEqual(['rows: ', '3']);
  });

  test('lets others of its design document run meanwhile', async () => {
    const { program, made } = await open(ROW_BY_ROW, new CountedRows(3), { other: ROW_BY_ROW });
    const [first, second] = [
      made.chunks(),
      (await program.list('other', '{}', request(), new CountedRows(2))).chunks(),
    ];
    const texts = ['', ''];
    for (let step = 0; step < 6; step++) {
      texts[0] += (await first.next()).value ?? '';
      texts[1] += (await second.next()).value ?? '';
      expect(await program.filter('none', [], '{}')).toEqual([]);
    }
    expect(texts).toEqual(['<0,1,2,>', '<0,1,>']);
  });

  test('keeps no state once it is closed', async () => {
    const rows = new CountedRows(3);
    const { program, made } = await open(
      'function () { send("."); for (;;) { var big = "x".repeat(1e7); if (!getRow()) return big.length; } }',
      rows,
    );
    made.close();
    expect(rows.closed).toBe(1);
    // Each waits with 10 MB, of 64 that there are.
    for (let time = 0; time < 20; time++) (await program.list('l', '{}', request(), new CountedRows(3))).close();
    expect(await chunksOf(await program.list('l', '{}', request(), new CountedRows(3)))).toEqual(['.', '10000000']);
  });

  test("keeps no state if its head can't be sent", async () => {
    const source = 'function () { start({code: 999}); var big = "x".repeat(1e7); getRow(); return big; }';
    const { program } = await openProgram(sandbox, { lists: { l: source, good: 'function () { return "y"; }' } });
    for (let time = 0; time < 20; time++) {
      const rows = new CountedRows(3);
      await expect(program.list('l', '{}', request(), rows)).rejects.toMatchObject({ code: 'render_error' });
      expect(rows.closed).toBe(1);
    }
    expect(await chunksOf(await program.list('good', '{}', request(), new CountedRows(0)))).toEqual(['y']);
  });

  test('is aborted if it throws later, with the reason', async () => {
    const rows = new CountedRows(3);
    const { made } = await open('function () { getRow(); send("a"); getRow(); throw new Error("late"); }', rows);
    const chunks = made.chunks();
    expect((await chunks.next()).value).toBe('a');
    await expect(chunks.next()).rejects.toMatchObject({ code: 'render_error' });
    expect(rows.closed).toBe(1);
  });

  test('ends with its isolate, and the next one works', async () => {
    const { program, made } = await open(ROW_BY_ROW, new CountedRows(3));
    const chunks = made.chunks();
    await chunks.next();
    program.close();
    await expect(chunks.next()).rejects.toMatchObject({ code: 'os_process_error' });
    expect((await chunksOf(await program.list('l', '{}', request(), new CountedRows(1)))).join('')).toBe('<0,>');
  });

  test('has its time limit for each batch of rows', async () => {
    const ticking = new TickingClock();
    const patient = createTestSandbox({ clock: ticking });
    const source =
      'function () { var row; while (row = getRow()) { for (var n = 0; n < 3e5 || row.key === "endless"; n++); send("."); } }';
    const listOf = async (rows: { next(): string | undefined }, timeoutMs: number) => {
      const { program } = await openProgram(patient, { lists: { l: source } }, { timeoutMs });
      const before = ticking.time;
      const chunks = await chunksOf(await program.list('l', '{}', request(), rows));
      return { chunks, ticks: ticking.time - before };
    };
    const { ticks } = await listOf(new CountedRows(1), 1e6);
    // Enough for a row, and not for all of them.
    expect((await listOf(new CountedRows(30), 3 * ticks)).chunks).toEqual(Array.from({ length: 30 }, () => '.'));
    const endless = ['[{"key":0}]', '[{"key":"endless"}]'];
    await expect(listOf({ next: () => endless.shift() }, 3 * ticks)).rejects.toMatchObject({
      code: 'os_process_error',
    });
    patient.close();
  });
});

describe("a list that can't wait", () => {
  /** It may call getRow() from anywhere. */
  const HIDDEN = 'function () { var next = getRow, row, n = 0; while (row = next()) n++; return n; }';
  const list = async (source: string, rows: CountedRows | { next(): string | undefined }) => {
    const { program } = await openProgram(sandbox, { lists: { l: source } });
    return chunksOf(await program.list('l', '{}', request(), rows));
  };

  test('gets all its rows at once', async () => {
    const rows = new CountedRows(300);
    expect(await list(HIDDEN, rows)).toEqual(['300']);
    expect(rows.closed).toBe(1);
  });

  test('can be one whose module reads rows', async () => {
    const { program } = await openProgram(sandbox, {
      lib: 'exports.count = function () { var n = 0; while (getRow()) n++; return n; };',
      lists: { l: 'function () { var first = getRow(); return first.key + ":" + require("lib").count(); }' },
    });
    expect(await chunksOf(await program.list('l', '{}', request(), new CountedRows(5)))).toEqual(['0:4']);
  });

  test('is refused with more rows than the limit', async () => {
    let asked = 0;
    const rows = { next: () => (asked++ < 100 ? `["${'x'.repeat(1024 * 1024)}"]` : undefined) };
    await expect(list(HIDDEN, rows)).rejects.toMatchObject({ code: 'too_large' });
    expect(asked).toBeLessThan(70);
  });

  test('is refused if it sends more than the limit, and the next one works', async () => {
    const source =
      'function () { var next = getRow; for (;;) { try { if (!next()) return; } catch (e) {} send("x".repeat(1e6)); } }';
    await expect(list(source, new CountedRows(100))).rejects.toMatchObject({ code: 'too_large' });
    expect(await list('function () { return "y"; }', new CountedRows(0))).toEqual(['y']);
  });
});
