import { expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { explainOpeningFailure } from '../../../../src/browser/worker/worker-endpoint.ts';

test.each<[string, unknown, RegExp]>([
  ['site data that are blocked', new DOMException('The request was denied.', 'SecurityError'), /denied.*store data/],
  ['something else', new TypeError('x is undefined'), /x is undefined.*Try again/],
  ['nothing at all', undefined, /undefined.*Try again/],
])('%s is reported with what to do', (_what, failure, said) => {
  expect(explainOpeningFailure(failure).message).toMatch(said);
});

test.each([new DatabaseError('storage_full', 'The disk is full'), new Error('This browser offers no IndexedDB here')])(
  'what Settee says itself stays as it is: %s',
  (failure) => {
    expect(explainOpeningFailure(failure)).toBe(failure);
  },
);
