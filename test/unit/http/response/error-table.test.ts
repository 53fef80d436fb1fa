import { expect, test } from 'vitest';
import { DatabaseError, type ErrorCode } from '../../../../src/base/errors/database-error.ts';
import { isInternal, STATUSES, showError } from '../../../../src/http/response/error-table.ts';
import { ThrownError } from '../../../../src/queries/sandbox/contract.ts';

test.each<[ErrorCode, number, string]>([
  ['bad_request', 400, 'bad_request'],
  ['query_parse_error', 400, 'query_parse_error'],
  ['illegal_database_name', 400, 'illegal_database_name'],
  ['doc_validation', 400, 'doc_validation'],
  ['unauthorized', 401, 'unauthorized'],
  ['forbidden', 403, 'forbidden'],
  ['not_found', 404, 'not_found'],
  ['not_acceptable', 406, 'not_acceptable'],
  ['conflict', 409, 'conflict'],
  ['file_exists', 412, 'file_exists'],
  ['missing_stub', 412, 'missing_stub'],
  ['content_md5_mismatch', 400, 'content_md5_mismatch'],
  ['requested_range_not_satisfiable', 416, 'requested_range_not_satisfiable'],
  ['too_large', 413, 'too_large'],
  ['too_long', 414, 'too_long'],
  ['bad_content_type', 415, 'bad_content_type'],
  ['not_implemented', 501, 'not_implemented'],
  ['storage_fenced', 503, 'storage_fenced'],
  ['write_outcome_unknown', 503, 'service_unavailable'],
  ['storage_full', 507, 'insufficient_storage'],
  ['storage_deleted', 404, 'not_found'],
  ['shutting_down', 503, 'shutting_down'],
  ['too_busy', 503, 'service_unavailable'],
  ['too_many_requests', 429, 'too_many_requests'],
])('error %s becomes %i %s', (code, status, error) => {
  expect(showError(new DatabaseError(code, 'why'))).toEqual({ status, error, reason: 'why' });
});

test('a function can name its own error', () => {
  const shown = showError(new ThrownError('teapot', 'short and stout'));
  expect(shown).toEqual({ status: 500, error: 'teapot', reason: 'short and stout' });
});

const codes = Object.keys(STATUSES).filter((code): code is ErrorCode => code in STATUSES);

test('errors with status 500 are internal, except for those of functions of documents', () => {
  const internal = codes.filter((code) => isInternal(new DatabaseError(code, '')));
  expect(internal.sort()).toEqual([
    'purge_during_compaction',
    'storage_corrupt',
    'storage_exists',
    'storage_failed',
    'storage_missing',
    'storage_newer_format',
    'unknown_error',
  ]);
  const ofDocuments = codes.filter((code) => STATUSES[code] === 500 && !internal.includes(code));
  expect(ofDocuments.sort()).toEqual([
    'compilation_error',
    'db_not_found',
    'function_error',
    'insecure_rewrite_rule',
    'invalid_require_path',
    'invalid_value',
    'os_process_error',
    'reduce_overflow_error',
    'render_error',
    'replication_failed',
  ]);
  expect(isInternal(new RangeError('Maximum call stack size exceeded'))).toBe(true);
});
