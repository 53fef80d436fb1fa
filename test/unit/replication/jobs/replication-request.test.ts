import { describe, expect, test } from 'vitest';
import { isDatabaseError } from '../../../../src/base/errors/database-error.ts';
import { atOnce } from '../../../../src/base/shared/turn.ts';
import { describeEndpoint, describeProxy } from '../../../../src/replication/jobs/endpoint.ts';
import {
  parseReplicateRequest,
  parseReplication,
  type RequestOptions,
} from '../../../../src/replication/jobs/replication-request.ts';

const options: RequestOptions = {
  user: { name: 'joe', roles: ['staff'] },
  asker: { isAdmin: false },
  ownBases: ['http://127.0.0.1:5984', 'https://app.example/db'],
  noNetwork: undefined,
  noProxy: undefined,
  defaults: {
    useCheckpoints: true,
    checkpointIntervalMs: 5000,
    batchSize: 500,
    workers: 4,
    connections: 20,
    connectionTimeoutMs: 30000,
    retriesPerRequest: 10,
  },
};

function reasonOf(body: object, changed: Partial<RequestOptions> = {}): string {
  try {
    atOnce(parseReplicateRequest({ ...body }, { ...options, ...changed }));
  } catch (error) {
    if (isDatabaseError(error, 'bad_request')) return error.reason;
    throw error;
  }
  return 'no error';
}

const ends = { source: 'a', target: 'b' };

test('omitted options have their defaults', () => {
  expect(atOnce(parseReplication(ends, options))).toEqual({
    source: { kind: 'local', name: 'a' },
    target: { kind: 'local', name: 'b' },
    continuous: false,
    createTarget: false,
    selection: undefined,
    sinceSeq: undefined,
    useCheckpoints: true,
    checkpointIntervalMs: 5000,
    batchSize: 500,
    workers: 4,
    connections: 20,
    connectionTimeoutMs: 30000,
    retriesPerRequest: 10,
    user: { name: 'joe', roles: ['staff'] },
    asker: { isAdmin: false },
  });
});

test('every option is read, and numbers can also be strings', () => {
  const body = {
    ...ends,
    continuous: true,
    create_target: true,
    since_seq: '12-abc',
    use_checkpoints: false,
    checkpoint_interval: 1,
    worker_batch_size: '10000',
    worker_processes: 64,
    http_connections: 256,
    connection_timeout: 86_400_000,
    retries_per_request: 0,
    socket_options: '[{nodelay, true}]',
    doc_ids: null,
  };
  expect(atOnce(parseReplication(body, options))).toMatchObject({
    continuous: true,
    createTarget: true,
    sinceSeq: '12-abc',
    useCheckpoints: false,
    checkpointIntervalMs: 1,
    batchSize: 10_000,
    workers: 16,
    connections: 32,
    connectionTimeoutMs: 86_400_000,
    retriesPerRequest: 0,
    selection: undefined,
  });
});

test('admins can have more workers and connections', () => {
  const body = { ...ends, worker_processes: 64, http_connections: 256 };
  const replication = atOnce(parseReplication(body, { ...options, asker: { isAdmin: true } }));
  expect(replication).toMatchObject({ workers: 64, connections: 64 });
});

