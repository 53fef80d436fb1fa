import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { atOnce } from '../../../../src/base/shared/turn.ts';
import type { Replication } from '../../../../src/replication/contract.ts';
import { replicationId } from '../../../../src/replication/jobs/replication-id.ts';
import { parseReplication } from '../../../../src/replication/jobs/replication-request.ts';
import { ADMIN, openReplicator } from './support.ts';

function replication(body: object, user: Replication['user'] = ADMIN): Replication {
  return atOnce(parseReplication({ source: 'a', target: 'https://joe:pw@example.org/b', ...body }, optionsOf(user)));
}

function optionsOf(user: Replication['user']) {
  return openReplicator().replicator.requestOptions({ user, ownBases: [] });
}

async function idOf(body: object, user?: Replication['user'], filter?: string): Promise<string> {
  return (await replicationId(replication(body, user), 'uuid', filter)).full;
}

test('a replication id is a stable digest of what is copied', async () => {
  const text = '["uuid",["local","a"],["remote","https://example.org/b",[],["joe"]],null,null,["_admin"]]';
  expect(await idOf({})).toBe(createHash('md5').update(text).digest('hex'));
});

test("options and secrets don't change the replication id", async () => {
  const id = await idOf({});
  expect(await idOf({ worker_batch_size: 7, since_seq: 3, use_checkpoints: false, proxy: 'http://p' })).toBe(id);
  expect(await idOf({ target: 'https://joe:other@example.org/b' })).toBe(id);
  const target = (token: string) => ({ url: 'https://example.org/b', headers: { Authorization: token } });
  expect(await idOf({ target: target('a') })).toBe(await idOf({ target: target('b') }));
  // All admins are one.
  expect(await idOf({}, { name: 'root', roles: ['_admin', 'x'] })).toBe(id);
});

test('another selection, source or target changes the replication id', async () => {
  const ids = [
    await idOf({}),
    await idOf({ source: 'c' }),
    await idOf({ target: 'https://ann:pw@example.org/b' }),
    await idOf({ target: { url: 'https://example.org/b', headers: { 'x-tenant': '1' } } }),
    await idOf({ target: { url: 'https://example.org/b', headers: { 'x-tenant': '2' } } }),
    await idOf({ doc_ids: ['x'] }),
    await idOf({ selector: { x: 1 } }),
    await idOf({ filter: 'd/f' }, ADMIN, 'one'),
    await idOf({ filter: 'd/f' }, ADMIN, 'two'),
    await idOf({ filter: 'd/f', query_params: { a: '1' } }, ADMIN, 'one'),
    await idOf({}, { name: 'joe', roles: [] }),
    await idOf({}, { name: 'joe', roles: ['staff'] }),
  ];
  expect(new Set(ids).size).toBe(ids.length);
});

test('continuous and create_target are appended to the replication id', async () => {
  const { base, full } = await replicationId(replication({ continuous: true, create_target: true }), 'uuid');
  expect(base).toBe(await idOf({}));
  expect(full).toBe(`${base}+continuous+create_target`);
});

test('an equal replication of another user is found without the user', async () => {
  const mine = await replicationId(replication({ continuous: true }), 'uuid');
  const yours = await replicationId(replication({ continuous: true }, { name: 'joe', roles: [] }), 'uuid');
  expect(mine.full).not.toBe(yours.full);
  expect(mine.anyUser).toBe(yours.anyUser);
});

test("a replication by an admin with a user's rights differs from the user's own", async () => {
  const bob = { name: 'bob', roles: ['team'] };
  const { replicator } = openReplicator();
  const byAdmin = replicator.requestOptions({ user: bob, ownBases: [] }, { isAdmin: true, address: '' });
  const body = { source: 'a', target: 'b', continuous: true };
  const own = await replicationId(replication({ target: 'b', continuous: true }, bob), 'uuid');
  const other = await replicationId(atOnce(parseReplication(body, byAdmin)), 'uuid');
  expect(other.base).not.toBe(own.base);
  expect(other.full).not.toBe(own.full);
});
