/** Selector queries that stay alive (docs/http/find.md#live-selector-queries). */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Core } from '../../../../../src/core/core.ts';
import { patient } from '../../../../support/patience.ts';
import { FeedLines } from '../../feed-lines.ts';
import { ask, askJson, openCore, pick, textOf } from '../../support.ts';

let core: Core;
const open: FeedLines[] = [];

beforeEach(async () => {
  core = await openCore();
  await ask(core, 'PUT /db');
  for (const n of [1, 2, 3]) await put(`d${n}`, { n });
});

afterEach(async () => {
  for (const feed of open.splice(0)) await feed.close();
  await core.close();
});

const query = (more: object = {}) => ({ body: JSON.stringify({ selector: { n: { $gt: 1 } }, ...more }) });

async function follow(parameters: string, more?: object): Promise<FeedLines> {
  const feed = new FeedLines(await ask(core, `POST /db/_find?feed=continuous${parameters}`, query(more)));
  open.push(feed);
  return feed;
}

async function put(id: string, document: object): Promise<void> {
  const [status, present] = await askJson(core, `GET /db/${id}`);
  const base = status === 200 ? { _rev: pick(present, '_rev') } : {};
  const written = await ask(core, `PUT /db/${id}`, { body: JSON.stringify({ ...base, ...document }) });
  expect(written.status).toBe(201);
}

test('a live query begins with the answer, and continues with documents that are added, changed and removed', async () => {
  const feed = await follow('', { fields: ['_id', 'n'] });
  expect(await feed.next()).toMatchObject({
    seq: 3,
    docs: [
      { _id: 'd2', n: 2 },
      { _id: 'd3', n: 3 },
    ],
  });
  await put('d1', { n: 0 });
  await put('d2', { n: 5 });
  expect(await feed.next()).toEqual({ seq: 5, changed: [{ _id: 'd2', n: 5 }] });
  await put('d3', { n: 1 });
  expect(await feed.next()).toEqual({ seq: 6, removed: ['d3'] });
  await put('d4', { n: 4 });
  expect(await feed.next()).toEqual({ seq: 7, changed: [{ _id: 'd4', n: 4 }] });
  const [, present] = await askJson(core, 'GET /db/d4');
  await ask(core, `DELETE /db/d4?rev=${pick(present, '_rev')}`);
  expect(await feed.next()).toEqual({ seq: 8, removed: ['d4'] });
  await ask(core, 'DELETE /db');
  expect(await feed.next()).toEqual({ last_seq: 8 });
});

test('a live query continues from a sequence number without the answer', async () => {
  const feed = await follow('&since=2', { fields: ['_id'] });
  expect(await feed.next()).toEqual({ seq: 3, changed: [{ _id: 'd3' }] });
});

test('a live query treats a document as part of the answer if its earlier revisions are gone', async () => {
  await put('d1', { n: 0 });
  await ask(core, 'POST /db/_compact');
  await expect.poll(async () => pick((await askJson(core, 'GET /db'))[1], 'compact_running'), patient).toBe(false);
  const feed = await follow('&since=3');
  expect(await feed.next()).toEqual({ seq: 4, removed: ['d1'] });
});

test('a longpoll query is answered by the first relevant change', async () => {
  const answer = textOf((await ask(core, 'POST /db/_find?feed=longpoll', query({ fields: ['_id'] }))).body);
  await put('d1', { n: 0 });
  await put('d2', { n: 7 });
  expect(JSON.parse(await answer)).toEqual({ results: [{ seq: 5, changed: [{ _id: 'd2' }] }], last_seq: 5 });
});

test('a query as event source has one line with an id per event', async () => {
  const { body, headers } = await ask(core, 'POST /db/_find?feed=eventsource&timeout=10', query({ fields: ['_id'] }));
  expect(headers['content-type']).toBe('text/event-stream');
  expect(await textOf(body)).toMatch(/^data: \{"seq":3,"docs":\[\{"_id":"d2"\},\{"_id":"d3"\}\],.*\}\nid: 3\n\n$/);
});

test('a query as event source resets its id when the database is deleted', async () => {
  const { body } = await ask(core, 'POST /db/_find?feed=eventsource&since=now', query({}));
  const text = textOf(body);
  await ask(core, 'DELETE /db');
  expect(await text).toBe('\nid:\n\n');
});

test.each(['limit', 'skip', 'bookmark'])('a live query with %s is refused', async (name) => {
  const answer = await askJson(core, 'POST /db/_find?feed=continuous', query({ [name]: 1 }));
  expect(answer).toEqual([400, { error: 'bad_request', reason: expect.stringContaining(`\`${name}\``) }]);
});
