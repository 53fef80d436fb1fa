import { assert } from 'chai';
import { assertAllowed, assertError } from '../../../support/conformance/answer.ts';
import type { FeedReader } from '../../../support/conformance/feed-reader.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import { databasePath, type Toolkit } from '../../../support/conformance/toolkit.ts';

const name = 'conformance_events';

function eventText(type: string, database = name): string {
  return `{"db_name":"${database}","ok":true,"type":"${type}"}`;
}

/** The events of the case's own databases: others may be at work on the same service. */
async function eventsOf(feed: FeedReader, count: number): Promise<string[]> {
  const events: string[] = [];
  while (events.length < count) {
    const line = await feed.line();
    if (line.includes(`"${name}"`)) events.push(line);
  }
  return events;
}

async function create(t: Toolkit): Promise<void> {
  const answer = await t.request('PUT', databasePath(name));
  assert.equal(answer.status, 201, answer.text);
  t.forgetLater(name);
}

/** docs/http/changes.md#database-events. */
export default suite('changes_database_events', [
  test('creation, update and deletion of databases are reported', async (t) => {
    const feed = await t.follow('/_db_updates?feed=continuous');
    await create(t);
    assert.deepEqual(await eventsOf(feed, 1), [eventText('created')]);
    await t.request('PUT', `${databasePath(name)}/doc`, { json: {} });
    assert.deepEqual(await eventsOf(feed, 1), [eventText('updated')]);
    await t.request('DELETE', databasePath(name));
    assert.deepEqual(await eventsOf(feed, 1), [eventText('deleted')]);
  }),

  test("events keep their order if the feed isn't read for long", async (t) => {
    const feed = await t.follow('/_db_updates?feed=continuous');
    await create(t);
    await t.request('DELETE', databasePath(name));
    await create(t);
    await t.request('PUT', `${databasePath(name)}/doc`, { json: {} });
    assert.deepEqual(
      await eventsOf(feed, 4),
      ['created', 'deleted', 'created', 'updated'].map((type) => eventText(type)),
    );
  }),

  test('a longpoll, the default feed, ends with the first event', async (t) => {
    for (const parameters of ['', '?feed=longpoll']) {
      const feed = await t.follow(`/_db_updates${parameters}`);
      assert.equal(feed.header('content-type'), 'application/json');
      await t.put(`doc${parameters.length}`, {});
      assert.equal(await feed.rest(), `\n${eventText('updated', t.db)}\n`);
    }
  }),

  test('a longpoll that reaches its timeout says so', async (t) => {
    assert.equal((await t.request('GET', '/_db_updates?timeout=0.02')).text, '\n{"ok":true}\n');
  }),

  test('an eventsource has the events as data', async (t) => {
    const feed = await t.follow('/_db_updates?feed=eventsource');
    assert.equal(feed.header('content-type'), 'text/event-stream');
    assert.equal(feed.header('cache-control'), 'no-cache');
    await t.put('doc', {});
    assert.equal(await feed.until('}\n\n'), `\ndata: ${eventText('updated', t.db)}\n\n`);
  }),

  test('newlines show that a feed is alive, or the feed ends at its timeout', async (t) => {
    const feed = await t.follow('/_db_updates?feed=continuous&timeout=0.02');
    assert.equal(await feed.until('\n\n\n'), '\n\n\n');
    assert.equal((await t.request('GET', '/_db_updates?feed=continuous&timeout=0.02&heartbeat=false')).text, '\n');
    assert.equal((await t.request('GET', '/_db_updates?feed=eventsource&timeout=0.02&heartbeat=false')).text, '\n');
  }),

  test("HEAD doesn't wait for an event", async (t) => {
    const answer = await t.request('HEAD', '/_db_updates?feed=continuous');
    assert.deepEqual([answer.status, answer.text], [200, '']);
  }),

  test('invalid parameters are refused', async (t) => {
    const refused = async (parameters: string, reason: string) =>
      assertError(await t.request('GET', `/_db_updates?${parameters}`), 400, 'bad_request', reason);
    await refused('feed=normal', 'feed is "normal"; it must be longpoll, continuous or eventsource.');
    await refused('timeout=x', 'timeout is "x"; it must be a number of seconds.');
    await refused('timeout=0', 'timeout is "0"; it must be a number of seconds.');
    for (const method of ['PUT', 'POST', 'DELETE']) assertAllowed(await t.request(method, '/_db_updates'), 'GET');
  }),
]);
