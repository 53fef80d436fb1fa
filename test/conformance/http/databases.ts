import { assert } from 'chai';
import { assertAllowed, assertError, assertJson } from '../../support/conformance/answer.ts';
import { arrayAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import { databasePath } from '../../support/conformance/toolkit.ts';

function illegal(name: string): string {
  return (
    `Name: '${name}'. Only lowercase characters (a-z), digits (0-9), and any of the characters ` +
    '_, $, (, ), +, -, and / are allowed. Must begin with a letter.'
  );
}

/** Creating, naming, listing and deleting databases (docs/http/databases.md). */
export default suite('databases', [
  test('PUT creates a database, and returns its Location', async (t) => {
    const name = `${t.db}_new`;
    t.forgetLater(name);
    const answer = await t.request('PUT', `/${name}`);
    assertJson(answer, 201, { ok: true });
    assert.equal(answer.header('location'), `${t.baseUrl}/${name}`);
    assert.include(arrayAt((await t.request('GET', '/_all_dbs')).json), name);
  }),

  test('PUT of an existing name is refused, and changes nothing', async (t) => {
    await t.put('doc', {});
    const reason = 'The database could not be created, the file already exists.';
    assertError(await t.at('PUT', ''), 412, 'file_exists', reason);
    assert.equal((await t.get('/doc')).status, 200);
  }),

  test('PUT with if-missing creates a database, or succeeds if it exists', async (t) => {
    const name = `${t.db}_if_missing`;
    t.forgetLater(name);
    const created = await t.request('PUT', `/${name}?if-missing=true`);
    assertJson(created, 201, { ok: true });
    await t.request('PUT', `/${name}/doc`, { json: {} });
    const found = await t.request('PUT', `/${name}?if-missing=true`);
    assertJson(found, 200, { ok: true, existed: true });
    assert.equal(found.header('location'), `${t.baseUrl}/${name}`);
    assert.equal((await t.request('GET', `/${name}/doc`)).status, 200);
    // The word true alone asks for it.
    for (const query of ['if-missing=false', 'if-missing', 'q=8']) {
      assert.equal((await t.request('PUT', `/${name}?${query}`)).status, 412);
    }
    assertError(await t.request('PUT', '/Upper?if-missing=true'), 400, 'illegal_database_name', illegal('Upper'));
  }),

  test('PUT with unsupported options is refused, and creates nothing', async (t) => {
    const name = `${t.db}_options`;
    t.forgetLater(name);
    const refused = [
      ['partitioned=true', 'Databases are not divided into partitions.'],
      ['access=true', 'Documents have no access lists of their own.'],
      ['engine=other', 'This service has no such option.'],
      ['if-mising=true', 'This service has no such option.'],
    ];
    for (const [query, why] of refused) {
      const reason = `A database can't be created with "${query}". ${why} Create it without that option.`;
      assertError(await t.request('PUT', `/${name}?${query}`), 400, 'bad_request', reason);
      assert.equal((await t.request('GET', `/${name}`)).status, 404);
    }
    const taken = await t.request('PUT', `/${name}?q=8&n=3&placement=a:1&partitioned=false&access=false`);
    assertJson(taken, 201, { ok: true });
  }),

  test('of two simultaneous PUTs with if-missing one creates the database', async (t) => {
    const name = `${t.db}_twice`;
    t.forgetLater(name);
    const answers = await Promise.all([1, 2].map(() => t.request('PUT', `/${name}?if-missing=true`)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 201]);
  }),

  test('a name can have every allowed character', async (t) => {
    for (const name of ['a', 'az09_$()+-/', 'a/b', 'a/b/c', 'a/b+c(d)$', 'a'.repeat(100)]) {
      const path = databasePath(name);
      await t.createDatabase(name);
      assert.deepInclude((await t.request('GET', path)).json, { db_name: name, doc_count: 0 });
      assert.include(arrayAt((await t.request('GET', '/_all_dbs')).json), name);
      assert.equal((await t.request('PUT', `${path}/doc`, { json: {} })).status, 201);
      assert.equal((await t.request('GET', `${path}/doc`)).status, 200);
    }
  }),

  test('a slash in a name is encoded as %2F, also in Location', async (t) => {
    t.forgetLater('a/b');
    await t.request('DELETE', '/a%2Fb');
    const created = await t.request('PUT', '/a%2Fb');
    assert.equal(created.header('location'), `${t.baseUrl}/a%2Fb`);
    const written = await t.request('PUT', '/a%2fb/doc', { json: {} });
    assert.equal(written.header('location'), `${t.baseUrl}/a%2Fb/doc`);
    assertError(await t.request('GET', '/a/b'), 404, 'not_found', 'no_db_file');
  }),

  test('encoded and plain spellings of a character name the same database', async (t) => {
    await t.createDatabase('a/b+c(d)$');
    for (const path of ['/a%2Fb+c(d)$', '/a%2fb%2Bc%28d%29%24', '/a%2Fb%2bc(d)%24']) {
      assert.deepInclude((await t.request('GET', path)).json, { db_name: 'a/b+c(d)$' });
    }
  }),

  test('other names are refused, and the reason says what is allowed', async (t) => {
    for (const name of ['Upper', 'cAmel', '1abc', '_mine', '$a', 'a.b', 'a b', 'a*b', 'ä', 'a\\b', 'a"b', '/a', 'a%']) {
      assertError(await t.request('PUT', databasePath(name)), 400, 'illegal_database_name', illegal(name));
    }
  }),

  test('HEAD says whether a database exists', async (t) => {
    const there = await t.at('HEAD', '');
    assert.equal(there.status, 200);
    assert.notProperty(there.headers, 'etag');
    assert.equal((await t.request('HEAD', `/${t.db}_absent`)).status, 404);
  }),

  test('every request to a missing database is answered no_db_file', async (t) => {
    const path = `/${t.db}_absent`;
    const json = {};
    const answers = [
      await t.request('GET', path),
      await t.request('POST', path, { json }),
      await t.request('GET', `${path}/doc`),
      await t.request('PUT', `${path}/doc`, { json }),
      await t.request('DELETE', `${path}/doc?rev=1-a`),
      await t.request('GET', `${path}/_all_docs`),
      await t.request('POST', `${path}/_bulk_docs`, { json: { docs: [] } }),
      await t.request('POST', `${path}/_revs_diff`, { json }),
      await t.request('POST', `${path}/_compact`, { json }),
      await t.request('GET', `${path}/_security`),
      await t.request('GET', `${path}/_local/doc`),
    ];
    for (const answer of answers) assertError(answer, 404, 'not_found', 'no_db_file');
  }),

  test('DELETE removes a database with all its content', async (t) => {
    await t.put('doc', {});
    await t.put('_local/mine', {});
    await t.at('PUT', '/_security', { json: { members: { names: ['ada'] } } });
    assertJson(await t.at('DELETE', ''), 200, { ok: true });
    assert.notInclude(arrayAt((await t.request('GET', '/_all_dbs')).json), t.db);
    assertError(await t.get(''), 404, 'not_found', 'no_db_file');
    await t.at('PUT', '');
    assert.deepInclude(await t.info(), { doc_count: 0, doc_del_count: 0, update_seq: 0 });
    assertError(await t.get('/doc'), 404, 'not_found', 'missing');
    assertError(await t.get('/_local/mine'), 404, 'not_found', 'missing');
    assertJson(await t.get('/_security'), 200, {});
  }),

  test('DELETE of a missing database is answered 404', async (t) => {
    assertError(await t.request('DELETE', `/${t.db}_absent`), 404, 'not_found', 'missing');
  }),

  test('DELETE with ?rev= is refused, as it was meant for a document', async (t) => {
    const reason = 'You tried to DELETE a database with a ?rev= parameter. Did you mean to DELETE a document instead?';
    assertError(await t.at('DELETE', '?rev=1-abc'), 400, 'bad_request', reason);
    assert.equal((await t.get('')).status, 200);
  }),

  test('databases are listed in order', async (t) => {
    for (const suffix of ['_b', '_a', '$', '0']) await t.createDatabase(`${t.db}${suffix}`);
    const names = arrayAt((await t.request('GET', '/_all_dbs')).json).map(String);
    assert.deepEqual(
      names.filter((name) => name.startsWith(t.db)),
      [t.db, `${t.db}$`, `${t.db}0`, `${t.db}_a`, `${t.db}_b`],
    );
    assert.deepEqual(names, names.toSorted());
  }),

  test('after many creations and deletions of one name the last one counts', async (t) => {
    const name = `${t.db}_again`;
    t.forgetLater(name);
    for (let round = 0; round < 10; round += 1) {
      assert.equal((await t.request('PUT', `/${name}`)).status, 201);
      assert.equal((await t.request('PUT', `/${name}/doc${round}`, { json: {} })).status, 201);
      assert.deepInclude((await t.request('GET', `/${name}`)).json, { doc_count: 1, update_seq: 1 });
      assert.equal((await t.request('DELETE', `/${name}`)).status, 200);
    }
    assertError(await t.request('GET', `/${name}`), 404, 'not_found', 'no_db_file');
  }),

  test('of two simultaneous creations of one name, one succeeds', async (t) => {
    const name = `${t.db}_raced`;
    t.forgetLater(name);
    const answers = await Promise.all([1, 2, 3].map(() => t.request('PUT', `/${name}`)));
    assert.deepEqual(answers.map((answer) => answer.status).toSorted(), [201, 412, 412]);
  }),

  test('unknown methods are refused', async (t) => {
    assertAllowed(await t.at('PATCH', ''), 'DELETE,GET,HEAD,POST');
  }),
]);
