import { expect, test } from 'vitest';
import { Service, useServices } from './support.ts';

useServices();

const ADMIN = { name: 'root', roles: ['_admin'] };
const ANA = { name: 'ana', roles: [] };
const NOBODY = 'http://127.0.0.1:1/db';

/** Why the replication of such a document has failed. */
async function failureOf(service: Service, id: string, members: object): Promise<string> {
  const source = { url: NOBODY, headers: { 'X-Forwarded-For': '192.0.2.1' } };
  await service.must(`PUT /_replicator/${id}`, { source, target: 'a', retries_per_request: 0, ...members });
  const document = await service.untilState(id, 'error');
  return String(document['_replication_state_reason']);
}

test('headers for proxies are accepted in documents of admins only', async () => {
  const service = await Service.start({ admins: { root: 'x' } }, ADMIN);
  for (const name of ['a', '_users', '_replicator']) await service.ask(`PUT /${name}`);
  await service.must('PUT /_users/org.couchdb.user:ana', { name: 'ana', password: 'x', roles: [], type: 'user' });
  expect(await failureOf(service, 'anas', { owner: 'ana', user_ctx: ANA })).toMatch(/X-Forwarded-For/);
  // These have no such fault, but nothing to reach here.
  const elsewhere = /can reach no other servers/;
  expect(await failureOf(service, 'roots', { owner: 'root' })).toMatch(elsewhere);
  expect(await failureOf(service, 'for ana', { owner: 'root', user_ctx: ANA })).toMatch(elsewhere);
  // A proxy or a token may name somebody so who is no admin.
  const namesake = { owner: 'root', user_ctx: { name: 'root', roles: [] } };
  expect(await failureOf(service, 'namesakes', namesake)).toMatch(/X-Forwarded-For/);
});
