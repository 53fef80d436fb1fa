import { expect, test } from 'vitest';
import {
  isAnsweredByReaders,
  isReadOnlyRequest,
  mayShowFormerIndex,
  READ_ONLY_POSTS,
} from '../../../../src/http/request/read-only-requests.ts';
import type { Table } from '../../../../src/http/resources.ts';
import { createRoutes } from '../../../../src/http/routes.ts';
import { noParts } from '../support.ts';

const BASE = 'https://app.example/db/';

function isReadOnly(what: string, headers = {}): boolean {
  const [method = '', path = ''] = what.split(' ');
  return isReadOnlyRequest({ method, url: `https://app.example/db${path}`, headers }, BASE);
}

test.each([
  'GET /notes/a',
  'HEAD /notes',
  'OPTIONS /notes/_design/d/_list/f/by-name',
  'OPTIONS /notes/_design/d/_show/f/a',
  'POST /notes/_all_docs',
  'POST /notes/_all_docs/queries',
  'POST //notes//_all_docs/',
  'POST /notes/_all_docs?include_docs=true',
  'POST /notes/_bulk_get?revs=true',
  'POST /notes/_revs_diff',
  'POST /notes/_missing_revs',
  'POST /notes/_find',
  'POST /notes/_explain',
  'POST /notes/_changes?filter=_doc_ids',
  'POST /notes/_local_docs',
  'POST /notes/_design_docs',
  'POST /notes/_temp_view',
  'POST /a%2Fb/_design/d/_view/by-name',
  'POST /notes/_design/d/_view/by-name/queries',
  'POST /notes/_design/d/_list/f/by-name',
  'POST /notes/_design/d/_show/f/a',
  'POST /_dbs_info',
  'POST /_users/_find',
])('%s is read-only', (what) => {
  expect(isReadOnly(what)).toBe(true);
});

test.each([
  'PUT /notes/a',
  'DELETE /notes',
  'COPY /notes/a',
  'POST /',
  'POST /notes',
  'POST /notes/_bulk_docs',
  'POST /notes/_purge',
  'POST /notes/_index',
  'POST /notes/_compact',
  'POST /notes/_ensure_full_commit',
  'POST /notes/_design/d/_update/f',
  'OPTIONS /notes/_design/d/_update/f',
  'OPTIONS /notes/_design/d/_rewrite/x',
  'POST /notes/_design/d/_rewrite/x',
  'POST /notes/_design/_view',
  'POST /_replicate',
  'POST /_session',
  'POST /notes/?x=/_all_docs',
])('%s can write', (what) => {
  expect(isReadOnly(what)).toBe(false);
});

test('a POST with a method override can write', () => {
  expect(isReadOnly('POST /notes/_all_docs', { 'x-http-method-override': 'DELETE' })).toBe(false);
});

test('a POST outside of the base can write', () => {
  expect(isReadOnlyRequest({ method: 'POST', url: 'https://other.example/notes/_find', headers: {} }, BASE)).toBe(
    false,
  );
});

test('with a path as base, paths below it are classified', () => {
  expect(isReadOnlyRequest({ method: 'POST', url: '/notes/_find', headers: {} }, '/')).toBe(true);
});

test('the list of read-only requests matches the route table', () => {
  const { server, database, design } = createRoutes(noParts);
  const readOnlyPosts = (table: Table<unknown>) =>
    [...table].filter(([, { actions }]) => actions.get('POST')?.isReadOnly === true).map(([path]) => path);
  for (const [list, table] of [
    [READ_ONLY_POSTS.server, server],
    [READ_ONLY_POSTS.database, database],
    [READ_ONLY_POSTS.design, design],
  ] as const) {
    expect(readOnlyPosts(table).sort()).toEqual([...list].sort());
  }
});

function byReaders(what: string): boolean {
  const [method = '', path = ''] = what.split(' ');
  return isAnsweredByReaders({ method, url: `https://app.example/db${path}`, headers: {} }, BASE);
}

test.each([
  'GET /',
  'GET /_all_dbs',
  'GET /_session',
  'GET /_uuids?count=3',
  'GET /_utils/index.html',
  'HEAD /notes/a',
  'GET /notes/a?rev=1-a',
  'GET /notes/a%2Fb/picture.png',
  'GET /notes/_design/d',
  'GET /notes/_design/d/picture.png',
  'GET /notes/_local/a',
  'GET /notes/_all_docs',
  'POST /notes/_all_docs',
  'GET /notes/_changes?feed=continuous',
  'POST /notes/_changes',
  'POST /notes/_bulk_get',
  'POST /notes/_revs_diff',
  'GET /notes/_security',
  'GET /notes/_revs_limit',
  'GET /_users/org.couchdb.user:ana',
  'POST /notes/_find',
  'POST /notes/_explain',
  'GET /notes/_index',
  'GET /notes/_design/d/_view/by-name?key=1',
  'HEAD /notes/_design/d/_view/by-name',
  'POST /notes/_design/d/_view/by-name',
  'POST /notes/_design/d/_view/by-name/queries',
  'GET /notes/_design/d/_list/f/by-name',
  'POST /notes/_design/d/_list/f/by-name',
  'GET /notes/_design/d/_show/f/a',
  'POST /notes/_design/d/_show/f/a',
  'GET /notes/_design/d/_list/f/by-name?feed=longpoll',
  'POST /_users/_find',
])('%s is answered by readers', (what) => {
  expect(byReaders(what)).toBe(true);
});

test.each([
  'PUT /notes/a',
  'POST /notes',
  'POST /notes/_bulk_docs',
  'POST /_session',
  // What compactions it runs, only the owner knows.
  'GET /notes',
  'GET /notes/_design/d/_view/by-name?feed=longpoll',
  'POST /notes/_design/d/_view/by-name?include_rows=true&%66eed=eventsource',
  'POST /notes/_find?feed=continuous',
  'POST /notes/_temp_view',
  'POST /notes/_index',
  'DELETE /notes/_index/_design/d/json/n',
  'POST /notes/_view_cleanup',
  'POST /notes/_compact/d',
  'PUT /notes/_design/d/_show/f/a',
  'POST /notes/_design/d/_update/f',
  'GET /_replicator/_design/d/_view/v',
  'GET /notes/_design/d/_info',
  'GET /notes/_design/d/_rewrite/a',
  'GET /notes/_design/d/%5Fview/by-name',
  'GET /notes/_auto_purge',
  'GET /notes/%5Fall_docs',
  'GET /_replicator/a',
  'GET /%5freplicator/a',
  'GET /_stats',
  'GET /_log',
  'GET /_active_tasks',
  'GET /_config',
  'GET /_node/_local/_prometheus',
  'GET /_scheduler/jobs',
  'GET /_db_updates',
  'GET /_unknown/a',
])('%s goes to the owner', (what) => {
  expect(byReaders(what)).toBe(false);
});

test.each([
  ['/notes/_design/d/_view/v?stale=ok', true],
  ['/notes/_design/d/_view/v?limit=1&update=false', true],
  ['/notes/_design/d/_view/v?st%61le=ok', true],
  ['/notes/_design/d/_view/v?limit=1', false],
  ['/notes/_design/d/_view/v?key=%22update%22', false],
  ['/stale', false],
])('whether %s may show an index without the latest changes: %s', (path, expected) => {
  expect(mayShowFormerIndex({ url: `https://app.example/db${path}` })).toBe(expected);
});

test('an address outside the service goes to the owner', () => {
  expect(isAnsweredByReaders({ method: 'GET', url: 'https://app.example/other/a', headers: {} }, BASE)).toBe(false);
});
