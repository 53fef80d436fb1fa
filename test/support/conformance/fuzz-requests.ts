import fc from 'fast-check';
import type { HostRequest } from './host.ts';

/**
 * Requests that no client would send by mistake: segments, queries, headers and bodies that mean something to the
 * service, next to others that mean nothing or are harmful. `{db}`, `{doc}` and `{rev}` stand for names of the database that the
 * test created, so that what comes after them is reached.
 */

const names = ['{db}', '{doc}', 'other', 'a%2Fb', '_design/test', '_local/mine'] as const;

const resources = [
  '_all_docs',
  '_bulk_docs',
  '_bulk_get',
  '_revs_diff',
  '_missing_revs',
  '_ensure_full_commit',
  '_compact',
  '_purge',
  '_security',
  '_revs_limit',
  '_local_docs',
  '_design_docs',
  '_changes',
  '_view_cleanup',
  '_find',
  '_explain',
  '_index',
  '_bulk_delete',
  '_temp_view',
  '_design',
  '_local',
  'queries',
  '_all_dbs',
  '_up',
  '_uuids',
  '_dbs_info',
  '_active_tasks',
  '_session',
  '_config',
  '_replicate',
  '_utils',
  'favicon.ico',
] as const;

const evil = [
  '',
  '.',
  '..',
  '%2e%2e',
  '%',
  '%zz',
  '%FF',
  '%00',
  '%0a',
  '%2F',
  '__proto__',
  'constructor',
  'toString',
  '_',
  '_x',
  '%F0%9F%98%80',
  '%ED%A0%80',
  'x'.repeat(3000),
  "'",
  '"',
  '<script>',
  '{}',
  '[]',
  '*',
  '~',
  ';a=b',
  ':',
  '@',
  'a+b',
  '-1',
  '\\',
] as const;

const segment = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...names) },
  { weight: 5, arbitrary: fc.constantFrom(...resources) },
  { weight: 3, arbitrary: fc.constantFrom(...evil) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }).map(encodeLoosely) },
);

const pathBelowDatabase = fc.array(segment, { maxLength: 3 }).map((rest) => ['{db}', ...rest].join('/'));
const path = fc.oneof(
  { weight: 4, arbitrary: pathBelowDatabase },
  { weight: 1, arbitrary: fc.array(segment, { maxLength: 4 }).map((segments) => segments.join('/')) },
);

const parameter = fc.constantFrom(
  ...['rev', 'revs', 'revs_info', 'open_revs', 'latest', 'conflicts', 'meta', 'local_seq', 'attachments', 'atts_since'],
  ...[
    'batch',
    'new_edits',
    'startkey',
    'endkey',
    'key',
    'keys',
    'limit',
    'skip',
    'descending',
    'include_docs',
    'count',
  ],
  ...['inclusive_end', 'update_seq', 'callback', 'seq', 'startkey_docid', 'stale', 'since', 'feed', '__proto__', ''],
);
const parameterValue = fc.constantFrom(
  ...[
    'true',
    'false',
    'all',
    'ok',
    '{rev}',
    '1-abc',
    '[]',
    '["1-abc"]',
    '["{rev}"]',
    '"a"',
    'null',
    '{}',
    '0',
    '1',
    '-1',
  ],
  ...[
    '1e9',
    '99999999999999999999',
    '1.5',
    'NaN',
    '',
    '%',
    '%FF',
    '%00',
    '"%F0%9F%98%80"',
    '[[[[',
    '{"a":',
    'x'.repeat(500),
  ],
);
const query = fc
  .array(fc.tuple(parameter, parameterValue), { maxLength: 4 })
  .map((pairs) => pairs.map(([name, value]) => `${name}=${value}`).join('&'));

const header = fc.constantFrom<[string, string]>(
  ['accept', 'application/json'],
  ['accept', '*/*'],
  ['accept', 'multipart/mixed'],
  ['accept', ';;;q=,'],
  ['content-type', 'application/json'],
  ['content-type', 'text/plain'],
  ['content-type', 'multipart/related; boundary="x"'],
  ['content-type', 'multipart/form-data'],
  ['content-encoding', 'gzip'],
  ['content-encoding', 'br'],
  ['if-match', '"{rev}"'],
  ['if-match', '"'],
  ['if-none-match', '"{rev}"'],
  ['if-none-match', ',,,'],
  ['destination', 'other'],
  ['destination', '%FF'],
  ['destination', 'http://[::'],
  ['destination', '_x?rev=1-abc'],
  ['x-http-method-override', 'PUT'],
  ['x-http-method-override', 'DELETE'],
  ['x-svc-full-commit', 'maybe'],
  ['x-forwarded-host', '///'],
  ['x-forwarded-proto', 'javascript'],
  ['range', 'bytes=0-'],
  ['authorization', 'Basic !!!'],
  ['cookie', 'AuthSession=x'],
  ['origin', 'null'],
);

