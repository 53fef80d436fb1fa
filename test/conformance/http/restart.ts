import { assert } from 'chai';
import { assertError, assertJson } from '../../support/conformance/answer.ts';
import { fakeRev, replicated } from '../../support/conformance/fake-revisions.ts';
import { arrayAt, at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

/** What was acknowledged is there again after the service ended and began anew. */
export default suite('restart', [
  test(
    'documents of every kind and their revisions survive a restart',
    async (t) => {
      const first = await t.put('doc', { n: 1 });
      const second = await t.put('doc', { _rev: first, n: 2 });
      const tombstone = await t.delete('gone', await t.put('gone', {}));
      await t.replicate([replicated('split', 2, 'ba', { n: 1 }), replicated('split', 2, 'ca', { n: 2 })]);
      await t.put('_design/test', { views: {} });
      await t.put('_local/mine', { n: 1 });
      await t.restart();
      assertJson(await t.get('/doc?revs=true'), 200, {
        _id: 'doc',
        _rev: second,
        n: 2,
        _revisions: { start: 2, ids: [second.slice(2), first.slice(2)] },
      });
      assertError(await t.get('/gone'), 404, 'not_found', 'deleted');
      assertJson(await t.get(`/gone?rev=${tombstone}`), 200, { _id: 'gone', _rev: tombstone, _deleted: true });
      assert.deepInclude((await t.get('/split?conflicts=true')).json, { n: 2, _conflicts: [fakeRev(2, 'b')] });
      assert.deepInclude((await t.get('/_design/test')).json, { views: {} });
      assertJson(await t.get('/_local/mine'), 200, { _id: '_local/mine', _rev: '0-1', n: 1 });
    },
    { needs: ['restart'] },
  ),

  test(
    "a restart by request ends feeds, drops settings that don't persist, and keeps everything else",
    async (t) => {
      await t.put('doc', { n: 1 });
      const setting = (key: string, headers = {}) => t.request('PUT', `/_config/app/${key}`, { headers, json: 'set' });
      await setting('kept');
      await setting('forgotten', { 'x-svc-persist': 'false' });
      const feed = await t.feed('feed=continuous&heartbeat=60000');
      await feed.until('"doc"');
      assertJson(await t.request('POST', '/_restart', { json: {} }), 202, { ok: true });
      // What comes meanwhile waits for the service that is opened anew.
      const written = await Promise.all(Array.from({ length: 20 }, (_, n) => t.at('PUT', `/${n}`, { json: {} })));
      assert.deepEqual(
        written.map(({ status }) => status),
        Array.from({ length: 20 }, () => 201),
      );
      await feed.over();
      assertJson(await t.request('GET', '/_config/app'), 200, { kept: 'set' });
      await t.request('DELETE', '/_config/app/kept');
      assertJson(await t.get('/doc'), 200, { _id: 'doc', _rev: stringAt((await t.get('/doc')).json, '_rev'), n: 1 });
      assert.deepInclude(await t.info(), { doc_count: 21 });
    },
    { needs: ['restart-request'] },
  ),

  test(
    'counts, sequences and instance_start_time survive a restart',
    async (t) => {
      await t.delete('gone', await t.put('gone', {}));
      await t.bulk(Array.from({ length: 50 }, (_, n) => ({ _id: `${n}` })));
      await t.at('POST', '/_purge', { json: { 7: [stringAt((await t.get('/7')).json, '_rev')] } });
      const before = await t.info();
      await t.restart();
      const after = await t.info();
      for (const member of ['doc_count', 'doc_del_count', 'update_seq', 'purge_seq', 'instance_start_time']) {
        assert.equal(at(after, member), at(before, member), member);
      }
      await t.put('next', {});
      assert.equal(await t.updateSeq(), Number(at(before, 'update_seq')) + 1);
    },
    { needs: ['restart'] },
  ),

  test(
    'the security object and the revision limit survive a restart',
    async (t) => {
      await t.at('PUT', '/_security', { json: { members: { roles: ['staff'] } } });
      await t.at('PUT', '/_revs_limit', { body: '7' });
      await t.restart();
      assertJson(await t.get('/_security'), 200, { members: { roles: ['staff'] } });
      assert.equal((await t.get('/_revs_limit')).text, '7\n');
    },
    { needs: ['restart'] },
  ),

  test(
    'the list of databases survives a restart, with creations and deletions',
    async (t) => {
      await t.createDatabase(`${t.db}/kept`);
      await t.createDatabase(`${t.db}_dropped`);
      await t.request('DELETE', `/${t.db}_dropped`);
      await t.restart();
      const names = arrayAt((await t.request('GET', '/_all_dbs')).json);
      assert.include(names, `${t.db}/kept`);
      assert.notInclude(names, `${t.db}_dropped`);
    },
    { needs: ['restart'] },
  ),

  test(
    'the uuid of the server survives a restart',
    async (t) => {
      const before = stringAt((await t.request('GET', '/')).json, 'uuid');
      await t.restart();
      assert.equal(stringAt((await t.request('GET', '/')).json, 'uuid'), before);
    },
    { needs: ['restart'] },
  ),

  test(
    'writes with batch=ok survive a restart',
    async (t) => {
      assert.equal((await t.at('PUT', '/doc?batch=ok', { json: { n: 1 } })).status, 202);
      await t.restart();
      assert.deepInclude((await t.get('/doc')).json, { _id: 'doc', n: 1 });
    },
    { needs: ['restart'] },
  ),

  test(
    'a compacted database survives a restart',
    async (t) => {
      const first = await t.put('doc', { n: 1 });
      await t.put('doc', { _rev: first, n: 2 });
      await t.compact();
      await t.restart();
      assertError(await t.get(`/doc?rev=${first}`), 404, 'not_found', 'missing');
      assert.deepInclude((await t.get('/doc')).json, { n: 2 });
    },
    { needs: ['restart'] },
  ),

  test(
    'thousands of documents, large and small, survive a restart',
    async (t) => {
      const large = 'x'.repeat(300_000);
      await t.bulk(Array.from({ length: 2000 }, (_, n) => ({ _id: `${n}`.padStart(5, '0'), n })));
      await t.put('large', { large });
      await t.restart();
      assert.isTrue(stringAt((await t.get('/large')).json, 'large') === large);
      const answer = await t.get('/_all_docs?startkey="01000"&limit=2');
      assert.deepInclude(answer.json, { total_rows: 2001, offset: 1000 });
      assert.deepEqual(
        arrayAt(answer.json, 'rows').map((row) => at(row, 'id')),
        ['01000', '01001'],
      );
    },
    { needs: ['restart'] },
  ),
]);
