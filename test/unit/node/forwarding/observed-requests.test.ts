import { expect, test } from 'vitest';
import type { PlainRequest } from '../../../../src/base/shared/message.ts';
import { connect, ok, request, serve, useServers } from './linked-servers.ts';

useServers();

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const headers = { 'x-a': 'b', traceparent: `00-${TRACE}-b7ad6b7169203331-01`, tracestate: 'vendor=1' };

test('a request carries its trace to another server, which is a part of its own, and passes that on', async () => {
  const seen: PlainRequest[] = [];
  const last = await serve((arrived) => {
    seen.push(arrived);
    return ok;
  });
  const links = connect();
  const first = await serve((arrived) => {
    seen.push(arrived);
    return links.forward(last.url, arrived);
  });
  await connect().forward(first.url, request('GET', { headers }));
  const parents = seen.map(({ observed }) => observed?.trace?.['traceparent']);
  for (const parent of parents) expect(parent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
  expect(new Set([headers.traceparent, ...parents]).size).toBe(3);
  for (const { headers: arrived, observed } of seen) {
    expect(arrived).toEqual({ 'x-a': 'b', ...observed?.trace });
    expect(observed?.trace?.['tracestate']).toBe('vendor=1');
  }
});

test('a request without a valid trace arrives as it is, and is not observed', async () => {
  let seen: PlainRequest | undefined;
  const { url } = await serve((arrived) => {
    seen = arrived;
    return ok;
  });
  const invalid = { traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` };
  await connect().forward(url, request('GET', { headers: invalid }));
  expect(seen?.headers).toEqual(invalid);
  expect(seen?.observed).toBeUndefined();
});

test.each(['ana', null])('the server that answers says whose request it was: %j', async (user) => {
  const { url } = await serve((arrived) => {
    if (arrived.observed !== undefined) arrived.observed.user = user;
    return { status: 200, headers: {}, body: 'long '.repeat(user === null ? 1 : 100_000) };
  });
  const observed: NonNullable<PlainRequest['observed']> = {};
  const answer = await connect().forward(url, request('GET', { observed }));
  expect(observed.user).toBe(user);
  // Nothing of it is in what clients get.
  expect(Object.keys(answer.headers)).toEqual(['content-type']);
});
