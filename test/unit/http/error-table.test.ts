import { expect, test } from 'vitest';
import { DatabaseError, type ErrorCode } from '../../../src/errors/database-error.ts';
import { ERROR_TABLE, isInternal, showError } from '../../../src/http/error-table.ts';

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
  ['too_large', 413, 'too_large'],
  ['too_long', 414, 'too_long'],
  ['bad_content_type', 415, 'bad_content_type'],
  ['not_implemented', 501, 'not_implemented'],
  ['storage_fenced', 503, 'storage_fenced'],
  ['storage_full', 507, 'insufficient_storage'],
  ['storage_deleted', 404, 'not_found'],
  ['shutting_down', 503, 'shutting_down'],
])('%s becomes %i %s', (code, status, error) => {
  expect(showError(new DatabaseError(code, 'why'))).toEqual({ status, error, reason: 'why' });
});

test('all that is ours to look into has a status of 500', () => {
  const internal = Object.entries(ERROR_TABLE).filter(([, row]) => row.status === 500);
  expect(internal.map(([code]) => code).sort()).toEqual([
    'purge_during_compaction',
    'storage_corrupt',
    'storage_exists',
    'storage_failed',
    'storage_missing',
    'storage_newer_format',
    'unknown_error',
  ]);
  expect(isInternal(new DatabaseError('conflict', ''))).toBe(false);
  expect(isInternal(new RangeError('Maximum call stack size exceeded'))).toBe(true);
});
