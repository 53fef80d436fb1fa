import { assert } from 'chai';
import { stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

/** HEAD is GET without its body (docs/http/requests.md#head). */
export default suite('head', [
  test('HEAD has status and headers of GET, on every resource', async (t) => {
    await t.put('doc', { n: 1 });
    await t.put('_design/test', {});
    await t.put('_local/mine', {});
    const below = ['', '/doc', '/nobody', '/_design/test', '/_local/mine', '/_all_docs', '/_security', '/_revs_limit'];
    const paths = ['/', '/_all_dbs', '/_up', '/_uuids', '/no_such_db', ...below.map((path) => `/${t.db}${path}`)];
    for (const path of paths) {
      const get = await t.request('GET', path);
      const head = await t.request('HEAD', path);
      assert.equal(head.status, get.status, path);
      assert.lengthOf(head.bytes, 0, path);
      for (const name of ['content-type', 'cache-control', 'location']) {
        assert.equal(head.header(name), get.header(name), `${name} of ${path}`);
      }
      if (path !== '/_uuids') assert.equal(head.header('etag'), get.header('etag'), `ETag of ${path}`);
    }
  }),

  test('HEAD has the Content-Length of GET', async (t) => {
    const rev = await t.put('doc', { text: 'Größe' });
    await t.at('PUT', `/doc/plain?rev=${rev}`, { body: 'hello', headers: { 'content-type': 'x/y' } });
    const text = 'the same words again and again, '.repeat(200);
    const next = stringAt((await t.get('/doc')).json, '_rev');
    await t.at('PUT', `/doc/text?rev=${next}`, { body: text, headers: { 'content-type': 'text/plain' } });
    await t.put('_local/mine', { n: 1 });
    await t.put('_design/d', {
      views: {
        names: { map: 'function (doc) { emit(doc._id, 1); }', reduce: '_count' },
        broken: { map: 'function (doc) { emit(doc._id, "x"); }', reduce: '_sum' },
      },
      shows: { card: 'function (doc) { return doc.text; }' },
      lists: { rows: 'function () { while (getRow()) send("row "); }' },
    });
    const below = [
      ['', '/doc', '/_security', '/_revs_limit', '/_local/mine', '/doc/plain', '/doc/text', '/nobody', '/doc/none'],
      ['/doc?revs=true&revs_info=true', '/doc?open_revs=all', '/doc?attachments=true', '/doc?att_encoding_info=true'],
      ['/_all_docs', '/_all_docs?include_docs=true', '/_all_docs?keys=["doc"]', '/_design_docs', '/_local_docs'],
      ['/_changes', '/_changes?since=9999', '/_index'],
      [
        '/_design/d/_view/names',
        '/_design/d/_view/names?reduce=false',
        '/_design/d/_view/broken',
        '/_design/d/_view/no',
      ],
      ['/_design/d/_show/card/doc', '/_design/d/_list/rows/names?reduce=false'],
    ].flat();
    const paths = [
      ...below.map((path) => `/${t.db}${path}`),
      ...['/', '/_all_dbs', '/_up', '/_active_tasks', '/_session', '/_scheduler/jobs', '/_config', '/favicon.ico'],
    ];
    for (const path of paths) {
      const get = await t.request('GET', path);
      const head = await t.request('HEAD', path);
      assert.equal(head.status, get.status, path);
      assert.equal(head.header('content-length'), `${get.bytes.length}`, path);
    }
    const related = { accept: 'multipart/related' };
    const whole = await t.get('/doc', related);
    assert.equal((await t.at('HEAD', '/doc', { headers: related })).header('content-length'), `${whole.bytes.length}`);
  }),

  test('a list that is sent in chunks has no length', async (t) => {
    await t.bulk(Array.from({ length: 2_000 }, (_, index) => ({ _id: `document-${index}` })));
    const head = await t.at('HEAD', '/_all_docs');
    assert.equal(head.status, 200);
    assert.isUndefined(head.header('content-length'));
  }),

  test('HEAD leaves the connection usable', async (t) => {
    await t.put('doc', { n: 1 });
    for (let round = 0; round < 5; round += 1) {
      assert.equal((await t.at('HEAD', '/doc')).status, 200);
      assert.equal((await t.at('HEAD', '/nobody')).status, 404);
      assert.deepInclude((await t.get('/doc')).json, { n: 1 });
    }
  }),
]);
