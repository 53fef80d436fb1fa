import { assert } from 'chai';
import { assertAllowed, assertError } from '../../support/conformance/answer.ts';
import { arrayAt, at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

const json = (value: unknown) => encodeURIComponent(JSON.stringify(value));

/** Databases whose names lie behind that of the case, and before those of others. */
async function createThree(t: Toolkit): Promise<readonly string[]> {
  const names = ['a', 'b', 'c'].map((end) => `${t.db}_list_${end}`);
  for (const name of names) await t.createDatabase(name);
  return names;
}

async function listed(t: Toolkit, query: string): Promise<readonly unknown[]> {
  const answer = await t.request('GET', `/_dbs_info${query}`);
  assert.equal(answer.status, 200, answer.text);
  return arrayAt(answer.json).map((entry) => at(entry, 'key'));
}

/** Where real clients and servers of the family expect lists to be so, and not otherwise. */
export default suite('corrections_lists', [
  test('GET _dbs_info lists all databases, as POST lists the given keys', async (t) => {
    const names = await createThree(t);
    await t.put('doc', {});
    const all = await t.request('GET', '/_dbs_info');
    const known = arrayAt((await t.request('GET', '/_all_dbs')).json);
    const keys = arrayAt(all.json).map((entry) => at(entry, 'key'));
    assert.includeMembers([...known], [...names, t.db]);
    assert.includeMembers([...keys], [...names, t.db]);
    assert.deepEqual([...keys].sort(), keys);
    const own = arrayAt(all.json).find((entry) => at(entry, 'key') === t.db);
    assert.deepEqual(own, { key: t.db, info: await t.info() });
    const posted = await t.request('POST', '/_dbs_info', { json: { keys: [t.db] } });
    assert.deepEqual(at(posted.json, 0), own);
  }),

  test('parameters of _dbs_info select databases', async (t) => {
    const [a = '', b = '', c = ''] = await createThree(t);
    const range = `?startkey=${json(a)}&endkey=${json(c)}`;
    assert.deepEqual(await listed(t, range), [a, b, c]);
    assert.deepEqual(await listed(t, `${range}&skip=1`), [b, c]);
    assert.deepEqual(await listed(t, `${range}&limit=2`), [a, b]);
    assert.deepEqual(await listed(t, `${range}&skip=1&limit=1`), [b]);
    assert.deepEqual(await listed(t, `${range}&limit=0`), []);
    assert.deepEqual(await listed(t, `${range}&inclusive_end=false`), [a, b]);
    assert.deepEqual(await listed(t, `?start_key=${json(`${b}!`)}&end_key=${json(`${c}!`)}`), [c]);
    assert.deepEqual(await listed(t, `?descending=true&startkey=${json(c)}&endkey=${json(a)}&limit=2`), [c, b]);
    assert.deepEqual(await listed(t, `?startkey=${json(c)}&endkey=${json(a)}`), []);
    assert.deepEqual(await listed(t, `?key=${json(b)}`), [b]);
    assert.equal((await listed(t, `?startkey=${json(a)}&limit=1`)).length, 1);
  }),

  test('the same parameters select names in _all_dbs, where administration tools look databases up', async (t) => {
    const [a = '', b = '', c = ''] = await createThree(t);
    const names = async (query: string) => (await t.request('GET', `/_all_dbs${query}`)).json;
    const range = `?startkey=${json(a)}&endkey=${json(c)}`;
    assert.deepEqual(await names(range), [a, b, c]);
    assert.deepEqual(await names(`${range}&skip=1&limit=1`), [b]);
    assert.deepEqual(await names(`?descending=true&startkey=${json(c)}&endkey=${json(a)}&limit=2`), [c, b]);
    assert.deepEqual(await names(`?startkey=${json(b)}&endkey=${json(`${b}\u9999`)}&limit=30`), [b]);
    assertError(await t.request('GET', '/_all_dbs?startkey=a'), 400, 'bad_request', 'invalid_json');
  }),

  test('parameters of _dbs_info are checked like those of other lists', async (t) => {
    const wrong = await t.request('GET', '/_dbs_info?limit=ten');
    assertError(wrong, 400, 'query_parse_error', 'Invalid value for integer: ten');
    assertError(await t.request('GET', '/_dbs_info?startkey=a'), 400, 'bad_request', 'invalid_json');
    assert.equal((await t.request('HEAD', '/_dbs_info')).status, 200);
    assertAllowed(await t.request('PUT', '/_dbs_info'), 'GET,HEAD,POST,QUERY');
  }),

  test("_bulk_get returns multipart only if the client doesn't accept JSON", async (t) => {
    const rev = await t.put('doc', { n: 1 });
    const docs = [{ id: 'doc', rev }];
    const typeFor = async (accept: string | undefined) => {
      const headers = { 'content-type': 'application/json', ...(accept === undefined ? {} : { accept }) };
      const answer = await t.at('POST', '/_bulk_get', { body: JSON.stringify({ docs }), headers });
      assert.equal(answer.status, 200, answer.text);
      return `${answer.header('content-type')}`.split(';')[0];
    };
    for (const accept of ['application/json', '*/*', 'multipart/mixed, application/json', 'text/html', 'image/png']) {
      assert.equal(await typeFor(accept), 'application/json', accept);
    }
    for (const accept of ['multipart/mixed', 'multipart/related, multipart/mixed;q=0.5']) {
      assert.equal(await typeFor(accept), 'multipart/mixed', accept);
    }
  }),

  test('a reduced view over nothing has no rows', async (t) => {
    await t.put('_design/test', { views: { v: { map: 'function (doc) {}', reduce: '_count' } } });
    const answer = await t.get('/_design/test/_view/v');
    assert.deepEqual(answer.json, { rows: [] });
    assert.equal(answer.text, '{"rows":[\r\n\r\n]}\n');
  }),
]);
