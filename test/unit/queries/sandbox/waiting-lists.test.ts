import { describe, expect, test } from 'vitest';
import { createTestSandbox, openProgram, TickingClock } from './quickjs-files.ts';
import { chunksOf, request, useSandbox } from './rendering-programs.ts';

const sandbox = useSandbox();

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
