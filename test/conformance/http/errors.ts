import { assert } from 'chai';
import { type Answer, assertError } from '../../support/conformance/answer.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

interface Refusal {
  readonly ask: (t: Toolkit) => Promise<Answer>;
  readonly status: number;
  readonly error: string;
  readonly reason: string;
}

const large = JSON.stringify({ text: 'x'.repeat(2000) });

/** One way to each status, error and reason of the catalogue (docs/http/errors.md) that this version can answer with. */
const refusals: readonly Refusal[] = [
  { ask: (t) => t.at('PUT', '/doc', { body: '{' }), status: 400, error: 'bad_request', reason: 'invalid_json' },
  {
    ask: (t) => t.get('/_all_docs?limit=x'),
    status: 400,
    error: 'query_parse_error',
    reason: 'Invalid value for integer: x',
  },
  {
    ask: (t) => t.request('PUT', '/Illegal'),
    status: 400,
    error: 'illegal_database_name',
    reason:
      "Name: 'Illegal'. Only lowercase characters (a-z), digits (0-9), and any of the characters " +
      '_, $, (, ), +, -, and / are allowed. Must begin with a letter.',
  },
  {
    ask: (t) => t.at('PUT', '/doc', { json: { _x: 1 } }),
    status: 400,
    error: 'doc_validation',
    reason: 'Bad special document member: _x',
  },
  {
    ask: (t) => t.request('GET', '/_uuids?count=5000'),
    status: 403,
    error: 'forbidden',
    reason: 'count parameter too large',
  },
  { ask: (t) => t.get('/nobody'), status: 404, error: 'not_found', reason: 'missing' },
  {
    ask: async (t) => {
      await t.delete('doc', await t.put('doc', {}));
      return t.get('/doc');
    },
    status: 404,
    error: 'not_found',
    reason: 'deleted',
  },
  { ask: (t) => t.request('GET', '/no_such_db'), status: 404, error: 'not_found', reason: 'no_db_file' },
  { ask: (t) => t.get('/_purge'), status: 405, error: 'method_not_allowed', reason: 'Only POST allowed' },
  {
    ask: async (t) => {
      await t.put('doc', {});
      return t.at('PUT', '/doc', { json: {} });
    },
    status: 409,
    error: 'conflict',
    reason: 'Document update conflict.',
  },
  {
    ask: (t) => t.at('PUT', ''),
    status: 412,
    error: 'file_exists',
    reason: 'The database could not be created, the file already exists.',
  },
  {
    ask: (t) => t.at('PUT', '/doc', { body: large }),
    status: 413,
    error: 'too_large',
    reason:
      'the request entity is too large: its JSON may have 1000 bytes (svc/max_document_size); nothing was changed. Keep large data in attachments, or send fewer documents at a time.',
  },
  {
    ask: (t) => t.get(`/${'x'.repeat(600)}`),
    status: 414,
    error: 'too_long',
    reason: 'the request entity is too long',
  },
  {
    ask: (t) => t.at('POST', '', { body: '{}' }),
    status: 415,
    error: 'bad_content_type',
    reason: 'Content-Type must be application/json',
  },
];

const limits = { svc: { max_document_size: '1000' }, httpd: { max_uri_length: '500' } };

/** Refusals as a client sees them. */
export default suite('errors', [
  ...refusals.map(({ ask, status, error, reason }) =>
    test(
      `${status} ${error}: ${reason}`,
      async (t) => {
        const service = status === 413 || status === 414 ? await t.withSettings(limits) : t;
        const answer = await ask(service);
        assertError(answer, status, error, reason);
        assert.equal(answer.header('x-svc-help'), `docs/http/errors.md#${error}`);
        assert.equal(answer.header('content-type'), 'application/json');
        assert.equal(answer.header('cache-control'), 'must-revalidate');
        assert.isTrue(answer.text.endsWith('\n'));
        assert.isTrue(answer.text.startsWith(`{"error":"${error}","reason":`), 'error comes first');
      },
      { needs: status === 413 || status === 414 ? ['settings'] : [] },
    ),
  ),

  test('an unknown resource below a database is answered 404', async (t) => {
    for (const path of ['/_nonsense', '/_Security']) {
      const answer = await t.get(path);
      assert.include([400, 404], answer.status, path);
    }
  }),
]);
