import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Identity } from '../../../../src/accounts/contract.ts';
import type { ByteStream } from '../../../../src/base/shared/message.ts';
import { postReplicate } from '../../../../src/http/replication/replicate.ts';
import { isStream } from '../../../../src/http/request/bodies.ts';
import { noteTimers } from '../../../support/noted-timers.ts';
import { openReplicator, RESULT, settle } from '../../replication/jobs/support.ts';
import { contextOf, JSON_HEADERS, textOf } from '../support.ts';

const ANA = { name: 'ana', roles: [] };

let timers: ReturnType<typeof noteTimers> | undefined;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});

afterEach(() => {
  expect(timers?.running).toEqual([]);
  timers = undefined;
  vi.useRealTimers();
});

/** Passes turns until it is so: a machine may need any number of them. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await settle();
}

/** The response to a request whose replication takes longer than its head. `tokenMs`: how long the token of the request is valid. */
async function begin(tokenMs: number | undefined, service = openReplicator()) {
  timers ??= noteTimers();
  const noted = timers;
  const { replicator, runs } = service;
  const clock = { now: () => service.now, monotonic: () => 0 };
  const body = JSON.stringify({ source: 'a', target: 'b' });
  const context = contextOf({ method: 'POST', url: '/_replicate', headers: JSON_HEADERS, body }, {}, '', { clock });
  context.user = ANA;
  const ends = tokenMs === undefined ? undefined : service.now + tokenMs;
  const identity: Identity = {
    user: ANA,
    method: 'jwt',
    until: ends,
    recheck: () => ANA,
    recheckBeyondSession: () => ANA,
  };
  context.identity = identity;
  const pass = async (ms: number) => {
    service.now += ms;
    vi.advanceTimersByTime(ms);
    await settle();
  };
  // Of the wait for the result, and of the token with which the run begins.
  const expected = noted.running.length + (tokenMs === undefined || runs.length > 0 ? 1 : 2);
  const asked = postReplicate({ replicator }, context);
  await until(() => runs.length > 0 && noted.running.length === expected);
  await pass(10_000);
  const answer = await asked;
  if (!isStream(answer.body)) throw new Error('a stream was expected');
  const stream: ByteStream = answer.body;
  return { service, replicator, run: runs[0], stream, pass };
}

test('a late result is the body of the response', async () => {
  const { replicator, run, stream } = await begin(undefined);
  const text = textOf(stream);
  await settle();
  run?.finish();
  expect(JSON.parse(await text)).toEqual({ ok: true, ...RESULT });
  await replicator.close();
});

test('the response breaks off, and the run ends, when the token of the request expires', async () => {
  const { replicator, run, stream, pass } = await begin(60_000);
  const text = expect(textOf(stream)).rejects.toMatchObject({ code: 'unauthorized' });
  await settle();
  await pass(49_000);
  expect(run?.signal.aborted).toBe(false);
  await pass(1_000);
  await text;
  await until(() => replicator.jobs.list().length === 0);
  expect(run?.signal.aborted).toBe(true);
  await replicator.close();
});

test('only the response breaks off if the run began with a request whose token is valid longer', async () => {
  const { service, replicator, run, stream, pass } = await begin(120_000);
  const joined = await begin(60_000, service);
  const broken = expect(textOf(joined.stream)).rejects.toMatchObject({ code: 'unauthorized' });
  await settle();
  await pass(50_000);
  await broken;
  const text = textOf(stream);
  await settle();
  run?.finish();
  expect(JSON.parse(await text)).toMatchObject({ ok: true });
  expect(service.runs).toHaveLength(1);
  await replicator.close();
});

test('a client that disconnects ends its wait, and not the run', async () => {
  const { replicator, run, stream } = await begin(undefined);
  const next = stream.pull();
  await settle();
  await stream.cancel();
  await next.catch(() => undefined);
  expect([run?.signal.aborted, replicator.jobs.list().length]).toEqual([false, 1]);
  await replicator.close();
});
