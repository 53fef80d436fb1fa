import { expect, test } from 'vitest';
import { downloadHash } from '../../../../src/browser/bridge/wire.ts';
import { withDownload } from '../../../../src/browser/sw/service-worker-host.ts';

const URL = 'https://app.example/db/files/one/a.txt';
const response = { status: 200, headers: { etag: '"1"' }, body: null };

/** `Request` takes no mode of a navigation. */
function navigation(url: string): Request {
  return Object.assign(Object.create(Request.prototype, { url: { value: url }, mode: { value: 'navigate' } }));
}

test('a response that a link downloads gets the file name of the link, in any script', () => {
  expect(withDownload(navigation(URL + downloadHash("it's für (you)*.txt")), response)).toEqual({
    etag: '"1"',
    'content-disposition': "attachment; filename*=UTF-8''it%27s%20f%C3%BCr%20%28you%29%2A.txt",
  });
});

test('if the link has no file name, the browser makes one from the address', () => {
  expect(withDownload(navigation(URL + downloadHash('')), response)).toMatchObject({
    'content-disposition': 'attachment',
  });
});

test('a response keeps its own file name if the link has none', () => {
  const named = { 'content-disposition': 'attachment; filename="list.csv"' };
  expect(withDownload(navigation(URL + downloadHash('')), { ...response, headers: named })).toEqual(named);
  const shown = { 'content-disposition': 'inline' };
  expect(withDownload(navigation(URL + downloadHash('')), { ...response, headers: shown })).toEqual({
    'content-disposition': 'attachment',
  });
});

test('all other responses are unchanged: pages, script requests, failures, and empty names', () => {
  expect(withDownload(navigation(`${URL}#part`), response)).toEqual({ etag: '"1"' });
  expect(withDownload(new Request(URL + downloadHash('a')), response)).toEqual({ etag: '"1"' });
  expect(withDownload(navigation(URL + downloadHash('a')), { ...response, status: 404 })).toEqual({ etag: '"1"' });
  expect(withDownload(navigation(`${URL}#settee-download=%E0%A4%A`), response)).toEqual({ etag: '"1"' });
});
