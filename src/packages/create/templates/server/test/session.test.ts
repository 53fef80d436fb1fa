import { expect, test } from 'vitest';
import { hexOf } from '../src/session';
import { textOf } from '../src/sync-text';

test('names of users become names of databases', () => {
  expect(hexOf('ana')).toBe('616e61');
  expect(hexOf('Zoë')).toBe('5a6fc3ab');
});

test('a failed sync says why', () => {
  const failed = {
    state: 'error',
    docs_read: 0,
    docs_written: 0,
    doc_write_failures: 0,
    refused_count: 0,
    refused: [],
    last_error: { error: 'internal_server_error', reason: 'The disk is full.' },
  } as const;
  expect(textOf({ state: 'error', pull: failed })).toBe('Your notes can’t be copied at present. The disk is full.');
  expect(textOf({ state: 'paused' })).toBe('Everything is on the server.');
});