describe('endpoints of a replication request', () => {
  const target = (given: unknown) => atOnce(parseReplication({ source: 'a', target: given }, options)).target;

  test.each([
    ['a/b+c', { kind: 'local', name: 'a/b+c' }],
    [{ url: 'b' }, { kind: 'local', name: 'b' }],
    ['http://127.0.0.1:5984/b', { kind: 'local', name: 'b' }],
    ['http://127.0.0.1:5984/a%2Fb/', { kind: 'local', name: 'a/b' }],
    ['https://app.example:443/db/b', { kind: 'local', name: 'b' }],
    [{ url: 'https://app.example/db/b' }, { kind: 'local', name: 'b' }],
  ])('%j is in this service', (given, expected) => {
    expect(target(given)).toEqual(expected);
  });

  test.each([
    ['https://app.example/dbb/b', 'https://app.example/dbb/b'],
    ['https://app.example/b', 'https://app.example/b'],
    ['http://127.0.0.1:5985/b', 'http://127.0.0.1:5985/b'],
    ['HTTP://Example.ORG:80/b//', 'http://example.org/b'],
    ['https://example.org/deep/b%2Fc', 'https://example.org/deep/b%2Fc'],
    ['http://127.0.0.1:5984/a/b', 'http://127.0.0.1:5984/a/b'],
  ])('%j is remote', (given, url) => {
    expect(target(given)).toEqual({ kind: 'remote', url, headers: {}, credentials: undefined, proxy: undefined });
  });

  test('name and password are taken out of a URL, and auth has precedence', () => {
    const password = { kind: 'password', name: 'joe', password: 'p:@s/s' };
    expect(target('http://joe:p%3A%40s%2Fs@127.0.0.1:5984/b')).toEqual({
      kind: 'remote',
      url: 'http://127.0.0.1:5984/b',
      headers: {},
      credentials: password,
      proxy: undefined,
    });
    const basic = { username: 'ann', password: 'x' };
    expect(target({ url: 'https://joe:secret@example.org/b', auth: { basic } })).toMatchObject({
      url: 'https://example.org/b',
      credentials: { kind: 'password', name: 'ann', password: 'x' },
    });
  });

  test('can have headers and oauth', () => {
    const oauth = { consumer_key: 'ck', consumer_secret: 'cs', token: 't', token_secret: 'ts' };
    expect(target({ url: 'https://example.org/b', headers: { 'X-Api-Key': '7' }, auth: { oauth } })).toEqual({
      kind: 'remote',
      url: 'https://example.org/b',
      headers: { 'x-api-key': '7' },
      credentials: {
        kind: 'oauth',
        consumerKey: 'ck',
        consumerSecret: 'cs',
        token: 't',
        tokenSecret: 'ts',
        signatureMethod: 'HMAC-SHA1',
      },
      proxy: undefined,
    });
  });

  test('can have a proxy if they are remote', () => {
    const proxied = atOnce(
      parseReplication(
        { source: 'a', target: 'http://example.org/b', proxy: 'socks5://me:pw@127.0.0.1:1080' },
        options,
      ),
    );
    expect(proxied.source).toEqual({ kind: 'local', name: 'a' });
    expect(proxied.target).toMatchObject({ proxy: 'socks5://me:pw@127.0.0.1:1080' });
    expect(describeProxy(proxied.target)).toBe('socks5://127.0.0.1:1080');
    expect(describeEndpoint(proxied.target)).toBe('http://example.org/b/');
    expect(reasonOf({ ...ends, target: 'http://example.org/b', proxy: 'http://p' }, { noProxy: 'not here.' })).toBe(
      "A proxy can't be used: not here.",
    );
    expect(reasonOf({ ...ends, proxy: 'http://p' }, { noProxy: 'not here.' })).toBe('no error');
  });

  test('can only be local without a network', () => {
    const alone = { noNetwork: 'no network.' };
    expect(reasonOf({ source: 'http://127.0.0.1:5984/a', target: 'b' }, alone)).toBe('no error');
    expect(reasonOf({ source: 'http://example.org/a', target: 'b' }, alone)).toBe(
      "The `source' is not a database of this service, and no network.",
    );
  });
});