const json = fc.oneof(
  fc.constantFrom(
    ...['{}', '[]', 'null', '1', '"x"', '{"docs":[]}', '{"docs":[{}]}', '{"docs":{}}', '{"docs":[1]}', '{"docs":null}'],
    ...['{"docs":[{"_id":"a"},{"_id":"_x"}]}', '{"docs":[{"_id":"{doc}","_rev":"{rev}"}]}', '{"docs":[{"id":7}]}'],
    ...['{"docs":[{"id":"{doc}","rev":"x"}]}', '{"docs":[{"_id":"b","_rev":"1-a"}],"new_edits":false}'],
    ...['{"docs":[{"_id":"b"}],"new_edits":false}', '{"docs":[{"_id":"b"}],"new_edits":7,"all_or_nothing":"x"}'],
    ...['{"keys":["a"]}', '{"keys":{}}', '{"keys":[{}]}', '{"queries":[{}]}', '{"queries":[1]}', '{"queries":{}}'],
    ...[
      '{"_rev":"{rev}"}',
      '{"_rev":"{rev}","_deleted":true}',
      '{"_rev":7}',
      '{"_id":"c","n":1e999}',
      '{"_deleted":7}',
    ],
    ...['{"_revisions":7}', '{"_revisions":{"start":1e9,"ids":["a"]},"_rev":"1-a"}', '{"_attachments":{"a":{}}}'],
    ...['{"{doc}":["{rev}"]}', '{"{doc}":["1-zz"]}', '{"{doc}":"1-a"}', '{"x":[7]}', '{"x":{}}', '{"x":["1-a"]}'],
    ...[
      '{"admins":[]}',
      '{"admins":{"names":7}}',
      '{"members":{"roles":[null]}}',
      '{"__proto__":{"a":1}}',
      '1000',
      '0',
    ],
    ...[
      '{',
      '{"a":}',
      '\u0000',
      '\ufeff{}',
      '{"a":"\\ud800"}',
      '{"a":1,"a":2}',
      '[[[[[[',
      '{"_id":"_local/x","_rev":"0-1"}',
    ],
  ),
  fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.stringify(value)),
  fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify({ docs: [value] })),
  fc.constant(`${'['.repeat(5000)}1${']'.repeat(5000)}`),
);
const body: fc.Arbitrary<string | Uint8Array | null> = fc.oneof(
  { weight: 2, arbitrary: fc.constant(null) },
  { weight: 6, arbitrary: json },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }) },
);

/** Anything at all. */
const wild = fc.record({
  method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'COPY', 'PATCH', 'OPTIONS', 'TRACE', 'get', 'X-ODD'),
  path,
  query,
  headers: fc.array(header, { maxLength: 4 }),
  body,
});

/** Existing resources are requested in the way that they expect; only query, headers and body are wild. */
const aimed = fc
  .record({
    target: fc.constantFrom<[string, string]>(
      ['POST', '{db}'],
      ['POST', '{db}/_bulk_docs'],
      ['POST', '{db}/_bulk_get'],
      ['POST', '{db}/_all_docs'],
      ['POST', '{db}/_all_docs/queries'],
      ['POST', '{db}/_revs_diff'],
      ['POST', '{db}/_missing_revs'],
      ['POST', '{db}/_purge'],
      ['POST', '{db}/_ensure_full_commit'],
      ['POST', '_dbs_info'],
      ['PUT', '{db}/_security'],
      ['PUT', '{db}/_revs_limit'],
      ['PUT', '{db}/{doc}'],
      ['PUT', '{db}/fresh'],
      ['PUT', '{db}/_design/test'],
      ['PUT', '{db}/_local/mine'],
      ['DELETE', '{db}/{doc}'],
      ['DELETE', '{db}/_local/mine'],
      ['COPY', '{db}/{doc}'],
      ['GET', '{db}/{doc}'],
      ['GET', '{db}/_all_docs'],
      ['GET', '{db}/_local/mine'],
    ),
    query,
    headers: fc.array(header, { maxLength: 2 }),
    body: json,
  })
  .map(({ target: [method, path], query, headers, body }) => {
    const declared: [string, string][] = [...headers, ['content-type', 'application/json']];
    return { method, path, query, headers: declared, body };
  });

/** A request to the entry point of a service. */
export const requests: fc.Arbitrary<HostRequest> = fc.oneof(wild, aimed).map((request) => ({
  method: request.method,
  path: `/${request.path}${request.query === '' ? '' : `?${request.query}`}`,
  headers: Object.fromEntries(request.headers),
  body: request.body,
}));

/** Returns the request with the names of this database in place of the placeholders. */
export function fillIn(request: HostRequest, db: string, doc: string, rev: string): HostRequest {
  const fill = (text: string): string => text.replaceAll('{db}', db).replaceAll('{doc}', doc).replaceAll('{rev}', rev);
  const headers = Object.entries(request.headers).map(([name, value]) => [name, fill(value)]);
  return {
    method: request.method,
    path: fill(request.path),
    headers: Object.fromEntries(headers),
    body: typeof request.body === 'string' ? fill(request.body) : request.body,
  };
}

/** Leaves every other character unchanged, so that a path contains what clients ought to have encoded. */
function encodeLoosely(text: string): string {
  return [...text].map((character, index) => (index % 2 === 0 ? encodeWhatCanBe(character) : character)).join('');
}

function encodeWhatCanBe(character: string): string {
  return /\p{Surrogate}/u.test(character) ? '%ED%A0%80' : encodeURIComponent(character);
}
