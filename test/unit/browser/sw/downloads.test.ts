import { expect, test } from 'vitest';
import { downloadHash } from '../../../../src/browser/bridge/wire.ts';
import { withDownload } from '../../../../src/browser/sw/service-worker-host.ts';

const URL = 'https://app.example/db/files/one/a.txt';
const response = { status: 200, headers: { etag: '"1"' }, body: null };

/** `Request` takes no mode of a navigation. */
function navigation(url: string): Request {
  return Object.assign(Object.create(Request.prototype, { url: { value: url }, mode: { value: 'navigate' } }));
}

test('an answer that is to be saved has the name of the link, in any letters', () => {
  expect(withDownload(navigation(URL + downloadHash("it's für (you)*.txt")), response)).toEqual({
    etag: '"1"',
    'content-disposition': "attachment; filename*=UTF-8''it%27s%20f%C3%BCr%20%28you%29%2A.txt",
  });
});

test('where the link gives none the browser makes one of the address', () => {
  expect(withDownload(navigation(URL + downloadHash('')), response)).toMatchObject({
    'content-disposition': 'attachment',
  });
});

test('an answer keeps the name that it has itself where the link gives none', () => {
  const named = { 'content-disposition': 'attachment; filename="list.csv"' };
  expect(withDownload(navigation(URL + downloadHash('')), { ...response, headers: named })).toEqual(named);
  const shown = { 'content-disposition': 'inline' };
  expect(withDownload(navigation(URL + downloadHash('')), { ...response, headers: shown })).toEqual({
    'content-disposition': 'attachment',
  });
});

test('all others are as they were: pages, requests of scripts, failures, and names that are none', () => {
  expect(withDownload(navigation(`${URL}#part`), response)).toEqual({ etag: '"1"' });
  expect(withDownload(new Request(URL + downloadHash('a')), response)).toEqual({ etag: '"1"' });
  expect(withDownload(navigation(URL + downloadHash('a')), { ...response, status: 404 })).toEqual({ etag: '"1"' });
  expect(withDownload(navigation(`${URL}#settee-download=%E0%A4%A`), response)).toEqual({ etag: '"1"' });
});
