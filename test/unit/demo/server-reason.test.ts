import { afterEach, expect, test, vi } from 'vitest';
import {
  describeReason,
  type ServerReason,
  whyNotReached,
  whyNotRead,
} from '../../../demo/src/following/server-reason.ts';

afterEach(() => void vi.unstubAllGlobals());

const json = (status: number, body: object) => new Response(JSON.stringify(body), { status });
const refusal = (status: number, reason: string) => json(status, { error: 'x', reason });

/** What these responses mean: to the creation, and to a read after it. */
function why(...answers: readonly (Response | Error)[]): Promise<ServerReason | undefined> {
  const left = [...answers];
  return whyNotReached('settee-notes', async () => {
    const answer = left.shift();
    if (!(answer instanceof Response)) throw answer ?? new Error('no more responses');
    return answer;
  });
}

test('a server that makes the database, or has it, is used', async () => {
  expect(await why(json(201, { ok: true }))).toBe(undefined);
  // Only the admin may make it, but it is there.
  expect(await why(refusal(401, 'You are not a server admin.'), json(200, { db_name: 'settee-notes' }))).toBe(
    undefined,
  );
});

test('no response, or one from a proxy, means that no server can be reached', async () => {
  vi.stubGlobal('navigator', { onLine: false });
  expect(await why(new TypeError('failed'))).toEqual({ kind: 'offline' });
  vi.stubGlobal('navigator', { onLine: true });
  expect(await why(new TypeError('failed'))).toEqual({ kind: 'unreachable' });
  expect(await why(new Response('The database server can’t be reached.', { status: 502 }))).toEqual({
    kind: 'unreachable',
  });
});

test('what is no JSON comes from a server of files', async () => {
  const files = { kind: 'static' };
  expect(await why(new Response('Only GET and HEAD are supported.', { status: 405 }))).toEqual(files);
  expect(await why(new Response('<!doctype html><title>Not found</title>', { status: 404 }))).toEqual(files);
  // Some send the same page for every address.
  expect(await why(new Response('<!doctype html><title>App</title>', { status: 200 }))).toEqual(files);
});

test('a refusal is passed on in the words of the server', async () => {
  expect(await why(refusal(403, 'Too many databases'))).toEqual({
    kind: 'refused',
    status: 403,
    reason: 'Too many databases',
  });
  expect(await why(refusal(401, 'Log in'), refusal(404, 'Database does not exist.'))).toEqual({
    kind: 'refused',
    status: 401,
    reason: 'only its admin may make the database settee-notes there',
  });
  expect(await whyNotRead('settee-notes', async () => refusal(401, 'Log in'))).toEqual({
    kind: 'refused',
    status: 401,
    reason: 'Log in',
  });
});

test('each reason is a sentence that says what to do', () => {
  const address = 'http://127.0.0.1:7000/';
  expect(describeReason({ kind: 'unreachable' }, address)).toBe(
    'No server answers at http://127.0.0.1:7000/. Start it with npm start.',
  );
  expect(describeReason({ kind: 'unreachable' }, undefined)).toBe('No server answers. Start it with npm start.');
  expect(describeReason({ kind: 'static' }, undefined)).toBe(
    'This page is served as files, without a database server beside it. With npm start it has one.',
  );
  expect(describeReason({ kind: 'refused', status: 403, reason: 'Too many databases' }, address)).toBe(
    'The server refuses: Too many databases.',
  );
  expect(describeReason({ kind: 'offline' }, address)).toBe('This device has no network.');
});
