import { describe, expect, test } from 'vitest';
import { isBelow, originOf, parseTarget } from '../../../../src/http/request/address.ts';

describe('a request target', () => {
  test.each([
    ['/', [], ''],
    ['', [], ''],
    ['/db', ['db'], ''],
    ['//db//doc/', ['db', 'doc'], ''],
    ['/a%2Fb/x%20y', ['a/b', 'x y'], ''],
    ['/db/a+b', ['db', 'a+b'], ''],
    ['/db/%2520', ['db', '%20'], ''],
    ['/db/%E2%82%AC%F0%9F%98%80', ['db', '€😀'], ''],
    ['/db/../%2e%2e', ['db', '..', '..'], ''],
    ['/db/__proto__/constructor', ['db', '__proto__', 'constructor'], ''],
    ['/db/doc?rev=1-a&x=/y', ['db', 'doc'], 'rev=1-a&x=/y'],
    ['/db?a=1?b=2', ['db'], 'a=1?b=2'],
    ['/db?', ['db'], ''],
    ['/db#fragment?no', ['db'], ''],
    ['/db?a=1#fragment', ['db'], 'a=1'],
    ['http://localhost:5984/db/doc?x', ['db', 'doc'], 'x'],
    ['http://localhost', [], ''],
    ['http://localhost?x=1', [], 'x=1'],
    ['/db/http://x', ['db', 'http:', 'x'], ''],
  ])('%s', (url, segments, search) => {
    expect(parseTarget(url)).toEqual({ segments, search });
  });

  test('with a segment that is not UTF-8 is refused', () => {
    expect(() => parseTarget('/db/a%FFb')).toThrow('bad_request: Document id must be valid UTF-8');
  });

  test.each(['/%zz', '/db/%', '/db/%4', '/%FF'])('%s is invalid percent-encoding', (url) => {
    expect(() => parseTarget(url)).toThrow(/^bad_request: Path segment ".*" is not valid percent-encoding/);
  });

  test.each([
    ['/data', true],
    ['/data/', true],
    ['/data?x=1', true],
    ['/data#x', true],
    ['/data/db/doc', true],
    ['https://app.example/data/db', true],
    ['/database', false],
    ['/', false],
    ['/db/data', false],
    ['https://app.example', false],
    ['https://data/data', true],
    ['https://app.example/db?x=/data', false],
  ])('%s below /data is %s', (url, expected) => {
    expect(isBelow(url, '/data')).toBe(expected);
  });

  test.each([
    ['/data/db/doc?rev=1-a', ['db', 'doc'], 'rev=1-a'],
    ['/data', [], ''],
    ['https://app.example/data/db//%C3%A4?x', ['db', 'ä'], 'x'],
  ])('%s is read from /data on', (url, segments, search) => {
    expect(parseTarget(url, '/data')).toEqual({ segments, search });
  });

  test('has as origin what precedes the path of an absolute address', () => {
    expect(originOf('https://example.org:8443/db?x=http://y/')).toBe('https://example.org:8443');
    expect(originOf('http://example.org')).toBe('http://example.org');
    expect(originOf('/db/http://x')).toBeUndefined();
  });
});
