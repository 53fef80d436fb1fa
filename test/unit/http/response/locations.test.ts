import { describe, expect, test } from 'vitest';
import { parseDestination } from '../../../../src/http/documents/copy-document.ts';
import { documentLocation, ownBase } from '../../../../src/http/response/locations.ts';
import { contextOf } from '../support.ts';

describe("the service's own address", () => {
  test.each([
    ['/db', {}, ''],
    ['/db', { host: 'localhost:5984' }, 'http://localhost:5984'],
    ['https://app.example/db', {}, 'https://app.example'],
    // RFC 9112, 3.2.2: the address counts, Host doesn't.
    ['https://app.example/db', { host: 'other.example' }, 'https://app.example'],
    ['https://app.example:8443', {}, 'https://app.example:8443'],
    ['/db', { host: '[::1]:5984' }, 'http://[::1]:5984'],
    ['/db', { host: '"><script>.localhost' }, ''],
    ['/db', { host: 'a@b' }, ''],
    ['/db', { host: 'x'.repeat(300) }, ''],
    ['http://a@b/db', { host: 'h' }, ''],
  ])('%s with %o', (url, headers, expected) => {
    expect(ownBase(contextOf({ url, headers }))).toBe(expected);
  });

  const forwarded: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
    ['http://inner/db', { 'x-forwarded-host': 'outer.example', 'x-forwarded-proto': 'https' }, 'https://outer.example'],
    ['/db', { host: 'inner', 'x-forwarded-host': 'outer.example' }, 'http://outer.example'],
    ['/db', { host: 'inner', 'x-forwarded-host': 'outer.example:8080, inner' }, 'http://outer.example:8080'],
    ['/db', { host: 'h', 'x-forwarded-proto': 'https' }, 'https://h'],
    ['/db', { host: 'h', 'x-forwarded-proto': '', 'x-forwarded-host': ' ' }, 'http://h'],
    ['/db', { host: 'h', 'x-forwarded-proto': 'HTTPS, http' }, 'https://h'],
    ['/db', { host: 'h', 'x-forwarded-proto': 'javascript' }, 'http://h'],
    ['/db', { host: 'h', 'x-forwarded-ssl': 'on' }, 'https://h'],
    ['/db', { host: 'h', 'x-forwarded-ssl': 'off' }, 'http://h'],
    ...['outer.example/path', 'a@outer.example', '"><script>', '[::1', 'x'.repeat(9_000)].map(
      (host) => ['/db', { host: 'h', 'x-forwarded-host': host }, 'http://h'] as const,
    ),
  ];
  const proxies = { httpd: { trusted_proxies: '10.0.0.1, ::1' } };

  test.each(forwarded)('%s with %o from a trusted proxy', (url, headers, expected) => {
    expect(ownBase(contextOf({ url, headers, peer: '::1' }, proxies))).toBe(expected);
  });

  test.each([
    ['another address', proxies, '127.0.0.1'],
    ['an address that is a part of one', proxies, '10.0.0.10'],
    ['nowhere', proxies, undefined],
    ['an address where no proxy is trusted', {}, '::1'],
  ])('ignores forwarding headers from %s', (_, settings, peer) => {
    const headers = {
      host: 'h',
      'x-forwarded-host': 'outer.example',
      'x-forwarded-proto': 'https',
      'x-forwarded-ssl': 'on',
    };
    expect(ownBase(contextOf({ url: '/db', headers, peer }, settings))).toBe('http://h');
  });

  test('can come from configured header names of a proxy', () => {
    const names = { x_forwarded_host: 'X-Host', x_forwarded_proto: 'X-Proto', x_forwarded_ssl: 'X-Ssl' };
    const settings = { httpd: { ...proxies.httpd, ...names } };
    const own = { host: 'h', 'x-forwarded-host': 'other.example', 'x-forwarded-proto': 'https' };
    const ask = (headers: Record<string, string>) =>
      ownBase(contextOf({ url: '/db', headers: { ...own, ...headers }, peer: '::1' }, settings));
    expect(ask({})).toBe('http://h');
    expect(ask({ 'x-host': 'outer.example', 'x-proto': 'https' })).toBe('https://outer.example');
    expect(ask({ 'x-host': 'outer.example', 'x-ssl': 'on' })).toBe('https://outer.example');
  });

  test.each([
    ['https://app.example/data/db', {}, 'https://app.example/data'],
    ['/data/db', { host: 'h' }, 'http://h/data'],
    ['/data/db', {}, '/data'],
  ])('below a path: %s with %o', (url, headers, expected) => {
    expect(ownBase(contextOf({ url, headers }, {}, '/data'))).toBe(expected);
  });

  test.each([
    ['db', 'doc', 'http://h/db/doc'],
    ['a/b+c(d)$', 'a/b c%', 'http://h/a%2Fb%2Bc(d)%24/a%2Fb%20c%25'],
    ['db', '_design/a/b', 'http://h/db/_design/a%2Fb'],
    ['db', '_local/ä', 'http://h/db/_local/%C3%A4'],
    ['db', '😀"', 'http://h/db/%F0%9F%98%80%22'],
  ])('of document %s %s is in Location', (database, id, expected) => {
    expect(documentLocation(contextOf({ headers: { host: 'h' } }), database, id)).toBe(expected);
  });
});

