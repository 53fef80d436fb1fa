import { assert } from 'chai';
import { fakeRev, replicated } from '../../../support/conformance/fake-revisions.ts';
import type { FeedReader } from '../../../support/conformance/feed-reader.ts';
import { at, numberAt } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import { databasePath } from '../../../support/conformance/toolkit.ts';
import { rowText, threeDocuments } from './steps.ts';

const patient = 'heartbeat=10000';

/** Feeds that go on with what comes (docs/http/changes.md#formats-of-feeds, docs/http/changes.md#how-feeds-end). */
export default suite('changes_live', [
  test('a continuous feed sends existing changes, then each change as it happens', async (t) => {
    await threeDocuments(t);
    const feed = await t.feed(`feed=continuous&since=1&${patient}`);
    assert.deepEqual(await feed.lines(2), [rowText(2, 'a', 'b'), rowText(3, 'c', 'c')]);
    await t.replicate([replicated('d', 1, 'd')]);
    assert.equal(await feed.line(), rowText(4, 'd', 'd'));
    await t.replicate([replicated('e', 1, 'e'), replicated('f', 1, 'f')]);
    assert.deepEqual(await feed.lines(2), [rowText(5, 'e', 'e'), rowText(6, 'f', 'f')]);
  }),

  test('an eventsource sends existing changes, then each change as it happens', async (t) => {
    await threeDocuments(t);
    const feed = await t.feed(`feed=eventsource&since=2&${patient}`);
    assert.equal(await feed.until('\n\n'), `data: ${rowText(3, 'c', 'c')}\nid: 3\n\n`);
    await t.replicate([replicated('d', 1, 'd')]);
    assert.equal(await feed.until('\n\n'), `data: ${rowText(4, 'd', 'd')}\nid: 4\n\n`);
  }),

  test('the head of the response is sent at once, even without changes', async (t) => {
    for (const feed of ['continuous', 'eventsource']) {
      const answer = await t.feed(`feed=${feed}&since=now&${patient}`);
      assert.equal(answer.status, 200);
    }
    const events = await t.follow('/_db_updates?feed=continuous');
    assert.equal(events.status, 200);
  }),

  test('a document that changes while the feed is read is listed again at its new position', async (t) => {
    await t.bulk(Array.from({ length: 3_000 }, (_, n) => ({ _id: `${n}`, text: 'x'.repeat(100) })));
    const feed = await t.feed(`feed=continuous&include_docs=true&${patient}`);
    const [first = ''] = await feed.lines(1);
    assert.equal(at(JSON.parse(first), 'id'), '0');
    const written = await t.put('2999', { _rev: at(await latest('2999'), 'rev') });
    const seqs: number[] = [1];
    let row: unknown;
    do {
      row = JSON.parse(await feed.line());
      seqs.push(numberAt(row, 'seq'));
    } while (at(row, 'changes', 0, 'rev') !== written);
    assert.equal(at(row, 'seq'), 3_001);
    assert.deepEqual(
      seqs.toSorted((one, other) => one - other),
      seqs,
    );
    assert.lengthOf(new Set(seqs), seqs.length);
    assert.isAtLeast(seqs.length, 3_000);

    async function latest(id: string): Promise<unknown> {
      return { rev: (await t.get(`/${id}`)).header('etag')?.slice(1, -1) };
    }
  }),

  test('several writes of one document can be sent as one change, the last one', async (t) => {
    const feed = await t.feed(`feed=continuous&${patient}`);
    await t.replicate([replicated('x', 1, 'a')]);
    await t.replicate([replicated('x', 2, 'ba')]);
    await t.replicate([replicated('x', 3, 'cba')]);
    let row: unknown;
    const revs: unknown[] = [];
    do {
      row = JSON.parse(await feed.line());
      revs.push(at(row, 'changes', 0, 'rev'));
    } while (at(row, 'seq') !== 3);
    const all: unknown[] = [fakeRev(1, 'a'), fakeRev(2, 'b'), fakeRev(3, 'c')];
    assert.deepEqual(
      revs,
      all.filter((rev) => revs.includes(rev)),
    );
    assert.equal(revs.at(-1), fakeRev(3, 'c'));
  }),

  test('limit ends a feed, also with later changes', async (t) => {
    const feed = await t.feed(`feed=continuous&limit=2&${patient}`);
    await t.replicate([replicated('a', 1, 'a')]);
    assert.equal(await feed.line(), rowText(1, 'a', 'a'));
    await t.replicate([replicated('b', 1, 'b'), replicated('c', 1, 'c')]);
    assert.equal(await feed.rest(), `${rowText(2, 'b', 'b')}\n{"last_seq":2,"pending":1}\n`);
  }),

  test('timeout counts from the last change', async (t) => {
    let written = 0;
    let isOver = false;
    // A busy machine may be slower than a short timeout.
    for (let timeoutMs = 1500; !isOver; timeoutMs *= 2) {
      const openedAt = performance.now();
      const feed = await t.feed(`feed=continuous&since=${written}&timeout=${timeoutMs}`);
      isOver = await followsChanges(feed, timeoutMs, openedAt);
    }

    /** Whether there was time to see that the feed outlasts its timeout. */
    async function followsChanges(feed: FeedReader, timeoutMs: number, openedAt: number): Promise<boolean> {
      let changedAt = openedAt;
      for (let n = 1; n <= 4; n += 1) {
        await new Promise((resolve) => setTimeout(resolve, timeoutMs / 3));
        const writtenAt = performance.now();
        written += 1;
        await t.replicate([replicated(`${written}`, 1, 'a')]);
        const line = await feed.line();
        if (line !== rowText(written, `${written}`, 'a')) {
          assert.isAtLeast(performance.now() - changedAt, timeoutMs, `the feed ended with ${line}`);
          return false;
        }
        changedAt = writtenAt;
      }
      assert.equal(await feed.rest(), `{"last_seq":${written},"pending":0}\n`);
      return true;
    }
  }),

  test('heartbeats are sent while there are no changes', async (t) => {
    for (const feed of ['continuous', 'eventsource']) {
      const answer = await t.feed(`feed=${feed}&heartbeat=10&timeout=1`);
      if (feed === 'eventsource') assert.equal(await answer.until('\n\n'), 'id: 0\n\n');
      assert.equal(await answer.until('\n\n\n\n'), '\n\n\n\n', feed);
    }
  }),

  test('heartbeats are sent while a filter rejects everything', async (t) => {
    await t.put('_design/app', { filters: { none: 'function () { return false; }' } });
    for (const [name, filter] of Object.entries({ design: '_design', none: 'app/none' })) {
      const feed = await t.feed(`feed=continuous&filter=${filter}&since=now&heartbeat=10`);
      for (let n = 0; n < 5; n += 1) {
        await t.put(`${name}-${n}`, {});
        assert.equal(await feed.until('\n\n'), '\n\n');
      }
      await feed.cancel();
    }
  }),

  test('heartbeats are sent while rejected changes arrive faster than heartbeats', async (t) => {
    const feed = await t.feed('feed=continuous&filter=_design&since=now&heartbeat=500');
    const startedAt = performance.now();
    await feed.until('\n\n');
    const quietMs = performance.now() - startedAt;
    let hasBeaten = false;
    const beat = feed.until('\n\n').then((text) => {
      hasBeaten = true;
      return text;
    });
    const begun = performance.now();
    for (let n = 0; !hasBeaten; n += 1) {
      assert.isBelow(performance.now() - begun, 10 * quietMs + 5_000, 'no heartbeat');
      await t.put(`doc-${n}`, {});
    }
    assert.equal(await beat, '\n\n');
  }),

  test('last_seq advances with rejected changes', async (t) => {
    // A busy machine may be slower than a short timeout.
    for (let timeoutMs = 1500; ; timeoutMs *= 2) {
      const openedAt = performance.now();
      const feed = await t.feed(`feed=continuous&filter=_design&since=now&timeout=${timeoutMs}`);
      for (const id of ['a', 'b', 'c']) await t.put(`${id}-${timeoutMs}`, {});
      const tookMs = performance.now() - openedAt;
      const [end, seq] = [(await feed.rest()).trimStart(), await t.updateSeq()];
      if (end === `{"last_seq":${seq},"pending":0}\n`) break;
      assert.isAtLeast(tookMs, timeoutMs, `the feed ended with ${end}`);
    }
  }),

  test('descending has no effect', async (t) => {
    await threeDocuments(t);
    const feed = await t.feed(`feed=continuous&descending=true&since=1&${patient}`);
    assert.deepEqual(await feed.lines(2), [rowText(2, 'a', 'b'), rowText(3, 'c', 'c')]);
  }),

  test('a compaction is not a change, and later changes are sent', async (t) => {
    await threeDocuments(t);
    const feed = await t.feed(`feed=continuous&since=now&${patient}`);
    await t.compact();
    await t.replicate([replicated('d', 1, 'd')]);
    assert.equal(await feed.line(), rowText(4, 'd', 'd'));
  }),

  test('deleting the database ends its feeds properly', async (t) => {
    await threeDocuments(t);
    const lines = await t.feed(`feed=continuous&${patient}`);
    const events = await t.feed(`feed=eventsource&${patient}`);
    await lines.lines(3);
    await events.until('id: 3\n\n');
    await t.request('DELETE', databasePath(t.db));
    assert.equal(await lines.rest(), '{"last_seq":3,"pending":0}\n');
    // Has an EventSource forget its last id.
    assert.equal(await events.rest(), 'id:\n\n');
  }),

  test("a database recreated under the same name isn't followed by feeds of the old one", async (t) => {
    await threeDocuments(t);
    const feed = await t.feed(`feed=continuous&${patient}`);
    await feed.lines(3);
    await t.request('DELETE', databasePath(t.db));
    await t.request('PUT', databasePath(t.db));
    await t.replicate([replicated('new', 1, 'a')]);
    assert.equal(await feed.rest(), '{"last_seq":3,"pending":0}\n');
  }),

  test("closed feeds don't keep others from continuing", async (t) => {
    const feeds = [];
    for (let n = 0; n < 10; n += 1) feeds.push(await t.feed(`feed=continuous&heartbeat=20`));
    for (const feed of feeds.slice(1)) await feed.cancel();
    await threeDocuments(t);
    assert.deepEqual(await feeds[0]?.lines(3), [rowText(1, 'b', 'a'), rowText(2, 'a', 'b'), rowText(3, 'c', 'c')]);
  }),
]);
