import { describe, expect, test } from 'vitest';
import { JOE, LIVE, ONCE, open, post, resultOf, states, useReplicators } from './opened-replicators.ts';
import { failure, RESULT, settle } from './support.ts';

useReplicators();

describe('a replication that runs once', () => {
  test('answers with its result, and its job is forgotten', async () => {
    const service = open();
    const outcome = await post(service, ONCE);
    await settle();
    expect(service.runs).toHaveLength(1);
    expect(service.tasks.list()).toMatchObject([{ type: 'replication', source: 'a', target: 'b', continuous: false }]);
    service.runs[0]?.finish();
    expect(await resultOf(outcome)).toEqual(RESULT);
    expect(service.replicator.jobs.list()).toEqual([]);
    await settle();
    expect(service.tasks.list()).toEqual([]);
  });

  test('is joined by an equal request of the same user only', async () => {
    const service = open();
    const outcomes = [await post(service, ONCE), await post(service, ONCE)];
    const other = await post(service, ONCE, JOE);
    await settle();
    expect(service.runs).toHaveLength(2);
    service.runs[0]?.finish();
    expect(await Promise.all(outcomes.map(resultOf))).toEqual([RESULT, RESULT]);
    service.runs[1]?.fail(failure());
    await expect(resultOf(other)).rejects.toThrow('the peer is gone');
  });

  test('is not tried again after a failure', async () => {
    const service = open();
    const outcome = await post(service, ONCE);
    await settle();
    service.runs[0]?.fail(failure());
    await expect(resultOf(outcome)).rejects.toThrow('the peer is gone');
    expect(states(service)).toEqual([]);
  });
});

describe('cancelling a replication', () => {
  test('works by the same request, and by id', async () => {
    const service = open();
    const started = await post(service, LIVE);
    await settle();
    expect(started).toEqual({ kind: 'started', id: expect.stringMatching(/^[\da-f]{32}\+continuous$/) });
    const id = service.replicator.jobs.list()[0]?.id;
    expect(await post(service, { ...LIVE, cancel: true })).toEqual({ kind: 'cancelled', id });
    expect(service.runs[0]?.signal.aborted).toBe(true);
    expect(await post(service, { ...LIVE, cancel: true })).toEqual({ kind: 'unknown' });
    expect(await post(service, LIVE)).toEqual(started);
    expect(await post(service, { cancel: true, replication_id: id })).toEqual({ kind: 'cancelled', id });
    expect(await post(service, { cancel: true, replication_id: id })).toEqual({ kind: 'unknown' });
  });

  test('of another user is refused, except for admins', async () => {
    const service = open();
    const started = await post(service, LIVE, JOE);
    const ann = { name: 'ann', roles: [] };
    const text = "Can't cancel a replication triggered by another user";
    await expect(post(service, { ...LIVE, cancel: true }, ann)).rejects.toThrow(`unauthorized: ${text}`);
    const id = started.kind === 'started' ? started.id : '';
    await expect(post(service, { cancel: true, id }, ann)).rejects.toThrow(text);
    expect(await post(service, { ...LIVE, cancel: true })).toEqual({ kind: 'cancelled', id });
  });

  test('notifies clients that wait for the result', async () => {
    const service = open();
    const waiting = resultOf(await post(service, ONCE));
    const told = expect(waiting).rejects.toThrow('The replication was cancelled.');
    await post(service, { ...ONCE, cancel: true });
    await told;
  });
});

test('the text of the filter function is part of the replication id', async () => {
  const service = open({ readFilter: async (_replication, filter) => `function of ${filter}` });
  const one = await post(service, { ...LIVE, filter: 'd/f' });
  const other = await post(service, { ...LIVE, filter: 'd/g' });
  expect(one).not.toEqual(other);
  await post(service, { ...LIVE, filter: '_design' });
});

test('closing ends all replications, and refuses later requests', async () => {
  const service = open();
  const waiting = resultOf(await post(service, ONCE));
  const told = expect(waiting).rejects.toThrow('shutting_down');
  await settle();
  await service.replicator.close();
  await told;
  expect(service.runs[0]?.signal.aborted).toBe(true);
  await expect(post(service, LIVE)).rejects.toThrow('shutting_down');
});
