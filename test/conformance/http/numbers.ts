import { assert } from 'chai';
import { idsOf } from '../../support/conformance/find-steps.ts';
import { stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import { pluck } from '../../support/conformance/view-steps.ts';

const numbers = [
  '9007199254740993',
  '-9007199254740993',
  '123456789012345678901234567890',
  '1e308',
  '-1E+308',
  '1e-400',
  '-0',
  '-0.0',
  '1.0',
  '1.10',
  '0.1e1',
  '1E5',
  '3.14159265358979323846264338327950288',
];

/** Numbers come back digit for digit, also those that no double has exactly: bodies are kept as text. */
export default suite('numbers', [
  ...numbers.map((digits) =>
    test(`${digits} stays ${digits}`, async (t) => {
      const body = `{"n":${digits},"list":[${digits},{"deep":${digits}}]}`;
      const rev = stringAt((await t.at('PUT', '/doc', { body })).json, 'rev');
      assert.equal(
        (await t.get('/doc')).text,
        `{"_id":"doc","_rev":"${rev}","n":${digits},"list":[${digits},{"deep":${digits}}]}\n`,
      );
    }),
  ),

  test('numbers keep their digits in bulk writes, rows, open_revs and copies', async (t) => {
    const members = '"big":9007199254740993,"one":1.0,"huge":1E308,"zero":-0';
    const headers = { 'content-type': 'application/json' };
    const body = `{"docs":[{"_id":"doc",${members}}]}`;
    const rev = stringAt((await t.at('POST', '/_bulk_docs', { body, headers })).json, 0, 'rev');
    const text = `{"_id":"doc","_rev":"${rev}",${members}}`;
    assert.equal((await t.get('/doc')).text, `${text}\n`);
    assert.include((await t.get('/_all_docs?include_docs=true')).text, `"doc":${text}}`);
    assert.include((await t.get('/doc?open_revs=all')).text, `{"ok":${text}}`);
    const bulkGet = await t.at('POST', '/_bulk_get', { json: { docs: [{ id: 'doc' }] } });
    assert.include(bulkGet.text, text);
    await t.at('COPY', '/doc', { headers: { destination: 'copy' } });
    assert.include((await t.get('/copy')).text, `,${members}}`);
    await t.compact();
    assert.equal((await t.get('/doc')).text, `${text}\n`);
  }),

  test('numbers keep their digits in local documents', async (t) => {
    await t.at('PUT', '/_local/mine', { body: '{"n":9007199254740993,"f":1.0}' });
    assert.equal(
      (await t.get('/_local/mine')).text,
      '{"_id":"_local/mine","_rev":"0-1","n":9007199254740993,"f":1.0}\n',
    );
  }),

  test('numbers beyond the range of doubles sort below and above all others, and can be queried', async (t) => {
    await t.bulk([
      { _id: 'a', n: 1e308 },
      { _id: 'b', n: -1e308 },
      { _id: 'c', n: 'x' },
    ]);
    await t.put('_design/test', { views: { n: { map: 'function (doc) { emit(doc.n, 0); }' } } });
    assert.deepEqual(pluck(await t.get('/_design/test/_view/n?startkey=1e400'), 'id'), ['c']);
    assert.deepEqual(pluck(await t.get('/_design/test/_view/n?endkey=1e400'), 'id'), ['b', 'a']);
    const headers = { 'content-type': 'application/json' };
    const above = await t.at('POST', '/_find', { body: '{"selector":{"n":{"$lt":1e500}}}', headers });
    assert.deepEqual(idsOf(above), ['a', 'b']);
  }),

  test('numbers that are equal as doubles but written differently make different revisions', async (t) => {
    const one = stringAt((await t.at('PUT', '/one', { body: '{"n":9007199254740992}' })).json, 'rev');
    const two = stringAt((await t.at('PUT', '/two', { body: '{"n":9007199254740993}' })).json, 'rev');
    assert.notEqual(one, two);
  }),
]);
