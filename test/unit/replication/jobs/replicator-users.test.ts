import { describe, expect, test } from 'vitest';
import { ReplicationError } from '../../../../src/replication/failure.ts';
import { JOE, LIVE, open, post, useReplicators } from './opened-replicators.ts';
import { settle } from './support.ts';

useReplicators();

describe('a user who is not an admin', () => {
  const NAMELESS = { name: null, roles: [] };

  test('can request a limited number of replications', async () => {
    const service = open({ settings: { max_jobs_per_user: '2' } });
    for (const user of [JOE, NAMELESS]) {
      for (const target of ['b', 'c']) await post(service, { ...LIVE, target }, user);
      await expect(post(service, { ...LIVE, target: 'd' }, user)).rejects.toMatchObject({ code: 'too_many_requests' });
      // The same as before is no other one.
      expect(await post(service, LIVE, user)).toMatchObject({ kind: 'started' });
    }
    for (const target of ['b', 'c', 'd']) await post(service, { ...LIVE, target });
    await post(service, { ...LIVE, cancel: true }, JOE);
    expect(await post(service, { ...LIVE, target: 'd' }, JOE)).toMatchObject({ kind: 'started' });
  });

  test('can request no more while all users together have the maximum', async () => {
    const service = open({ settings: { max_jobs_of_users: '2' } });
    await post(service, LIVE, JOE);
    await post(service, LIVE, NAMELESS);
    const other = { name: 'jane', roles: [] };
    await expect(post(service, LIVE, other)).rejects.toMatchObject({ code: 'too_busy' });
    expect(await post(service, LIVE)).toMatchObject({ kind: 'started' });
  });
});

test('the ids of users take bounded memory, and those of an admin are unlimited', async () => {
  const service = open();
  // Each takes 100 bytes and two for each of its eight characters: 300,000 of them 35 MB.
  const idsFrom = (first: number, count: number) =>
    Array.from({ length: count }, (_, n) => `${first + n}`.padStart(8, '0'));
  const ask = (target: string, count: number, user?: { name: string | null; roles: string[] }) =>
    post(service, { ...LIVE, target, doc_ids: idsFrom(count, count) }, user);
  await expect(ask('b', 600_000, JOE)).rejects.toMatchObject({ code: 'too_large' });
  expect(await ask('b', 300_000, JOE)).toMatchObject({ kind: 'started' });
  await expect(ask('c', 300_000, JOE)).rejects.toMatchObject({ code: 'too_many_requests' });
  expect(await ask('c', 200_000, JOE)).toMatchObject({ kind: 'started' });
  const jane = { name: 'jane', roles: [] };
  await expect(ask('b', 400_000, jane)).rejects.toMatchObject({ code: 'too_busy' });
  expect(await ask('b', 300_000, jane)).toMatchObject({ kind: 'started' });
  expect(await ask('b', 600_000)).toMatchObject({ kind: 'started' });
  // What others take is free when they are done.
  await post(service, { ...LIVE, target: 'b', doc_ids: idsFrom(300_000, 300_000), cancel: true }, JOE);
  expect(await ask('d', 300_000, JOE)).toMatchObject({ kind: 'started' });
});

const gone = () => new ReplicationError('not_found', 'could not open it', { isRetryable: true });

test('replications of users are logged as entries of clients', async () => {
  const service = open();
  await post(service, LIVE, JOE);
  await post(service, { ...LIVE, target: 'd' });
  await settle();
  for (const run of service.runs) run.fail(gone());
  await settle();
  const told = service.logged.map((line) => line.replace(/replication \S+ /, ''));
  expect(told).toEqual([
    expect.stringMatching(/^of a client \[info\] started: a to b$/),
    expect.stringMatching(/^started: a to d$/),
    expect.stringMatching(/^of a client \[info\] failed \(a to b\)/),
    expect.stringMatching(/^failed \(a to d\)/),
  ]);
});

test('ten accounts at one address leave others their share, and an admin is unlimited', async () => {
  const service = open({ settings: { max_jobs_of_users: '200' } });
  let number = 0;
  const ask = (user: { name: string | null; roles: string[] }, address: string) => {
    const origin = { user, ownBases: [], address };
    return service.replicator.replicate({ ...LIVE, target: `t${++number}` }, origin);
  };
  const refused = {
    code: 'too_many_requests',
    reason: expect.stringMatching(/^Clients at this address have 100 replications/),
  };
  for (let n = 0; n < 100; n++) await ask({ name: `user${n % 10}`, roles: [] }, `2001:db8::${n}`);
  await expect(ask({ name: 'user10', roles: [] }, '2001:db8:0:0:1::1')).rejects.toMatchObject(refused);
  await expect(ask({ name: null, roles: [] }, '2001:db8::')).rejects.toMatchObject(refused);
  // The next address has half of what is left, or few in any case.
  for (let n = 0; n < 50; n++) await ask(JOE, '192.0.2.1');
  await expect(ask(JOE, '192.0.2.1')).rejects.toMatchObject({ code: 'too_many_requests' });
  for (let n = 0; n < 50; n++) await ask(JOE, n % 2 === 0 ? '192.0.2.2' : '192.0.2.3');
  await expect(ask(JOE, '192.0.2.4')).rejects.toMatchObject({ code: 'too_busy' });
  await ask({ name: 'root', roles: ['_admin'] }, '192.0.2.1');
});
