import { describe, expect, test } from 'vitest';
import { PageCache } from '../../../../src/admin/documents/row-sources/page-cache.ts';
import type {
  PageWish,
  RowSource,
  SourcePage,
  SourceRow,
} from '../../../../src/admin/documents/row-sources/row-source.ts';

/** A list whose pages come when the test says so. */
class SlowSource implements RowSource {
  readonly isRandom: boolean;
  readonly #count: number;
  readonly #knowsTotal: boolean;
  /** What was asked for, and is neither there nor aborted. */
  open: { readonly wish: PageWish; readonly signal: AbortSignal; readonly answer: () => void }[] = [];
  asked = 0;

  constructor(count: number, { isRandom, knowsTotal }: { readonly isRandom: boolean; readonly knowsTotal: boolean }) {
    this.isRandom = isRandom;
    this.#count = count;
    this.#knowsTotal = knowsTotal;
  }

  read(wish: PageWish, signal: AbortSignal): Promise<SourcePage> {
    this.asked += 1;
    return new Promise((resolve, reject) => {
      const answer = () => resolve(this.#page(wish));
      const request = { wish, signal, answer };
      this.open.push(request);
      signal.addEventListener('abort', () => {
        this.open = this.open.filter((one) => one !== request);
        reject(signal.reason);
      });
    });
  }

  /** All that is asked for comes. */
  async answer(): Promise<void> {
    for (const { answer } of this.open.splice(0)) answer();
    await new Promise((done) => setImmediate(done));
  }

  #page({ limit, skip = 0, cursor }: PageWish): SourcePage {
    const from = cursor === undefined ? skip : Number(cursor);
    const length = Math.max(0, Math.min(limit, this.#count - from));
    const rows = Array.from({ length }, (_, at) => ({ id: `d${from + at}`, rev: '1-x', doc: undefined }));
    const next = length === limit ? `${from + length}` : undefined;
    return { rows, next, total: this.#knowsTotal ? this.#count : undefined };
  }
}

function rowOf(id: string): SourceRow {
  return { id, rev: '1-x', doc: undefined };
}

const wish = { limit: 100, withDocs: false };
const ignore = () => undefined;

describe('a list whose pages can be read in any order', () => {
  test('loads only what is in sight, of a million rows', async () => {
    const source = new SlowSource(1_000_000, { isRandom: true, knowsTotal: true });
    const cache = new PageCache(source, wish, ignore);
    cache.need(0, 1);
    await source.answer();
    expect(cache.state).toEqual({
      count: 1_000_000,
      total: 1_000_000,
      hasMore: false,
      isLoaded: true,
      failure: undefined,
    });
    cache.need(999_980, 1_000_000);
    await source.answer();
    expect(cache.rowAt(999_999)?.id).toBe('d999999');
    expect(source.asked).toBe(2);
  });

  test('gives up pages that went out of sight before they came', async () => {
    const source = new SlowSource(1_000_000, { isRandom: true, knowsTotal: true });
    const cache = new PageCache(source, wish, ignore);
    cache.need(0, 1);
    await source.answer();
    for (let row = 1_000; row < 500_000; row += 1_000) cache.need(row, row + 20);
    expect(source.open.map((one) => one.wish.skip)).toEqual([499_000]);
    await source.answer();
    expect(cache.rowAt(499_010)?.id).toBe('d499010');
  });

  test('forgets pages that were seen long ago', async () => {
    const source = new SlowSource(1_000_000, { isRandom: true, knowsTotal: true });
    const cache = new PageCache(source, wish, ignore);
    for (let page = 0; page < 100; page += 1) {
      cache.need(page * 100, page * 100 + 20);
      await source.answer();
    }
    expect(cache.rowAt(0)).toBe(undefined);
    expect(cache.rowAt(9_900)?.id).toBe('d9900');
  });

  test('shows the former rows until those that it reads again are there', async () => {
    const source = new SlowSource(50, { isRandom: true, knowsTotal: true });
    const cache = new PageCache(source, wish, ignore);
    cache.need(0, 20);
    await source.answer();
    cache.reload();
    expect(cache.rowAt(3)?.id).toBe('d3');
    await source.answer();
    expect(source.asked).toBe(2);
  });

  test('keeps what it has when a page fails, and says so', async () => {
    const failing: RowSource = { isRandom: true, read: () => Promise.reject(new Error('gone')) };
    let changes = 0;
    const cache = new PageCache(failing, wish, () => {
      changes += 1;
    });
    cache.need(0, 20);
    await new Promise((done) => setImmediate(done));
    expect(cache.state).toMatchObject({ isLoaded: true, count: 0, failure: new Error('gone') });
    expect(changes).toBe(1);
  });
});

describe('a list whose pages follow each other', () => {
  test('says at least how many there are, until its end was seen', async () => {
    const source = new SlowSource(250, { isRandom: false, knowsTotal: false });
    const cache = new PageCache(source, wish, ignore);
    cache.need(0, 20);
    await source.answer();
    expect(cache.state).toMatchObject({ count: 100, total: undefined, hasMore: true });
    cache.need(90, 101);
    await source.answer();
    expect(cache.state).toMatchObject({ count: 200, total: undefined, hasMore: true });
    cache.need(190, 201);
    await source.answer();
    expect(cache.state).toMatchObject({ count: 250, total: 250, hasMore: false });
  });

  test('that ends with a full page ends there', async () => {
    const source = new SlowSource(100, { isRandom: false, knowsTotal: false });
    const cache = new PageCache(source, wish, ignore);
    cache.need(0, 20);
    await source.answer();
    cache.need(90, 101);
    await source.answer();
    expect(cache.state).toMatchObject({ count: 100, total: 100, hasMore: false });
  });

  test('shows the rows of a page as they are found, and searches again where a search was aborted', async () => {
    const search = { looked: 2_000, of: 10_000 };
    const reads: { readonly signal: AbortSignal; readonly end: (page: SourcePage) => void }[] = [];
    const searching: RowSource = {
      isRandom: false,
      read({ cursor }, signal, tell) {
        const rows = Array.from({ length: cursor === undefined ? 100 : 1 }, (_, at) => rowOf(`${cursor}-${at}`));
        if (cursor === undefined) return Promise.resolve({ rows, next: 'more', total: undefined });
        tell?.(rows, search);
        return new Promise((end) => reads.push({ signal, end }));
      },
    };
    const cache = new PageCache(searching, wish, ignore);
    cache.need(0, 20);
    await new Promise((done) => setImmediate(done));
    expect(cache.state).toMatchObject({ count: 100, hasMore: true });
    expect(cache.state.search).toBeUndefined();
    cache.need(90, 101);
    expect(cache.state).toMatchObject({ count: 101, total: undefined, hasMore: true, search });
    expect(cache.rowAt(100)?.id).toBe('more-0');
    cache.need(0, 20);
    expect(reads[0]?.signal.aborted).toBe(true);
    expect(cache.state).toMatchObject({ hasMore: true });
    expect(cache.state.search).toBeUndefined();
    cache.need(90, 102);
    expect(reads).toHaveLength(2);
    reads[1]?.end({ rows: [rowOf('more-0'), rowOf('more-1')], next: undefined, total: undefined });
    await new Promise((done) => setImmediate(done));
    expect(cache.state).toMatchObject({ count: 102, total: 102, hasMore: false });
    expect(cache.rowAt(101)?.id).toBe('more-1');
  });

  test('begins with its first page, whatever is in sight', async () => {
    const source = new SlowSource(250, { isRandom: false, knowsTotal: false });
    const cache = new PageCache(source, wish, ignore);
    cache.need(200, 220);
    await source.answer();
    expect(cache.rowAt(0)?.id).toBe('d0');
  });
});

test('a list that can be read in any order, but does not know its length, grows', async () => {
  const source = new SlowSource(150, { isRandom: true, knowsTotal: false });
  const cache = new PageCache(source, wish, ignore);
  cache.need(0, 20);
  await source.answer();
  expect(cache.state).toMatchObject({ count: 100, hasMore: true });
  cache.need(90, 101);
  await source.answer();
  expect(cache.state).toMatchObject({ count: 150, total: 150, hasMore: false });
});
