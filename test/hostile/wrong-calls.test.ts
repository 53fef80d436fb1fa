import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, assert, beforeEach, expect, test } from 'vitest';
import { settee } from './support/attacked-server.ts';

/** A call that can't be right ends with 2, as any wrong call does, and says what is wrong without a stack. */
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-hostile-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const wrong: readonly (readonly [string, readonly string[], RegExp])[] = [
  ['a choice that is none', ['--set', 'uuids/algorithm=bogus'], /uuids\/algorithm.*bogus/],
  ['a number that is none', ['--set', 'svc/max_dbs_open=many'], /svc\/max_dbs_open.*many/],
  ['a number below 0', ['--set', 'svc/os_process_timeout=-1'], /svc\/os_process_timeout.*-1/],
  ['a budget that is none', ['--set', 'httpd/max_bytes_in_flight=all'], /httpd\/max_bytes_in_flight.*all/],
  ['a number of connections that is none', ['--set', 'httpd/max_connections=few'], /httpd\/max_connections.*few/],
  ['an address that others reach', ['--host', '0.0.0.0'], /0\.0\.0\.0/],
  ['an allowed host that is none', ['--allow-host', 'http://db.example.org/'], /http:\/\/db\.example\.org\//],
];

test.for(wrong)('%s', async ([, argv, message]) => {
  const outcome = await settee(['serve', '--no-demo', '--port', '0', '--data', join(folder, 'data'), ...argv]);
  expect({ code: outcome.code, stdout: outcome.stdout }, outcome.stderr).toEqual({ code: 2, stdout: '' });
  assert.match(outcome.stderr, message);
  assert.notMatch(outcome.stderr, /^ {4}at /m);
});
