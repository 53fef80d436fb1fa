/** Design documents in replications: copied, left out, and refused (docs/http/replication.md#design-documents-in-replications). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Core } from '../../../src/core/core.ts';
import type { Replication } from '../../../src/replication/contract.ts';
import { replicationId } from '../../../src/replication/jobs/replication-id.ts';
import { NodeHost } from '../../support/conformance/node-host.ts';
import { begin, hostOf, local, must, newCore, pick, remote, replicationOf } from './support.ts';

const DOCS = [{ _id: 'a' }, { _id: 'b' }, { _id: '_design/app', views: {} }, { _id: '_design/more', views: {} }];

let core: Core;
let server: NodeHost;

beforeEach(async () => {
  [core, server] = await Promise.all([newCore(), NodeHost.start()]);
  for (const name of ['from', 'to']) await must(core, `PUT /${name}`);
  await must(core, 'POST /from/_bulk_docs', { docs: DOCS });
});
afterEach(() => Promise.all([core.close(), server.close()]));

async function idsAt(database: string): Promise<readonly unknown[]> {
  const rows = pick(await must(core, `GET /${database}/_all_docs`), 'rows');
  return Array.isArray(rows) ? rows.map((row) => pick(row, 'id')) : [];
}

async function copied(more: Partial<Replication>, source = local('from')) {
  const attempt = begin(hostOf(core.handle), replicationOf(source, local('to'), more));
  const result = await attempt.result;
  return { result, refused: attempt.refused, ids: await idsAt('to') };
}

describe('without design documents', () => {
  test('copies all others, and counts nothing as refused', async () => {
    const { result, refused, ids } = await copied({ designDocs: false });
    expect(ids).toEqual(['a', 'b']);
    expect(refused).toEqual([]);
    expect(result).toMatchObject({ source_last_seq: 4, docs_written: 2, doc_write_failures: 0, missing_checked: 2 });
  });

  test('copies nothing if only design documents are named', async () => {
    const selection = { kind: 'ids', ids: ['_design/app'] } as const;
    const { result, ids } = await copied({ designDocs: false, selection });
    expect(ids).toEqual([]);
    expect(result).toMatchObject({ no_changes: true, missing_checked: 0 });
  });

  test('works with a selector', async () => {
    const selection = { kind: 'selector', selector: '{"_id":{"$gt":"_"}}' } as const;
    expect((await copied({ selection })).ids).toEqual(['_design/app', '_design/more', 'a', 'b']);
    await must(core, 'DELETE /to');
    await must(core, 'PUT /to');
    expect((await copied({ selection, designDocs: false, useCheckpoints: false })).ids).toEqual(['a', 'b']);
  });

  test('works with a database of another server', async () => {
    await server.send({ method: 'PUT', path: '/there', headers: {}, body: null });
    const there = remote(`${server.baseUrl}/there`);
    await begin(hostOf(core.handle), replicationOf(local('from'), there)).result;
    expect((await copied({ designDocs: false }, there)).ids).toEqual(['a', 'b']);
  });

  test('leaves out those that arrive later', async () => {
    const attempt = begin(
      hostOf(core.handle),
      replicationOf(local('from'), local('to'), { designDocs: false, continuous: true }),
    );
    await attempt.idle();
    const arrival = must(core, 'GET /to/_changes?feed=longpoll&since=2&timeout=60000');
    await must(core, 'PUT /from/_design%2flater', { views: {} });
    await must(core, 'PUT /from/c', {});
    expect(await arrival).toMatchObject({ results: [{ id: 'c' }] });
    await attempt.stop();
    expect(await idsAt('to')).toEqual(['a', 'b', 'c']);
  });
});

test('they are copied by default', async () => {
  expect((await copied({})).ids).toEqual(['_design/app', '_design/more', 'a', 'b']);
});

test('whether they are copied is part of the id', async () => {
  const idOf = (more: Partial<Replication>) => replicationId(replicationOf(local('a'), local('b'), more), 'uuid');
  const usual = await idOf({});
  expect(await idOf({ designDocs: true })).toEqual(usual);
  expect((await idOf({ designDocs: false })).base).not.toBe(usual.base);
});

test('the ledger says what to do if the target refuses them', async () => {
  const own = await newCore({ admins: { boss: 'secret' } });
  const byBoss = { headers: { authorization: `Basic ${btoa('boss:secret')}` } };
  for (const name of ['from', 'to']) {
    await must(own, `PUT /${name}`, undefined, byBoss);
    await must(own, `PUT /${name}/_security`, { members: { names: [], roles: [] } }, byBoss);
  }
  await must(own, 'POST /from/_bulk_docs', { docs: DOCS }, byBoss);
  const user = { name: 'ana', roles: [] };
  const more = { user, asker: { isAdmin: false } };
  const attempt = begin(hostOf(own.handle), replicationOf(local('from'), local('to'), more));
  expect(await attempt.result).toMatchObject({ docs_written: 2, doc_write_failures: 2 });
  const remedy =
    /\. Only an admin of the target may write design documents: set design_docs to false, or let an admin push it$/;
  expect(attempt.refused).toEqual(
    ['_design/app', '_design/more'].map((id) =>
      expect.objectContaining({
        id,
        error: expect.stringMatching(/^(forbidden|unauthorized)$/),
        reason: expect.stringMatching(remedy),
      }),
    ),
  );
  await own.close();
});
