import { describe, expect, test } from 'vitest';
import { VirtualHosts } from '../../../../src/http/middleware/gateway.ts';

const rewritten = (section: Record<string, string>, host: string, path = '/') =>
  new VirtualHosts(section).rewrite(host, path);

describe('a virtual host', () => {
  test.each([
    ['example.com', '/db', 'example.com', '/doc', '/db/doc'],
    ['example.com', '/db', 'EXAMPLE.com.', '/', '/db'],
    ['example.com', '/db', 'example.com:8080', '/a//b/', '/db/a/b'],
    ['example.com:8080', '/db', 'example.com:8080', '/', '/db'],
    ['example.com:8080', '/db', 'example.com', '/', undefined],
    ['example.com:8080', '/db', 'example.com:80', '/', undefined],
    ['example.com', '/db', 'www.example.com', '/', undefined],
    ['example.com', '/db', 'com', '/', undefined],
    ['*.example.com', '/db/*', 'a.b.example.com', '/x', '/db/a.b/x'],
    ['*.example.com', '/db', 'example.com', '/', undefined],
    ['*', '/db', 'anything', '/x', '/db/x'],
    [':user.:app.example.com', '/:app/:user', 'ada.notes.example.com', '/x', '/notes/ada/x'],
    [':user.example.com', '/db', 'a.b.example.com', '/', undefined],
    ['example.com/a/:b', '/db/:b', 'example.com', '/a/c/d', '/db/c/d'],
    ['example.com/a', '/db', 'example.com', '/b', undefined],
    ['example.com/a', '/db', 'example.com', '/', undefined],
    ['example.com', 'db', 'example.com', '/', undefined],
    ['', '/db', '', '/', undefined],
    ['example.com', '/db', 'example.com', '/a%2Fb/%C3%A9', '/db/a%2Fb/%C3%A9'],
  ])('%s = %s at %s%s is %s', (pattern, target, host, path, expected) => {
    expect(rewritten({ [pattern]: target }, host, path)).toBe(expected);
  });

  test('with a more exact name has precedence', () => {
    const section = {
      '*': '/any',
      '*.example.com': '/below',
      ':x.example.com': '/one',
      'www.example.com': '/www',
      'www.example.com/a': '/a',
    };
    expect(rewritten(section, 'www.example.com', '/a/b')).toBe('/a/b');
    expect(rewritten(section, 'www.example.com', '/b')).toBe('/www/b');
    expect(rewritten(section, 'x.example.com')).toBe('/one');
    expect(rewritten(section, 'x.y.example.com')).toBe('/below');
    expect(rewritten(section, 'localhost')).toBe('/any');
  });
});

test('a server answers under hosts that are listed, and not under hosts that only a wildcard covers', () => {
  const hosts = new VirtualHosts({ 'a.example.com': '/a', '*.example.org': '/b', '*': '/c', ':x': '/d' });
  expect(hosts.isNamed('a.example.com:80')).toBe(true);
  expect(hosts.isNamed('x.example.org')).toBe(true);
  expect(hosts.isNamed('evil.example')).toBe(false);
  expect(hosts.isNamed('localhost')).toBe(false);
});