describe('the Destination header', () => {
  const destination = (header: string) =>
    parseDestination(contextOf({ headers: { host: 'h:5984', destination: header } }));

  test.each([
    ['copy', { id: 'copy', rev: undefined }],
    ['copy?rev=1-a', { id: 'copy', rev: '1-a' }],
    ['a%2Fb%20c', { id: 'a/b c', rev: undefined }],
    ['a/b', { id: 'a/b', rev: undefined }],
    ['_design/x', { id: '_design/x', rev: undefined }],
    ['_design%2Fx', { id: '_design/x', rev: undefined }],
    ['_local/x?rev=0-1', { id: '_local/x', rev: '0-1' }],
    ['http://h:5984/db/copy?rev=1-a', { database: 'db', id: 'copy', rev: '1-a' }],
    ['http://h:5984/db/a%2Fb', { database: 'db', id: 'a/b', rev: undefined }],
    ['HTTP://H:5984/db/_design/x', { database: 'db', id: '_design/x', rev: undefined }],
    ['http://h:5984/other%2Fone/copy', { database: 'other/one', id: 'copy', rev: undefined }],
  ])('%s', (header, expected) => {
    expect(destination(header)).toEqual({ database: undefined, ...expected });
  });

  test.each([
    ['', 'Destination header is mandatory for COPY.'],
    ['http://elsewhere/db/copy', 'Destination URL must be relative.'],
    ['https://h:5984/db/copy', 'Destination URL must be relative.'],
    ['http://h:5984/db/copy/att', 'Destination must name a document; write a / in its id as %2F.'],
    ['http://h:5984/db', 'Destination must name a document; write a / in its id as %2F.'],
    ['a%zz', 'Destination "a%zz" is not valid percent-encoding; write a literal % as %25.'],
    ['_odd', 'Only reserved document ids may start with underscore.'],
  ])('"%s" is refused', (header, reason) => {
    expect(() => destination(header)).toThrow(expect.objectContaining({ code: 'bad_request', reason }));
  });

  test.each([
    ['http://h:5984/data/db/copy?rev=1-a', { database: 'db', id: 'copy', rev: '1-a' }],
    ['copy', { id: 'copy', rev: undefined }],
  ])('below a path: %s', (header, expected) => {
    const context = contextOf({ headers: { host: 'h:5984', destination: header } }, {}, '/data');
    expect(parseDestination(context)).toEqual({ database: undefined, ...expected });
  });

  test.each(['http://h:5984/db/copy', 'http://h:5984/database/db/copy', 'http://h:5984'])(
    'outside of the path: %s is refused',
    (header) => {
      const context = contextOf({ headers: { host: 'h:5984', destination: header } }, {}, '/data');
      expect(() => parseDestination(context)).toThrow('bad_request: Destination URL must be relative.');
    },
  );

  test('can omit the default port of the scheme', () => {
    const context = contextOf({ headers: { host: 'h', destination: 'http://h:80/db/copy' } });
    expect(parseDestination(context)).toEqual({ database: 'db', id: 'copy', rev: undefined });
  });

  test('is required', () => {
    expect(() => parseDestination(contextOf({}))).toThrow('Destination header is mandatory for COPY.');
  });
});
