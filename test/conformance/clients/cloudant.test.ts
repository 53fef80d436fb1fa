/** `@ibm-cloud/cloudant`, IBM's client of this interface family. */
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { ChangesFollower, CloudantV1, CouchdbSessionAuthenticator, PagerType, Pagination } from '@ibm-cloud/cloudant';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { at } from '../../support/conformance/json.ts';
import { NodeHost } from '../../support/conformance/node-host.ts';
import { countryDocuments } from './countries.ts';

let host: NodeHost;
let client: CloudantV1;
const db = 'countries';

beforeAll(async () => {
  host = await NodeHost.start({ admins: { root: 'secret' }, svc_httpd_auth: { require_valid_user: 'true' } });
  client = clientOf('root', 'secret');
});
afterAll(() => host.close());
beforeEach(() => client.putDatabase({ db }));
afterEach(() => client.deleteDatabase({ db }));

/** With sessions, which the client begins and renews itself. It compresses what it sends, also its log-in. */
function clientOf(username: string, password: string): CloudantV1 {
  const authenticator = new CouchdbSessionAuthenticator({ username, password });
  return new CloudantV1({ authenticator, serviceUrl: host.baseUrl });
}

async function fill(): Promise<void> {
  const { result } = await client.postBulkDocs({ db, bulkDocs: { docs: countryDocuments() } });
  expect(result).toHaveLength(250);
}

test('logs in, and is refused with a wrong password', async () => {
  expect((await client.getSessionInformation()).result.userCtx).toEqual({ name: 'root', roles: ['_admin'] });
  await expect(clientOf('root', 'wrong').getAllDbs()).rejects.toMatchObject({ status: 401 });
});

test('creates, reads, changes and deletes documents', async () => {
  expect((await client.headDatabase({ db })).status).toBe(200);
  const written = (await client.postDocument({ db, document: { _id: 'a/b', n: 1 } })).result;
  expect(written).toMatchObject({ ok: true, id: 'a/b' });
  const read = (await client.getDocument({ db, docId: 'a/b' })).result;
  expect(read).toEqual({ _id: 'a/b', _rev: written.rev, n: 1 });
  const changed = await client.putDocument({ db, docId: 'a/b', document: { ...read, n: 2 } });
  const conflict = client.putDocument({ db, docId: 'a/b', document: { ...read, n: 3 } });
  await expect(conflict).rejects.toMatchObject({ status: 409 });
  await client.deleteDocument({ db, docId: 'a/b', rev: changed.result.rev ?? '' });
  await expect(client.getDocument({ db, docId: 'a/b' })).rejects.toMatchObject({ status: 404 });
});

test('stores and reads attachments', async () => {
  const attachment = Readable.from([Buffer.from('hello')]);
  const put = { db, docId: 'doc', attachmentName: 'é.txt', attachment, contentType: 'text/plain' };
  expect((await client.putAttachment(put)).result.ok).toBe(true);
  const { result } = await client.getAttachment({ db, docId: 'doc', attachmentName: 'é.txt' });
  expect(await text(result)).toBe('hello');
});

test('lists, pages, finds and queries', async () => {
  await fill();
  const { result } = await client.postAllDocs({ db, keys: ['DEU', 'absent'], includeDocs: true });
  expect([at(result, 'rows', 0, 'doc', 'name', 'common'), at(result, 'rows', 1, 'error')]).toEqual([
    'Germany',
    'not_found',
  ]);
  const pages = Pagination.newPagination(client, PagerType.POST_ALL_DOCS, { db, limit: 60 });
  expect(await pages.pager().getAll()).toHaveLength(250);
  await client.postIndex({ db, index: { fields: [{ region: 'asc' }] }, ddoc: 'by-region', type: 'json' });
  const found = await client.postFind({
    db,
    selector: { region: 'Oceania', landlocked: false },
    fields: ['_id'],
    limit: 100,
  });
  expect(found.result.docs).toHaveLength(27);
  const views = { regions: { map: 'function (doc) { if (doc.region) emit(doc.region, 1); }', reduce: '_count' } };
  await client.putDesignDocument({ db, ddoc: 'by', designDocument: { views } });
  const view = await client.postView({ db, ddoc: 'by', view: 'regions', group: true });
  expect(view.result.rows).toContainEqual({ key: 'Antarctic', value: 5 });
  const explained = await client.postExplain({ db, selector: { region: 'Asia' } });
  expect(at(explained.result, 'index', 'ddoc')).toBe('_design/by-region');
});

test('follows changes to their end', async () => {
  await fill();
  const follower = new ChangesFollower(client, { db, limit: 250 });
  const ids = new Set<unknown>();
  for await (const { id } of follower.startOneOff()) ids.add(id);
  expect(ids.size).toBe(250);
});

test('reads what servers of the family tell about themselves', async () => {
  expect((await client.getServerInformation()).result).toMatchObject({ vendor: { name: 'Settee' } });
  expect((await client.getUpInformation()).result.status).toBe('ok');
  expect((await client.getMembershipInformation()).result.allNodes).toEqual(['nonode@nohost']);
  expect((await client.getSecurity({ db })).result).toBeTypeOf('object');
  const { result } = await client.postDbsInfo({ keys: [db, 'absent'] });
  expect([at(result, 0, 'info', 'dbName'), at(result, 1, 'error')]).toEqual([db, 'not_found']);
});
