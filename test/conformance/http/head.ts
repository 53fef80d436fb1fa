import { assert } from 'chai';
import { suite, test } from '../../support/conformance/suite.ts';

/** HEAD is GET without its body (docs/http.md#head). */
export default suite('head', [
  test('has status and headers of GET, on every resource', async (t) => {
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

  test('tells the length where it is known', async (t) => {
    await t.put('doc', { text: 'Größe' });
    for (const path of ['', '/doc', '/_security', '/_revs_limit']) {
      const length = (await t.get(path)).bytes.length;
      assert.equal((await t.at('HEAD', path)).header('content-length'), `${length}`, path);
    }
  }),

  test('leaves the connection usable', async (t) => {
    await t.put('doc', { n: 1 });
    for (let round = 0; round < 5; round += 1) {
      assert.equal((await t.at('HEAD', '/doc')).status, 200);
      assert.equal((await t.at('HEAD', '/nobody')).status, 404);
      assert.deepInclude((await t.get('/doc')).json, { n: 1 });
    }
  }),
]);
