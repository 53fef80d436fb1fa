import { assert } from 'chai';
import { suite, test } from '../../../support/conformance/suite.ts';
import type { Toolkit } from '../../../support/conformance/toolkit.ts';
import { threeDocuments } from './steps.ts';

async function tagOf(t: Toolkit, parameters = ''): Promise<string | undefined> {
  return (await t.get(`/_changes${parameters}`)).header('etag');
}

/** ETags of changes, 304, and HEAD (docs/http/changes.md#formats-of-feeds). */
export default suite('changes_tags', [
  test('a normal feed has an ETag, which any change of a document changes', async (t) => {
    await threeDocuments(t);
    const before = await tagOf(t);
    assert.match(before ?? '', /^"[0-9a-z]{10,}"$/);
    assert.equal(await tagOf(t), before);
    await t.put('d', {});
    assert.notEqual(await tagOf(t), before);
  }),

  test('a purge changes the ETag', async (t) => {
    const rev = await t.put('a', {});
    const before = await tagOf(t);
    await t.at('POST', '/_purge', { json: { a: [rev] } });
    assert.notEqual(await tagOf(t), before);
  }),

  test('a matching If-None-Match, also with several tags, is answered 304', async (t) => {
    await threeDocuments(t);
    const tag = `${await tagOf(t)}`;
    for (const given of [tag, `"other", ${tag}`]) {
      const answer = await t.get('/_changes', { 'if-none-match': given });
      assert.deepEqual([answer.status, answer.text, answer.header('etag')], [304, '', tag]);
    }
    assert.equal((await t.get('/_changes', { 'if-none-match': '"other"' })).status, 200);
    await t.put('d', {});
    assert.equal((await t.get('/_changes', { 'if-none-match': tag })).status, 200);
  }),

  test('only GET of a feed that is normal by name or by default has an ETag', async (t) => {
    await threeDocuments(t);
    assert.isDefined(await tagOf(t, '?feed=normal'));
    for (const feed of ['other', 'longpoll', 'continuous&limit=1', 'eventsource&limit=1']) {
      assert.isUndefined(await tagOf(t, `?feed=${feed}`), feed);
    }
    const posted = await t.at('POST', '/_changes', { json: {} });
    assert.isUndefined(posted.header('etag'));
  }),

  test('HEAD has the ETag of GET and no body', async (t) => {
    await threeDocuments(t);
    const answer = await t.at('HEAD', '/_changes');
    assert.deepEqual([answer.status, answer.text, answer.header('etag')], [200, '', await tagOf(t)]);
    const again = await t.at('HEAD', '/_changes', { headers: { 'if-none-match': `${await tagOf(t)}` } });
    assert.equal(again.status, 304);
  }),

  test('HEAD of a feed that would wait ends at once', async (t) => {
    for (const [feed, type] of [
      ['longpoll', 'application/json'],
      ['continuous', 'application/json'],
      ['eventsource', 'text/event-stream'],
    ] as const) {
      const answer = await t.at('HEAD', `/_changes?feed=${feed}&heartbeat=true&since=now`);
      assert.deepEqual([answer.status, answer.text, answer.header('content-type')], [200, '', type]);
    }
  }),
]);
