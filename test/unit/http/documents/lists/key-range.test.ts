import { describe, expect, test } from 'vitest';
import { readListQuery, toRowRange } from '../../../../../src/http/request/list-parameters.ts';
import { contextAt } from '../../support.ts';

async function range(search: string) {
  return toRowRange(await readListQuery(contextAt(search)));
}

const open = { startInclusive: true, endInclusive: true, descending: false, skip: 0, start: undefined, end: undefined };

describe('the range of ids for keys', () => {
  test.each([
    ['', open],
    ['startkey="b"&endkey="d"', { ...open, start: 'b', end: 'd' }],
    ['endkey="d"&inclusive_end=false&skip=2', { ...open, end: 'd', endInclusive: false, skip: 2 }],
    ['key="b"&inclusive_end=false', { ...open, start: 'b', end: 'b' }],
    ['startkey="d"&endkey="b"&descending=true', { ...open, start: 'b', end: 'd', descending: true }],
    [
      'startkey="d"&endkey="b"&descending=true&inclusive_end=false',
      { ...open, start: 'b', end: 'd', startInclusive: false, descending: true },
    ],
    ['startkey_docid=b&endkey_docid=d', { ...open, start: 'b', end: 'd' }],
    ['startkey="c"&startkey_docid=b', { ...open, start: 'c' }],
  ])('is correct for ?%s', async (search, expected) => {
    expect(await range(search)).toEqual(expected);
  });

  test('has other types below or above all ids', async () => {
    expect(await range('startkey=null&endkey={}')).toEqual(open);
    expect(await range('startkey=7')).toEqual(open);
    expect(await range('startkey=[]')).toEqual({ beginsBehindAll: true });
    expect(await range('endkey=false')).toEqual({ beginsBehindAll: false });
    expect(await range('key=7')).toEqual({ beginsBehindAll: false });
    expect(await range('startkey={}&endkey=null&descending=true')).toEqual({ ...open, descending: true });
    expect(await range('startkey=1&descending=true')).toEqual({ beginsBehindAll: true });
    expect(await range('endkey=[]&descending=true')).toEqual({ beginsBehindAll: false });
  });
});
