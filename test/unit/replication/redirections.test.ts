import { describe, expect, test } from 'vitest';
import { type Sent, sendOn } from '../../../src/replication/peers/client/redirections.ts';

interface Asked extends Sent {
  readonly address: string;
  /** As an address that is not the peer's. */
  readonly isElsewhere?: true;
}

const POST: Sent = {
  method: 'POST',
  headers: { accept: 'application/json', 'content-type': 'application/json' },
  ownHeaders: { 'x-api-key': 'secret', authorization: 'Basic x' },
  body: '{}',
};

/** Answers with these redirections, and then with 200. */
async function follow(
  hops: readonly (readonly [status: number, location: string])[],
  sent = POST,
  isConfidential = false,
) {
  const asked: Asked[] = [];
  const note = (what: Asked) => {
    const hop = hops[asked.length];
    asked.push(what);
    return hop === undefined
      ? new Response('end')
      : new Response(null, { status: hop[0], headers: { location: hop[1] } });
  };
  const send = async (address: string, what: Sent) => note({ address, ...what });
  const sendElsewhere = async (address: string, what: Sent) => {
    if (address.startsWith('http://refused.test')) throw new TypeError('fetch failed', { cause: new Error('no') });
    return note({ address, ...what, isElsewhere: true });
  };
  const response = await sendOn('http://a.test/db', sent, { send, sendElsewhere, isConfidential });
  return { asked, response };
}

function causeOf(failure: unknown): string {
  return failure instanceof TypeError && failure.cause instanceof Error ? failure.cause.message : String(failure);
}

test('a redirection within an origin keeps all headers', async () => {
  const { asked, response } = await follow([
    [307, '/other'],
    [308, 'http://a.test:80/last'],
  ]);
  expect(asked).toEqual([
    { address: 'http://a.test/db', ...POST },
    { address: 'http://a.test/other', ...POST },
    { address: 'http://a.test/last', ...POST },
  ]);
  expect(await response.text()).toBe('end');
});

test.each(['http://b.test/db', 'https://a.test/db', 'http://a.test:81/db', '//b.test/db'])(
  "a redirection to %s drops headers for the first origin, and they don't come back",
  async (location) => {
    const { asked } = await follow([
      [307, location],
      [307, 'http://a.test/db'],
    ]);
    expect(asked[1]).toMatchObject({ body: '{}', headers: POST.headers, ownHeaders: {} });
    expect(asked[2]).toMatchObject({ address: 'http://a.test/db', ownHeaders: {} });
  },
);

test.each([
  ['http://a.test/x', undefined],
  ['https://a.test/x', undefined],
  ['http://a.test:81/x', true],
  ['http://b.test/x', true],
])('a redirection to %s is treated as remote: %s', async (location, isElsewhere) => {
  const { asked } = await follow([
    [307, location],
    [307, '/next'],
    [307, 'http://a.test/db'],
  ]);
  expect(asked.map((one) => one.isElsewhere)).toEqual([undefined, isElsewhere, isElsewhere, undefined]);
});

test.each([
  [301, 'POST', 'GET'],
  [302, 'POST', 'GET'],
  [303, 'POST', 'GET'],
  [303, 'PUT', 'GET'],
  [303, 'HEAD', 'HEAD'],
  [301, 'PUT', 'PUT'],
  [307, 'POST', 'POST'],
  [308, 'PUT', 'PUT'],
])('after %i a %s becomes a %s', async (status, method, expected) => {
  const { asked } = await follow([[status, '/x']], { ...POST, method });
  expect(asked[1]?.method).toBe(expected);
  expect('body' in (asked[1] ?? {})).toBe(expected !== 'GET');
  if (expected === 'GET') expect(asked[1]?.headers).toEqual({ accept: 'application/json' });
});

test('name and password in a Location are not used', async () => {
  const { asked } = await follow([[307, 'http://joe:pw@b.test/db']]);
  expect(asked[1]?.address).toBe('http://b.test/db');
});

test('a redirection without a Location is the response', async () => {
  const response = new Response(null, { status: 304 });
  const send = async () => response;
  const sending = { send, sendElsewhere: send, isConfidential: false };
  expect(await sendOn('http://a.test/', POST, sending)).toBe(response);
});

describe('a redirection fails', () => {
  test('if the body is secret and the target is another origin', async () => {
    expect((await follow([[307, '/x']], POST, true)).asked).toHaveLength(2);
    expect(causeOf(await follow([[307, 'http://b.test/']], POST, true).catch((error) => error))).toMatch(
      /another server/,
    );
  });

  test("if another server can't be requested, with its name", async () => {
    const error: unknown = await follow([[307, 'http://refused.test/db']]).catch((failure) => failure);
    expect(causeOf(error)).toBe('it redirects to http://refused.test, and no');
  });

  test.each(['ftp://a.test/', 'http://', 'javascript:1'])('if it leads to %s', async (location) => {
    expect(causeOf(await follow([[307, location]]).catch((error) => error))).toMatch(/invalid URL/);
  });

  test('after too many redirections', async () => {
    const hops = Array.from({ length: 30 }, () => [307, '/x'] as const);
    expect(causeOf(await follow(hops).catch((error) => error))).toMatch(/too many redirects/);
  });

  test('for a body that can be sent once only', async () => {
    const sent = { ...POST, body: new ReadableStream() };
    expect(causeOf(await follow([[307, '/x']], sent).catch((error) => error))).toMatch(/sent only once/);
  });
});