describe('an invalid replication request', () => {
  const url = (text: string, more: object = {}) => ({ source: { url: text, ...more }, target: 'b' });
  test.each([
    [{ target: 'b' }, "The `source' property must exist and be either a string or an object."],
    [{ source: 'a', target: 3 }, "The `target' property must exist and be either a string or an object."],
    [{ source: 'a', target: '' }, "The `target' property must exist and be either a string or an object."],
    [{ source: {}, target: 'b' }, "The url property must exist in the `source' field and must be a non-empty string."],
    [url('ftp://x/a'), "The `source' must be the name of a database, or its URL with http: or https:."],
    [url('http://'), "The `source' must be the name of a database, or its URL with http: or https:."],
    [url('http://x/'), "The URL of the `source' must lead to a database, as http://127.0.0.1:5984/name does."],
    [url('http://x/a?b'), "The URL of the `source' must lead to a database, as http://127.0.0.1:5984/name does."],
    [url('http://x/a', { headers: 7 }), "`source.headers' must be a non-null object."],
    [url('http://x/a', { headers: { a: 7 } }), '`a` value must be a string.'],
    [
      url('http://x/a', { headers: { a: 'x\r\nb: y' } }),
      "`source.headers' has a member that is no valid HTTP header: its name or its value contains a character that headers can't have.",
    ],
    [url('http://x/a', { auth: 'no' }), "`source.auth' must be a non-null object."],
    [url('http://x/a', { auth: { basic: {} } }), "`source.auth.basic' must be an object with a string `username'."],
    [
      url('a', { auth: { basic: { username: 'u', password: 'p' } } }),
      "The `source' is a database of this service: it is accessed with the rights of the user who requests the replication, so remove its headers and auth.",
    ],
    [{ ...ends, continuous: 'yes' }, "The `continuous' field must be a boolean."],
    [{ ...ends, create_target: 1 }, "The `create_target' field must be a boolean."],
    [{ ...ends, doc_ids: 'x' }, "The `doc_ids' field must be an array of strings."],
    [{ ...ends, doc_ids: [1] }, "The `doc_ids' field must be an array of strings."],
    [{ ...ends, filter: '' }, "The `filter' field must be a non-empty string."],
    [{ ...ends, filter: 'x' }, "The `filter' field must have the form designname/filtername."],
    [{ ...ends, filter: 'd/f', query_params: [] }, "The `query_params' field must be an object."],
    [{ ...ends, filter: 'd/f', query_params: { k: 1 } }, '`k` value must be a string.'],
    [{ ...ends, selector: 'x' }, "The `selector' field must be an object."],
    [{ ...ends, selector: {}, doc_ids: [] }, '`doc_ids`, `filter`, `selector` are mutually exclusive'],
    [
      { ...ends, since_seq: {} },
      "The `since_seq' field must be a sequence of the source: a number, a string or an array.",
    ],
    [{ ...ends, worker_batch_size: 0 }, "The `worker_batch_size' field must be a whole number from 1 to 10000."],
    [{ ...ends, worker_batch_size: '1e3' }, "The `worker_batch_size' field must be a whole number from 1 to 10000."],
    [
      { ...ends, proxy: 'https://p' },
      "The `proxy' field must be a URL with http: or socks5:, such as http://127.0.0.1:3128.",
    ],
    [{ ...ends, cancel: 'x' }, "The `cancel' field must be a boolean."],
    [{ cancel: true }, "The `source' property must exist and be either a string or an object."],
  ])('%j is refused', (body, reason) => {
    expect(reasonOf(body)).toBe(reason);
  });

  test('is refused without repeating a password', () => {
    for (const text of [
      'http://joe:hunter2@',
      'http://joe:hunter2@x/',
      'ftp://joe:hunter2@x/a',
      'http://joe:hunter2%FF@x/a',
    ]) {
      expect(reasonOf({ source: text, target: 'b' })).not.toBe('no error');
      expect(reasonOf({ source: text, target: 'b' })).not.toContain('hunter2');
    }
  });
});

test('the same selection in any order makes the same replication', () => {
  const of = (more: object) => atOnce(parseReplication({ ...ends, ...more }, options)).selection;
  expect(of({ doc_ids: ['b', 'a', 'b'] })).toEqual({ kind: 'ids', ids: ['a', 'b'] });
  expect(of({ filter: '_doc_ids', doc_ids: ['a'] })).toEqual({ kind: 'ids', ids: ['a'] });
  const one = of({ filter: 'd/f', query_params: { b: '1', a: '2' } });
  expect(JSON.stringify(one)).toBe('{"kind":"filter","filter":"d/f","parameters":{"a":"2","b":"1"}}');
  expect(of({ selector: { x: 1 } })).toEqual({ kind: 'selector', selector: '{"x":1}' });
});

test('an id, under any of its names, suffices to cancel', () => {
  for (const name of ['replication_id', 'id', '_local_id']) {
    expect(atOnce(parseReplicateRequest({ cancel: true, [name]: 'x+continuous' }, options))).toEqual({
      kind: 'cancelById',
      id: 'x+continuous',
    });
  }
  expect(atOnce(parseReplicateRequest({ ...ends, cancel: true }, options))).toMatchObject({ kind: 'cancel' });
  expect(atOnce(parseReplicateRequest({ ...ends, retry_refused: true }, options))).toMatchObject({
    retryRefused: true,
  });
});
