import { expect, test } from 'vitest';
import { createInstance } from '../../../src/bridge/instance.ts';
import { isRepeatable } from '../../../src/bridge/link/repeatable.ts';

const instance = createInstance('/db/', 'https://app.example');

function isRead(what: string, headers = {}): boolean {
  const [method = '', path = ''] = what.split(' ');
  return isRepeatable({ method, url: `https://app.example/db${path}`, headers }, instance);
}

test.each([
  'GET /notes/a',
  'HEAD /notes',
  'OPTIONS /notes',
  'POST /notes/_all_docs',
  'POST /notes/_all_docs/queries',
  'POST /notes/_all_docs?include_docs=true',
  'POST /notes/_bulk_get?revs=true',
  'POST /notes/_revs_diff',
  'POST /notes/_missing_revs',
  'POST /notes/_find',
  'POST /notes/_explain',
  'POST /notes/_changes?filter=_doc_ids',
  'POST /notes/_local_docs',
  'POST /notes/_design_docs',
  'POST /a%2Fb/_design/d/_view/by-name',
  'POST /notes/_design/d/_view/by-name/queries',
  'POST /_dbs_info',
])('%s may be sent twice', (what) => {
  expect(isRead(what)).toBe(true);
});

test.each([
  'PUT /notes/a',
  'DELETE /notes',
  'COPY /notes/a',
  'POST /notes',
  'POST /notes/_bulk_docs',
  'POST /notes/_purge',
  'POST /notes/_index',
  'POST /notes/_compact',
  'POST /notes/_ensure_full_commit',
  'POST /notes/_design/d/_update/f',
  'POST /notes/_design/_view',
  'POST /_replicate',
  'POST /_session',
  'POST /notes/?x=/_all_docs',
])('%s may not', (what) => {
  expect(isRead(what)).toBe(false);
});

test('a POST that stands for another method may not', () => {
  expect(isRead('POST /notes/_all_docs', { 'x-http-method-override': 'DELETE' })).toBe(false);
});
