import { describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/base/shared/clock.ts';
import { silentLog } from '../../../src/base/system/log.ts';
import type { PeerOutage } from '../../../src/replication/contract.ts';
import { PauseEnd } from '../../../src/replication/jobs/pause-end.ts';
import { SHORT_ANSWER } from '../../../src/replication/peers/client/answer.ts';
import { anonymous } from '../../../src/replication/peers/client/authorization.ts';
import { NetworkTransport } from '../../../src/replication/peers/client/network-transport.ts';
import { PeerClient } from '../../../src/replication/peers/client/peer-client.ts';
import { Reachability } from '../../../src/replication/reachability.ts';

const ORIGIN = 'https://app.test';
const URL = `${ORIGIN}/server/notes`;
const OF_PROXY = { 'content-type': 'text/html' };
const OF_FAMILY = { 'content-type': 'application/json' };

interface Answered {
  readonly headers: Record<string, string>;
  /** Whether the database itself can be read. */
  readonly isThere?: boolean;
  readonly body?: string;
}

/** Sends a request that gets this response twice. Returns its failure, and what was told meanwhile. */
async function failureWith(status: number, { headers, isThere = false, body = '{}' }: Answered) {
  const host = { origin: ORIGIN, reachability: new Reachability(), isOnline: () => true };
  const woken = vi.fn();
  host.reachability.next(ORIGIN, woken);
  const told: (PeerOutage | undefined)[] = [];
  const client = new PeerClient({
    transport: new NetworkTransport({
      url: URL,
      isBrowserFetch: false,
      fetch: async (input) =>
        isThere && new Request(input).url === URL
          ? new Response('{}', { status: 200, headers: OF_FAMILY })
          : new Response(body, { status, headers }),
    }),
    authorization: anonymous,
    headers: {},
    connections: 4,
    connectionTimeoutMs: 5_000,
    retriesPerRequest: 1,
    clock: systemClock,
    random: (bytes) => bytes,
    log: silentLog,
    signal: new AbortController().signal,
    host,
    onOutage: (outage) => told.push(outage),
  });
  const request = client.ask({ method: 'GET', path: '/x?y=1' }, (one) => one.json(SHORT_ANSWER));
  const failure: unknown = await request.catch((one: unknown) => one);
  return { failure, told, woken };
}

describe('a proxy that is there while the server behind it is not', () => {
  test.each([
    [502, OF_PROXY],
    [502, OF_FAMILY],
    [503, OF_PROXY],
    [504, OF_PROXY],
  ])('answers %i (%j) for the database, too: the server is offline', async (status, headers) => {
    const { failure, told, woken } = await failureWith(status, { headers });
    const reason = `${URL} can't be reached: a proxy answered in its place with ${status}`;
    expect(failure).toMatchObject({ code: 'replication_failed', reason, isRetryable: true, unreachable: ORIGIN });
    expect(told).toEqual([expect.objectContaining({ reason: `offline: ${reason}`, isOffline: true })]);
    // Other replications go on waiting: this was no response of the server.
    expect(woken).not.toHaveBeenCalled();
  });

  test('may say when to come again', async () => {
    const headers = { ...OF_PROXY, 'retry-after': '1' };
    const { failure } = await failureWith(503, { headers });
    expect(failure).toMatchObject({ unreachable: ORIGIN, retryAfterMs: 1_000 });
    const reachability = new Reachability();
    expect(new PauseEnd().expect(failure, { reachability, tokens: undefined }, () => undefined)).toBeUndefined();
  });

  test.each([
    [500, { headers: OF_PROXY }],
    [503, { headers: OF_FAMILY }],
    // One request was too much for it.
    [502, { headers: OF_PROXY, isThere: true }],
    [504, { headers: OF_PROXY, isThere: true }],
  ])('is not what %i (%j) means', async (status, answered) => {
    const { failure, told, woken } = await failureWith(status, answered);
    expect(failure).toMatchObject({ reason: `${URL} answered GET /x with ${status}`, unreachable: undefined });
    expect(told).not.toEqual([expect.objectContaining({ isOffline: true })]);
    expect(woken).toHaveBeenCalled();
  });

  test('is not what a server means that says why, as text', async () => {
    const body = '{"error":"service_unavailable","reason":"Busy."}';
    const { failure } = await failureWith(503, { headers: { 'content-type': 'text/plain' }, body });
    const reason = `${URL} answered GET /x with 503 service_unavailable: Busy.`;
    expect(failure).toMatchObject({ reason, unreachable: undefined });
  });
});
