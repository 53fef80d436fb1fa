import { expect, test } from 'vitest';
import type { DatabaseUser } from '../../../../src/database/store/contract.ts';
import { DocumentSemaphore } from '../../../../src/replication/documents/document-semaphore.ts';
import { Service, useServices } from './support.ts';

useServices();

const ANA: DatabaseUser = { name: 'ana', roles: [] };
const BOB: DatabaseUser = { name: 'bob', roles: [] };
const ADMIN: DatabaseUser = { name: 'root', roles: ['_admin'] };

/** Documents by their names; those that have begun, in that order. */
function open(maxJobsPerUser: number, maxJobsOfUsers: number) {
  const semaphore = new DocumentSemaphore(() => ({ maxJobsPerUser, maxJobsOfUsers }));
  const begun: string[] = [];
  const documentOf = (name: string, user: DatabaseUser) => {
    const document = {
      why: undefined as string | undefined,
      begin: () => {
        document.why = semaphore.tryAcquire(document, user);
        if (document.why === undefined) begun.push(name);
      },
      giveWay: () => {
        begun.splice(begun.indexOf(name), 1);
        document.begin();
      },
    };
    document.begin();
    return document;
  };
  return { semaphore, begun, documentOf };
}

test('each user has a limited number of documents that run, and the next starts when one ends', () => {
  const { semaphore, begun, documentOf } = open(2, 10);
  const [first, , third] = ['a1', 'a2', 'a3', 'a4'].map((name) => documentOf(name, ANA));
  documentOf('b1', BOB);
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  expect(third?.why).toMatch(/^The user ana has 2 documents .* replicator\/max_jobs_per_user/);
  if (first === undefined || third === undefined) throw new Error('there are four');
  semaphore.release(third);
  semaphore.release(first);
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a4']);
  semaphore.release(first);
  expect(begun).toHaveLength(4);
});

test('all users together have a limited number of documents that run, and take turns', () => {
  const { semaphore, begun, documentOf } = open(2, 3);
  const documents = ['a1', 'a2', 'a3'].map((name) => documentOf(name, ANA));
  const bobs = ['b1', 'b2', 'b3'].map((name) => documentOf(name, BOB));
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  expect(bobs[1]?.why).toMatch(/max_jobs_of_users/);
  for (const document of [documents[0], bobs[0], documents[1]]) if (document !== undefined) semaphore.release(document);
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3', 'b2', 'b3']);
});

test('many accounts leave others their share: the user with the most gives way, the newest document first', () => {
  const { semaphore, begun, documentOf } = open(5, 10);
  for (const name of ['x', 'y']) for (let n = 1; n <= 7; n++) documentOf(`${name}${n}`, { name, roles: [] });
  expect(begun).toEqual(['x1', 'x2', 'x3', 'x4', 'x5', 'y1', 'y2', 'y3', 'y4', 'y5']);
  const anas = ['a1', 'a2', 'a3', 'a4'].map((name) => documentOf(name, ANA));
  // Shares are even then: nobody gives way to somebody who has as many.
  expect(begun.toSorted()).toEqual(['a1', 'a2', 'a3', 'x1', 'x2', 'x3', 'y1', 'y2', 'y3', 'y4'].toSorted());
  expect(anas[3]?.why).toMatch(/max_jobs_of_users/);
  documentOf('b1', BOB);
  expect(begun).toContain('b1');
  expect(begun).toHaveLength(10);
  // What has given way is begun again where there is a permit, after the document that waited before it.
  for (const document of anas) semaphore.release(document);
  expect(begun).toHaveLength(14);
});

test("documents of admins are not limited, and don't count towards the limit", () => {
  const { begun, documentOf } = open(0, 0);
  documentOf('r1', ADMIN);
  expect(documentOf('a1', ANA).why).toBeDefined();
  expect(begun).toEqual(['r1']);
});

test('a waiting document says so, and starts when another one is deleted', async () => {
  const service = await Service.start({ admins: { root: 'x' }, replicator: { max_jobs_per_user: '1' } }, ADMIN);
  for (const name of ['a', 'b', 'c', '_replicator']) await service.ask(`PUT /${name}`);
  const members = { source: 'a', continuous: true, user_ctx: ANA, owner: 'ana' };
  await service.ask('PUT /_users');
  await service.must('PUT /_users/org.couchdb.user:ana', { name: 'ana', password: 'x', roles: [], type: 'user' });
  await service.must('PUT /_replicator/one', { ...members, target: 'b' });
  const one = await service.untilState('one', 'triggered');
  await service.must('PUT /_replicator/two', { ...members, target: 'c' });
  const two = await service.until('two', (document) => '_replication_state_reason' in document);
  expect(two['_replication_state_reason']).toMatch(/replicator\/max_jobs_per_user/);
  expect(two).not.toHaveProperty('_replication_state');
  expect(await service.must('GET /_scheduler/docs/_replicator/two')).toMatchObject({
    state: 'pending',
    info: { error: expect.stringMatching(/max_jobs_per_user/) },
  });
  // An admin's own, with an admin's rights, has no bound.
  await service.must('PUT /_replicator/roots', { source: 'b', target: 'c', owner: 'root' });
  await service.untilState('roots', 'completed');
  await service.must(`DELETE /_replicator/one?rev=${String(one['_rev'])}`);
  expect(await service.untilState('two', 'triggered')).not.toHaveProperty('_replication_state_reason');
});

test('a document that gives way ends its replication, waits, and starts again', async () => {
  const settings = { admins: { root: 'x' }, replicator: { max_jobs_per_user: '2', max_jobs_of_users: '2' } };
  const service = await Service.start(settings, ADMIN);
  for (const name of ['a', 'b', 'c', 'd', '_replicator', '_users']) await service.ask(`PUT /${name}`);
  for (const name of ['ana', 'bob']) {
    const account = { name, password: 'x', roles: [], type: 'user' };
    await service.must(`PUT /_users/org.couchdb.user:${name}`, account);
  }
  const write = (id: string, user: DatabaseUser, target: string) =>
    service.must(`PUT /_replicator/${id}`, { source: 'a', target, continuous: true, user_ctx: user, owner: user.name });
  await write('one', ANA, 'b');
  await service.untilState('one', 'triggered');
  await write('two', ANA, 'c');
  await service.untilState('two', 'triggered');
  await write('bobs', BOB, 'd');
  const bobs = await service.untilState('bobs', 'triggered');
  await service.until('two', (document) => /max_jobs_of_users/.test(String(document['_replication_state_reason'])));
  const states = async () => {
    const answer = await service.must('GET /_scheduler/docs/_replicator');
    const docs: unknown = Reflect.get(Object(answer), 'docs');
    if (!Array.isArray(docs)) throw new Error('docs is a list');
    return Object.fromEntries(docs.map((one) => [one.doc_id, one.state]));
  };
  expect(await states()).toEqual({ one: 'running', two: 'pending', bobs: 'running' });
  await service.must(`DELETE /_replicator/bobs?rev=${String(bobs['_rev'])}`);
  await service.untilState('two', 'triggered');
  expect(await states()).toEqual({ one: 'running', two: 'running' });
});
