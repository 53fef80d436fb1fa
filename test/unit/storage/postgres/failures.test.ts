import { expect, test } from 'vitest';
import {
  endsConnection,
  failureOf,
  isUniqueViolation,
  toDatabaseError,
} from '../../../../src/storage/postgres/postgres-errors.ts';

function withCode(code: string): Error {
  return Object.assign(new Error(`failed with ${code}`), { code });
}

test.each(['EPIPE', 'ECONNRESET', 'ECONNREFUSED', 'ETIMEDOUT', 'EAI_AGAIN'])(
  'after %s of the network a statement may have been carried out or not',
  (code) => {
    expect(failureOf(withCode(code))).toBe('lost');
    expect(endsConnection(withCode(code))).toBe(true);
  },
);

test.each([
  ['08006', 'lost'],
  ['57P01', 'lost'],
  ['40001', 'undone'],
  ['25006', 'undone'],
  ['57014', 'late'],
  ['XX001', 'final'],
  ['P0001', 'final'],
  ['53100', 'final'],
  ['EROFS', 'final'],
])('%s says: %s', (code, failure) => {
  expect(failureOf(withCode(code))).toBe(failure);
});

test('codes of PostgreSQL have their own errors', () => {
  expect(isUniqueViolation(withCode('23505'))).toBe(true);
  expect(toDatabaseError(withCode('53100'), 'file', 'a commit').code).toBe('storage_full');
  expect(toDatabaseError(withCode('XX002'), 'file', 'a read').code).toBe('storage_corrupt');
  expect(toDatabaseError(withCode('EROFS'), 'file', 'a commit').code).toBe('storage_failed');
});
