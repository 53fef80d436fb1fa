import { describe, expect, test } from 'vitest';
import { parseDestination } from '../../../../src/http/documents/destination.ts';
import { documentLocation, ownBase } from '../../../../src/http/response/locations.ts';
import { contextOf } from '../support.ts';

describe('our own address', () => {
  test.each([
    ['/db', {}, ''],
    ['/db', { host: 'localhost:5984' }, 'http://localhost:5984'],
    ['https://app.example/db', {}, 'https://app.example'],
    // RFC 9112, 3.2.2: the address counts, Host doesn't.
    ['https://app.example/db', { host: 'other.example' }, 'https://app.example'],
    ['https://app.example:8443', {}, 'https://app.example:8443'],
    ['http://inner/db', { 'x-forwarded-host': 'outer.example', 'x-forwarded-proto': 'https' }, 'https://outer.example'],
    ['/db', { host: 'inner', 'x-forwarded-host': 'outer.example' }, 'http://outer.example'],
    ['/db', { host: 'inner', 'x-forwarded-host': 'outer.example, inner' }, 'http://outer.example'],
    ['/db', { host: 'h', 'x-forwarded-proto': 'https' }, 'https://h'],
    ['/db', { host: 'h', 'x-forwarded-proto': '', 'x-forwarded-host': ' ' }, 'http://h'],
    ['/db', { host: 'h', 'x-forwarded-proto': 'https, http' }, 'https://h'],
    ['/db', { host: 'h', 'x-forwarded-ssl': 'on' }, 'https://h'],
    ['/db', { host: 'h', 'x-forwarded-ssl': 'off' }, 'http://h'],
  ])('%s with %o', (url, headers, expected) => {
    expect(ownBase(contextOf({ url, headers }))).toBe(expected);
  });

  test.each([
    ['https://app.example/data/db', {}, 'https://app.example/data'],
    ['/data/db', { host: 'h' }, 'http://h/data'],
    ['/data/db', {}, '/data'],
    ['/data/db', { 'x-forwarded-host': 'outer.example' }, 'http://outer.example/data'],
  ])('below a path: %s with %o', (url, headers, expected) => {
    expect(ownBase(contextOf({ url, headers }, {}, '/data'))).toBe(expected);
  });

  test.each([
    ['db', 'doc', 'http://h/db/doc'],
    ['a/b+c(d)$', 'a/b c%', 'http://h/a%2Fb%2Bc(d)%24/a%2Fb%20c%25'],
    ['db', '_design/a/b', 'http://h/db/_design/a%2Fb'],
    ['db', '_local/ä', 'http://h/db/_local/%C3%A4'],
    ['db', '😀"', 'http://h/db/%F0%9F%98%80%22'],
  ])('document %s %s', (database, id, expected) => {
    expect(documentLocation(contextOf({ headers: { host: 'h' } }), database, id)).toBe(expected);
  });
});

describe('Destination', () => {
  const destination = (header: string) =>
    parseDestination(contextOf({ headers: { host: 'h:5984', destination: header } }), 'db');

  test.each([
    ['copy', { id: 'copy', rev: undefined }],
    ['copy?rev=1-a', { id: 'copy', rev: '1-a' }],
    ['a%2Fb%20c', { id: 'a/b c', rev: undefined }],
    ['a/b', { id: 'a/b', rev: undefined }],
    ['_design/x', { id: '_design/x', rev: undefined }],
    ['_design%2Fx', { id: '_design/x', rev: undefined }],
    ['_local/x?rev=0-1', { id: '_local/x', rev: '0-1' }],
    ['http://h:5984/db/copy?rev=1-a', { id: 'copy', rev: '1-a' }],
    ['http://h:5984/db/a%2Fb', { id: 'a/b', rev: undefined }],
    ['HTTP://H:5984/db/_design/x', { id: '_design/x', rev: undefined }],
  ])('%s', (header, expected) => {
    expect(destination(header)).toEqual(expected);
  });

  test.each([
    ['', 'Destination header is mandatory for COPY.'],
    ['http://elsewhere/db/copy', 'Destination URL must be relative.'],
    ['https://h:5984/db/copy', 'Destination URL must be relative.'],
    ['http://h:5984/other/copy', 'Destination must be in the database "db"; to copy into another one, read and write.'],
    ['http://h:5984/db/copy/att', 'Destination must name a document; write a / in its id as %2F.'],
    ['http://h:5984/db', 'Document id must not be empty'],
    ['a%zz', 'Destination "a%zz" is not valid percent-encoding; write a literal % as %25.'],
    ['_odd', 'Only reserved document ids may start with underscore.'],
  ])('"%s" is refused', (header, reason) => {
    expect(() => destination(header)).toThrow(expect.objectContaining({ code: 'bad_request', reason }));
  });

  test.each([
    ['http://h:5984/data/db/copy?rev=1-a', { id: 'copy', rev: '1-a' }],
    ['copy', { id: 'copy', rev: undefined }],
  ])('below a path: %s', (header, expected) => {
    const context = contextOf({ headers: { host: 'h:5984', destination: header } }, {}, '/data');
    expect(parseDestination(context, 'db')).toEqual(expected);
  });

  test.each(['http://h:5984/db/copy', 'http://h:5984/database/db/copy', 'http://h:5984'])(
    'outside of the path: %s is refused',
    (header) => {
      const context = contextOf({ headers: { host: 'h:5984', destination: header } }, {}, '/data');
      expect(() => parseDestination(context, 'db')).toThrow('bad_request: Destination URL must be relative.');
    },
  );

  test('must be there', () => {
    expect(() => parseDestination(contextOf({}), 'db')).toThrow('Destination header is mandatory for COPY.');
  });
});
