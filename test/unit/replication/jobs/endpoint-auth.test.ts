/** The member `auth` of a source or target (docs/http/replication.md#credentials-of-endpoints). */
import { describe, expect, test } from 'vitest';
import { isDatabaseError } from '../../../../src/base/errors/database-error.ts';
import { type AuthOptions, parseAuth } from '../../../../src/replication/jobs/endpoint-auth.ts';

const IN_BROWSER: AuthOptions = { canSendSession: true, canAskForTokens: true };

function reasonOf(value: unknown, options: AuthOptions = IN_BROWSER): string {
  try {
    parseAuth('source.auth', value, options);
  } catch (error) {
    if (isDatabaseError(error, 'bad_request')) return error.reason;
    throw error;
  }
  return 'no error';
}

test('each kind is read', () => {
  const read = (value: unknown) => parseAuth('source.auth', value, IN_BROWSER);
  expect(read(undefined)).toBeUndefined();
  expect(read({ basic: { username: 'ana', password: 'pw' } })).toEqual({
    kind: 'password',
    name: 'ana',
    password: 'pw',
  });
  expect(read({ session: true })).toEqual({ kind: 'session' });
  expect(read({ bearer: { token: 'eyJhbGciOiJI.eyJzdWIi.c2ln-_~+/==' } })).toEqual({
    kind: 'bearer',
    token: 'eyJhbGciOiJI.eyJzdWIi.c2ln-_~+/==',
  });
  expect(read({ bearer: { provided: true } })).toEqual({ kind: 'bearer' });
  expect(read({ session: true, basic: null })).toEqual({ kind: 'session' });
});

test('a fixed token can be used everywhere', () => {
  expect(parseAuth('source.auth', { bearer: { token: 'abc' } }, {})).toEqual({ kind: 'bearer', token: 'abc' });
});

describe('is refused', () => {
  const ONE =
    "`source.auth' must have exactly one of basic, oauth, session, bearer: write one of them, or remove `source.auth'.";
  const EITHER = "`source.auth.bearer' must be an object with either a string `token' or `provided': true.";
  const TOKEN =
    "`source.auth.bearer.token' must be a bearer token as it is sent in the header Authorization, without the word Bearer: letters, digits and -._~+/, at most 16384 characters.";

  test.each([
    ['yes', "`source.auth' must be a non-null object."],
    [{}, ONE],
    [{ iam: { api_key: 'x' } }, ONE],
    [{ session: true, bearer: { provided: true } }, ONE],
    [{ basic: { username: 'a', password: 'b' }, session: true }, ONE],
    [{ session: false }, "`source.auth.session' must be true; without a session, remove it."],
    [{ bearer: {} }, EITHER],
    [{ bearer: 'abc' }, EITHER],
    [{ bearer: { token: 'abc', provided: true } }, EITHER],
    [{ bearer: { provided: 1 } }, "`source.auth.bearer.provided' must be true; without it, give a `token'."],
    [{ bearer: { token: 'Bearer abc' } }, TOKEN],
    [{ bearer: { token: 'abc\r\nX-Other: 1' } }, TOKEN],
    [{ bearer: { token: '' } }, TOKEN],
    [{ bearer: { token: 7 } }, TOKEN],
    [{ bearer: { token: 'x'.repeat(16_385) } }, TOKEN],
  ])('%j', (value, reason) => {
    expect(reasonOf(value)).toBe(reason);
  });

  test('what only a browser has, on a server', () => {
    expect(reasonOf({ session: true }, {})).toBe(
      "`source.auth.session' means the session that a user of a page has at the other server, and this service does not run in a browser. Use basic or bearer.",
    );
    expect(reasonOf({ bearer: { provided: true } }, {})).toBe(
      "`source.auth.bearer.provided' means a token from the app in a page, and this service has no such app. Give a `token'.",
    );
  });

  test('never with the secret in the reason', () => {
    expect(reasonOf({ bearer: { token: 'hunter2 hunter2' } })).not.toContain('hunter2');
  });
});
