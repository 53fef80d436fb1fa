import { assert } from 'chai';
import { replicated } from '../../../support/conformance/fake-revisions.ts';
import { at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import { databasePath } from '../../../support/conformance/toolkit.ts';
import { readChanges, rowText, threeDocuments } from './steps.ts';

const head = '{"results":[\n';

/** Feeds that end with what comes first (docs/http/changes.md#formats-of-feeds). */
export default suite('changes_longpoll', [
  test('a write ends a longpoll, and its row is sent at once', async (t) => {
    await threeDocuments(t);
    const feed = await t.feed('feed=longpoll&since=3');
    assert.equal(await feed.until('\n'), head);
    await t.replicate([replicated('d', 1, 'd')]);
    assert.equal(await feed.rest(), `${rowText(4, 'd', 'd')}\n],\n"last_seq":4,"pending":0}\n`);
  }),

  test('since=now waits for the next change', async (t) => {
    await threeDocuments(t);
    const feed = await t.feed('feed=longpoll&since=now');
    await feed.until(head);
    await t.replicate([replicated('d', 1, 'd')]);
    assert.deepEqual(readChanges(head + (await feed.rest())).text, [rowText(4, 'd', 'd')]);
  }),

  test('all changes of one write are sent, up to limit', async (t) => {
    const feeds = [await t.feed('feed=longpoll'), await t.feed('feed=longpoll&limit=2')];
    for (const feed of feeds) await feed.until(head);
    await threeDocuments(t);
    const [all, limited] = await Promise.all(feeds.map(async (feed) => readChanges(head + (await feed.rest()))));
    assert.deepInclude(all, { lastSeq: 3, pending: 0 });
    assert.lengthOf(all?.rows ?? [], 3);
    assert.deepInclude(limited, { lastSeq: 2, pending: 1 });
    assert.lengthOf(limited?.rows ?? [], 2);
  }),

  test('descending has no effect on a longpoll that waits', async (t) => {
    await threeDocuments(t);
    const { text } = readChanges((await t.get('/_changes?feed=longpoll&descending=true&since=1')).text);
    assert.deepEqual(text, [rowText(2, 'a', 'b'), rowText(3, 'c', 'c')]);
  }),

  test('a write during the request is not missed', async (t) => {
    for (let round = 1; round <= 30; round += 1) {
      const [feed] = await Promise.all([
        t.feed(`feed=longpoll&since=${round - 1}`),
        t.replicate([replicated(`doc${round}`, 1, 'a')]),
      ]);
      assert.deepEqual(readChanges(await feed.rest()).text, [rowText(round, `doc${round}`, 'a')]);
    }
  }),

  test('consecutive longpolls see every write of several writers', async (t) => {
    const seen = new Set<unknown>();
    let lastSeq = 0;
    const writes = Promise.all(
      [0, 1, 2].map(async (writer) => {
        for (let n = 0; n < 15; n += 1) await t.put(`w${writer}-${n}`, {});
      }),
    );
    while (seen.size < 45) {
      const answer = readChanges((await t.get(`/_changes?feed=longpoll&since=${lastSeq}&timeout=10000`)).text);
      assert.isNotEmpty(answer.rows);
      for (const row of answer.rows) {
        assert.isFalse(seen.has(at(row, 'id')), 'told twice');
        seen.add(at(row, 'id'));
      }
      lastSeq = answer.lastSeq;
    }
    await writes;
    assert.equal(lastSeq, await t.updateSeq());
  }),

  test("a change that a filter rejects doesn't end a longpoll, and last_seq advances", async (t) => {
    const feed = await t.feed('feed=longpoll&filter=_design&heartbeat=10');
    await feed.until(head);
    await threeDocuments(t);
    assert.equal(await feed.until('\n\n'), '\n\n');
    await t.put('_design/x', {});
    const { rows, lastSeq } = readChanges(head + (await feed.rest()).trimStart());
    assert.deepEqual(
      rows.map((row) => at(row, 'id')),
      ['_design/x'],
    );
    assert.equal(lastSeq, 4);
  }),

  test('timeout ends a longpoll without rows, with the last sequence that was examined', async (t) => {
    await threeDocuments(t);
    const { text } = await t.get('/_changes?feed=longpoll&since=1&filter=_design&timeout=20');
    assert.deepEqual(readChanges(text), { rows: [], text: [], lastSeq: 3, pending: 0 });
  }),

  test(
    'a longer timeout than the setting is shortened',
    async (t) => {
      const short = await t.withSettings({ httpd: { changes_timeout: '20' } });
      for (const parameters of ['', '&timeout=100000000']) {
        const { text } = await short.get(`/_changes?feed=longpoll${parameters}`);
        assert.equal(text, '{"results":[\n\n],\n"last_seq":0,"pending":0}\n');
      }
    },
    { needs: ['settings'] },
  ),

  test('deleting the database ends a longpoll properly', async (t) => {
    await threeDocuments(t);
    const feed = await t.feed('feed=longpoll&since=now&heartbeat=10000');
    await feed.until(head);
    await t.request('DELETE', databasePath(t.db));
    assert.equal(await feed.rest(), '\n],\n"last_seq":3,"pending":0}\n');
  }),
]);
