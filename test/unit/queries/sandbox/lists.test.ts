import { describe, expect, test } from 'vitest';
import { openProgram } from './quickjs-files.ts';
import { chunksOf, request, useSandbox } from './rendering-programs.ts';

const sandbox = useSandbox();

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
