import { describe, expect, test } from 'vitest';
import {
  parseListParameters,
  readListQuery,
  readQueryValues,
} from '../../../../../src/http/request/list-parameters.ts';
import { parseCount } from '../../../../../src/http/request/parameter-values.ts';
import { contextAt } from '../../support.ts';

async function parse(search: string, bodyKeys?: unknown) {
  const context = contextAt(search);
  return bodyKeys === undefined
    ? readListQuery(context)
    : parseListParameters([...(await readQueryValues(context)), ['keys', bodyKeys]]);
}

describe('parameters of lists', () => {
  test('have the defaults of the interface', async () => {
    expect(await parse('')).toEqual({
      keys: undefined,
      startKey: undefined,
      startKeyDocId: undefined,
      endKey: undefined,
      endKeyDocId: undefined,
      isOneKey: false,
      inclusiveEnd: true,
      descending: false,
      skip: 0,
      limit: undefined,
      includeDocs: false,
      conflicts: false,
      attachments: false,
      attEncodingInfo: false,
      updateSeq: false,
    });
  });

  test('are read under both names, unknown ones are ignored, and the last value counts', async () => {
    const left = await parse('startkey="a"&endkey=["b"]&startkey_docid=x&endkey_docid=y&colour=blue&limit=1&limit=2');
    expect(left).toMatchObject({ startKey: 'a', endKey: ['b'], startKeyDocId: 'x', endKeyDocId: 'y', limit: 2 });
    const right = await parse('start_key="a"&end_key=["b"]&start_key_doc_id=x&end_key_doc_id=y&limit=2');
    expect(right).toEqual(left);
  });

  test('are case-insensitive if they are booleans', async () => {
    expect(
      await parse('descending=TRUE&inclusive_end=False&include_docs=true&conflicts=true&update_seq=true'),
    ).toMatchObject({
      descending: true,
      inclusiveEnd: false,
      includeDocs: true,
      conflicts: true,
      updateSeq: true,
    });
  });

  test.each([
    ['count=3', 'QS param `count` is not `limit`'],
    ['descending=yes', 'Invalid boolean parameter: yes'],
    ['include_docs=', 'Invalid boolean parameter: '],
    ['attachments=1', 'Invalid boolean parameter: 1'],
    ['limit=many', 'Invalid value for integer: many'],
    ['limit=1.5', 'Invalid value for integer: 1.5'],
    ['skip=', 'Invalid value for integer: '],
    ['limit=-1', 'Invalid value for positive integer: -1'],
    ['stale=maybe', 'Invalid value for `stale`.'],
    ['keys=["a"]&key="a"', '`keys` is incompatible with `key`, `start_key` and `end_key`'],
    ['keys=["a"]&startkey="a"', '`keys` is incompatible with `key`, `start_key` and `end_key`'],
    ['keys=["a"]&end_key=null', '`keys` is incompatible with `key`, `start_key` and `end_key`'],
  ])('%s is refused', async (search, reason) => {
    await expect(parse(search)).rejects.toThrow(expect.objectContaining({ code: 'query_parse_error', reason }));
  });

  test.each([
    ['key=abc', 'invalid_json'],
    ['startkey=', 'invalid_json'],
    ['keys="a"', '`keys` member must be a array.'],
  ])('%s is a bad request', async (search, reason) => {
    await expect(parse(search)).rejects.toThrow(expect.objectContaining({ code: 'bad_request', reason }));
  });

  test('keys in the body are keys', async () => {
    expect(await parse('limit=1', ['a', 7])).toMatchObject({ keys: ['a', 7], limit: 1 });
    await expect(parse('', 'a')).rejects.toThrow(expect.objectContaining({ code: 'bad_request' }));
    await expect(parse('key="a"', ['a'])).rejects.toThrow(expect.objectContaining({ code: 'query_parse_error' }));
  });

  test('of key, startkey and endkey the last ones count', async () => {
    expect(await parse('key="b"')).toMatchObject({ startKey: 'b', endKey: 'b', isOneKey: true });
    expect(await parse('startkey="a"&endkey="c"&key=null')).toMatchObject({
      startKey: null,
      endKey: null,
      isOneKey: true,
    });
    expect(await parse('key="b"&startkey="a"')).toMatchObject({ startKey: 'a', endKey: 'b', isOneKey: false });
    expect(await parse('startkey="a"&key="b"&end_key="c"')).toMatchObject({
      startKey: 'b',
      endKey: 'c',
      isOneKey: false,
    });
  });

  test('an empty list of keys can be combined with bounds', async () => {
    expect(await parse('keys=[]&startkey="a"&endkey="b"')).toMatchObject({ keys: [] });
    expect(await parse('key="a"', [])).toMatchObject({ keys: [] });
  });

  test('a JSON object has values of their own types, or texts', () => {
    const entries = Object.entries({ startkey: 'a', descending: true, include_docs: 'true', limit: 3, skip: '1' });
    expect(parseListParameters(entries)).toMatchObject({
      startKey: 'a',
      descending: true,
      includeDocs: true,
      limit: 3,
      skip: 1,
    });
  });

  test('deeply nested values are refused without recursion', () => {
    const deep: unknown = JSON.parse('['.repeat(10_000) + ']'.repeat(10_000));
    expect(() => parseListParameters([['limit', deep]])).toThrow('Invalid value for integer: […]');
    expect(() => parseListParameters([['descending', { deep }]])).toThrow('Invalid boolean parameter: {…}');
  });

  test('long values count as memory of the request', async () => {
    const context = contextAt(`keys=[${Array(5_000).fill('[]').join(',')}]`);
    await readListQuery(context);
    expect(context.memory.bytes).toBeGreaterThanOrEqual(5_000 * 64);
  });

  test('a count is an integer from 0 up', () => {
    expect(parseCount('0')).toBe(0);
    expect(parseCount('12')).toBe(12);
    expect(() => parseCount('99999999999999999999')).toThrow('Invalid value for integer: 99999999999999999999');
  });
});
