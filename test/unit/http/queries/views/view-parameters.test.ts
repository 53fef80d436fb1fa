import { describe, expect, test } from 'vitest';
import {
  parseViewParameters,
  toReduceOptions,
  type ViewParameters,
} from '../../../../../src/http/queries/views/view-parameters.ts';
import { readQueryValues } from '../../../../../src/http/request/list-parameters.ts';
import { contextAt } from '../../support.ts';

const PLAIN = { hasReduce: false, defaults: {} };
const REDUCED = { hasReduce: true, defaults: {} };

async function parse(
  search: string,
  traits: Parameters<typeof parseViewParameters>[1] = PLAIN,
): Promise<ViewParameters> {
  return parseViewParameters(await readQueryValues(contextAt(search)), traits);
}

describe('view parameters', () => {
  test('a view with a reduce function is reduced by default', async () => {
    expect((await parse('')).isReduced).toBe(false);
    expect((await parse('reduce=false')).isReduced).toBe(false);
    expect((await parse('', REDUCED)).isReduced).toBe(true);
    expect((await parse('reduce=false', REDUCED)).isReduced).toBe(false);
  });

  test.each([
    ['', 0],
    ['group=true', 'exact'],
    ['group=false', 0],
    ['group_level=2', 2],
    ['group=true&group_level=1', 1],
    ['group_level=1&group=true', 'exact'],
  ])('%s groups by %s', async (search, groupLevel) => {
    expect((await parse(search, REDUCED)).groupLevel).toBe(groupLevel);
  });

  test.each([
    ['', 'before'],
    ['stale=ok', 'never'],
    ['stale=update_after', 'after'],
    ['update=true', 'before'],
    ['update=false', 'never'],
    ['update=lazy', 'after'],
  ])('%s updates the index %s the response', async (search, update) => {
    expect((await parse(search)).update).toBe(update);
  });

  test.each([
    ['update=later', PLAIN, 'Invalid value for `update`. Give true, false or lazy.'],
    ['stale=false', PLAIN, 'Invalid value for `stale`.'],
    ['reduce=true', PLAIN, 'Reduce is invalid for map-only views.'],
    ['group_level=2', PLAIN, 'Invalid use of grouping on a map view.'],
    ['group=true&reduce=false', REDUCED, 'Invalid use of grouping on a map view.'],
    ['include_docs=true', REDUCED, '`include_docs` is invalid for reduce'],
    ['conflicts=true', REDUCED, '`conflicts` is invalid for reduce views.'],
    ['keys=[1,2]', REDUCED, 'Multi-key fetchs for reduce views must use `group=true`'],
  ])('%s is refused', async (search, traits, reason) => {
    await expect(parse(search, traits)).rejects.toThrow(expect.objectContaining({ code: 'query_parse_error', reason }));
  });

  test('options of the design document are defaults', async () => {
    const defaults = { include_docs: true, limit: 5, local_seq: true, collation: 'raw', group: true };
    expect(await parse('', { hasReduce: false, defaults })).toMatchObject({
      includeDocs: true,
      limit: 5,
      groupLevel: 0,
    });
    expect(await parse('include_docs=false&limit=2', { hasReduce: false, defaults })).toMatchObject({
      includeDocs: false,
      limit: 2,
    });
    expect(await parse('', { hasReduce: true, defaults })).toMatchObject({
      includeDocs: false,
      groupLevel: 'exact',
      limit: 5,
    });
    expect(await parse('reduce=false', { hasReduce: true, defaults })).toMatchObject({
      includeDocs: true,
      groupLevel: 0,
    });
  });

  test('reduce can be a default for views that have a reduce function', async () => {
    expect((await parse('', { hasReduce: true, defaults: { reduce: false } })).isReduced).toBe(false);
    expect((await parse('reduce=true', { hasReduce: true, defaults: { reduce: false } })).isReduced).toBe(true);
    expect((await parse('', { hasReduce: false, defaults: { reduce: true } })).isReduced).toBe(false);
  });

  test('bounds of the request replace all default bounds', async () => {
    const traits = { hasReduce: false, defaults: { key: 1, descending: true } };
    expect(await parse('', traits)).toMatchObject({ startKey: 1, endKey: 1, descending: true });
    expect(await parse('keys=[2]', traits)).toMatchObject({ startKey: undefined, keys: [2], descending: true });
  });
});

describe('the range of an index that a query reads', () => {
  test('begins and ends with a given key, inclusively', async () => {
    const options = toReduceOptions(await parse('key=null&startkey_docid=a&endkey_docid=b&inclusive_end=false'));
    expect(options).toMatchObject({ start: null, end: null, startDocId: 'a', endDocId: 'b', inclusiveEnd: true });
  });

  test('is one key for a reduced view without group', async () => {
    expect(toReduceOptions(await parse('keys=[1]', REDUCED))).toMatchObject({ keys: [1], groupLevel: 0 });
    expect(toReduceOptions(await parse('keys=[]', REDUCED))).toMatchObject({ keys: [], groupLevel: 0 });
  });

  test('is open without bounds', async () => {
    const options = toReduceOptions(await parse('startkey=null&descending=true&skip=3&limit=0'));
    expect(options).toMatchObject({ start: null, end: undefined, descending: true, skip: 3, limit: 0 });
  });
});
