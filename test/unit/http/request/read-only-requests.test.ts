import { expect, test } from 'vitest';
import { isReadOnlyRequest, READ_ONLY_POSTS } from '../../../../src/http/request/read-only-requests.ts';
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
