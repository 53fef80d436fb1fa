import { describe, expect, test } from 'vitest';
import { parseQueryValues } from '../../../../src/http/lists/list-parameters.ts';
import { Query } from '../../../../src/http/request/query.ts';
import {
  parseViewParameters,
  toReduceOptions,
  type ViewParameters,
} from '../../../../src/http/views/view-parameters.ts';

const PLAIN = { hasReduce: false, defaults: {} };
const REDUCED = { hasReduce: true, defaults: {} };

function parse(search: string, traits: Parameters<typeof parseViewParameters>[1] = PLAIN): ViewParameters {
  return parseViewParameters(parseQueryValues(new Query(search).entries()), traits);
}

describe('parameters of views', () => {
  test('a view with a reduce is reduced unless the request says otherwise', () => {
    expect(parse('').isReduced).toBe(false);
    expect(parse('reduce=false').isReduced).toBe(false);
    expect(parse('', REDUCED).isReduced).toBe(true);
    expect(parse('reduce=false', REDUCED).isReduced).toBe(false);
  });

  test.each([
    ['', 0],
    ['group=true', 'exact'],
    ['group=false', 0],
    ['group_level=2', 2],
    ['group=true&group_level=1', 1],
    ['group_level=1&group=true', 'exact'],
  ])('%s groups by %s', (search, groupLevel) => {
    expect(parse(search, REDUCED).groupLevel).toBe(groupLevel);
  });

  test.each([
    ['', 'before'],
    ['stale=ok', 'never'],
    ['stale=update_after', 'after'],
    ['update=true', 'before'],
    ['update=false', 'never'],
    ['update=lazy', 'after'],
  ])('%s updates %s the answer', (search, update) => {
    expect(parse(search).update).toBe(update);
  });

  test.each([
    ['update=later', PLAIN, 'Invalid value for `update`.'],
    ['stale=false', PLAIN, 'Invalid value for `stale`.'],
    ['reduce=true', PLAIN, 'Reduce is invalid for map-only views.'],
    ['group_level=2', PLAIN, 'Invalid use of grouping on a map view.'],
    ['group=true&reduce=false', REDUCED, 'Invalid use of grouping on a map view.'],
    ['include_docs=true', REDUCED, '`include_docs` is invalid for reduce'],
    ['conflicts=true', REDUCED, '`conflicts` is invalid for reduce views.'],
    ['keys=[1,2]', REDUCED, 'Multi-key fetchs for reduce views must use `group=true`'],
  ])('%s is refused', (search, traits, reason) => {
    expect(() => parse(search, traits)).toThrow(expect.objectContaining({ code: 'query_parse_error', reason }));
  });

  test('options of the design document are defaults', () => {
    const defaults = { include_docs: true, limit: 5, local_seq: true, collation: 'raw', group: true };
    expect(parse('', { hasReduce: false, defaults })).toMatchObject({ includeDocs: true, limit: 5, groupLevel: 0 });
    expect(parse('include_docs=false&limit=2', { hasReduce: false, defaults })).toMatchObject({
      includeDocs: false,
      limit: 2,
    });
    expect(parse('', { hasReduce: true, defaults })).toMatchObject({
      includeDocs: false,
      groupLevel: 'exact',
      limit: 5,
    });
    expect(parse('reduce=false', { hasReduce: true, defaults })).toMatchObject({ includeDocs: true, groupLevel: 0 });
  });

  test('reduce may be a default, for views that have one', () => {
    expect(parse('', { hasReduce: true, defaults: { reduce: false } }).isReduced).toBe(false);
    expect(parse('reduce=true', { hasReduce: true, defaults: { reduce: false } }).isReduced).toBe(true);
    expect(parse('', { hasReduce: false, defaults: { reduce: true } }).isReduced).toBe(false);
  });

  test('bounds of the request replace all bounds of the defaults', () => {
    const traits = { hasReduce: false, defaults: { key: 1, descending: true } };
    expect(parse('', traits)).toMatchObject({ startKey: 1, endKey: 1, descending: true });
    expect(parse('keys=[2]', traits)).toMatchObject({ startKey: undefined, keys: [2], descending: true });
  });
});

describe('what an index is asked for', () => {
  test('a key is both ends, and is in', () => {
    const options = toReduceOptions(parse('key=null&startkey_docid=a&endkey_docid=b&inclusive_end=false'));
    expect(options).toMatchObject({ start: null, end: null, startDocId: 'a', endDocId: 'b', inclusiveEnd: true });
  });

  test('one key of a reduced view needs no group', () => {
    expect(toReduceOptions(parse('keys=[1]', REDUCED))).toMatchObject({ keys: [1], groupLevel: 0 });
    expect(toReduceOptions(parse('keys=[]', REDUCED))).toMatchObject({ keys: [], groupLevel: 0 });
  });

  test('bounds that are not given are open', () => {
    const options = toReduceOptions(parse('startkey=null&descending=true&skip=3&limit=0'));
    expect(options).toMatchObject({ start: null, end: undefined, descending: true, skip: 3, limit: 0 });
  });
});
