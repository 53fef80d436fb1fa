import { expect, test } from 'vitest';
import { RequestLog } from '../../../demo/src/data/request-log.ts';
import { asCurl, asFetch } from '../../../demo/src/data/request-text.ts';

const PLACES = { origin: 'http://127.0.0.1:5985', server: 'http://127.0.0.1:7000/' };
const ALONE = { ...PLACES, server: undefined };
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

test('a request of the browser is copied as curl for the copy at the server, and says so', () => {
  expect(asCurl(put, PLACES)).toBe(`# The database notes-phone is in this browser, where curl does not reach it.
# This asks the same of its copy at the server, settee-notes.
curl -X PUT 'http://127.0.0.1:7000/settee-notes/note-1?x=%27' \\
  -H 'Content-Type: application/json' \\
  --data-binary '{"text":"it'\\''s"}'`);
});

test('a request that only the browser can answer says that as curl, too', () => {
  const countries = { method: 'GET', path: '/db/countries/peru', contentType: undefined, body: undefined };
  const only = '# Only this browser has the database countries, and curl does not reach it.';
  expect(asCurl(countries, PLACES)).toBe(`${only}
# This asks the same of the server, which has no such database yet.
curl 'http://127.0.0.1:7000/countries/peru'`);
  expect(asCurl(countries, ALONE)).toBe(`${only}
# This asks the same of a server at the default address.
curl 'http://127.0.0.1:5984/countries/peru'`);
  // The views of the notes are not copied.
  const view = { ...countries, path: '/db/notes-phone/_design/notes/_view/words?limit=1' };
  expect(asCurl(view, PLACES)).toBe(`# Only this browser has the database notes-phone, and curl does not reach it.
# This asks the same of the server, which has no such database yet.
curl 'http://127.0.0.1:7000/notes-phone/_design/notes/_view/words?limit=1'`);
});

test('a request of the server is copied as curl for that server', () => {
  const request = { method: 'GET', path: '/server/settee-notes?limit=1', contentType: undefined, body: undefined };
  expect(asCurl(request, PLACES)).toBe("curl 'http://127.0.0.1:7000/settee-notes?limit=1'");
  expect(asCurl(request, ALONE)).toBe("curl 'http://127.0.0.1:5985/server/settee-notes?limit=1'");
});

test('the log learns from the responses where the server is', async () => {
  const log = new RequestLog();
  expect(log.server.address).toBe(undefined);
  log.use(async () => new Response('{}', { headers: { 'x-settee-server': 'http://127.0.0.1:7000' } }));
  await log.fetch('/server/settee-notes', {}, 'quiet');
  log.use(async () => new Response('{}'));
  await log.fetch('/db/notes', {}, 'quiet');
  expect(log.server.address).toBe('http://127.0.0.1:7000/');
});

test('a body that is no text, or too long, is named as missing', () => {
  expect(asFetch({ ...put, body: 'file' })).toContain('  body: file, // the body was a file\n');
  expect(asCurl({ ...put, body: 'long' }, PLACES)).toContain('# the body was too long to be kept here\ncurl -X PUT');
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
