import { expect, test } from 'vitest';
import { RequestLog } from '../../../demo/src/data/request-log.ts';
import { asCurl, asFetch } from '../../../demo/src/data/request-text.ts';

const ORIGIN = 'http://127.0.0.1:5985';
const put = {
  method: 'PUT',
  path: '/db/notes-phone/note-1?x=%27',
  contentType: 'application/json',
  body: { text: '{"text":"it\'s"}' },
} as const;

test('a request is copied as fetch, with its body as an expression', () => {
  expect(asFetch(put)).toBe(`await fetch('/db/notes-phone/note-1?x=%27', {
  method: 'PUT',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({
    "text": "it's"
  }),
});`);
  expect(asFetch({ method: 'GET', path: '/db/notes-phone', contentType: undefined, body: undefined })).toBe(
    "await fetch('/db/notes-phone');",
  );
});

test('a request of the browser is copied as curl for a server, and says so', () => {
  expect(
    asCurl(put, ORIGIN),
  ).toBe(`# curl does not reach the database in this browser: this asks the same of a Settee server.
curl -X PUT 'http://127.0.0.1:5984/notes-phone/note-1?x=%27' \\
  -H 'Content-Type: application/json' \\
  --data-binary '{"text":"it'\\''s"}'`);
});

test('a request of the server is copied as curl for that server', () => {
  const request = { method: 'GET', path: '/server/settee-notes', contentType: undefined, body: undefined };
  expect(asCurl(request, ORIGIN)).toBe("curl 'http://127.0.0.1:5985/server/settee-notes'");
});

test('a body that is no text, or too long, is named as missing', () => {
  expect(asFetch({ ...put, body: 'file' })).toContain('  body: file, // the body was a file\n');
  expect(asCurl({ ...put, body: 'long' }, ORIGIN)).toContain('# the body was too long to be kept here\ncurl -X PUT');
});

test('the log keeps what was sent, and the path as it can be read', async () => {
  const log = new RequestLog();
  log.use(async () => new Response('{}', { status: 201 }));
  const headers = { 'Content-Type': 'application/json' };
  await log.fetch('/db/notes?startkey=%22a%22', { method: 'POST', headers, body: '{}' });
  await log.fetch('/db/notes', { method: 'PUT', headers, body: 'x'.repeat(300_001) });
  await log.fetch('/db/notes', { headers }, 'quiet');
  expect(log.entries).toEqual([
    expect.objectContaining({
      method: 'PUT',
      sent: { method: 'PUT', path: '/db/notes', contentType: 'application/json', body: 'long' },
    }),
    expect.objectContaining({
      path: '/db/notes?startkey="a"',
      sent: {
        method: 'POST',
        path: '/db/notes?startkey=%22a%22',
        contentType: 'application/json',
        body: { text: '{}' },
      },
    }),
  ]);
});
