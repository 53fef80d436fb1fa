/** Queries of views that stay alive (docs/http/views.md#live-views). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemRandom } from '../../../../../src/base/shared/clock.ts';
import { type Core, createCore } from '../../../../../src/core/core.ts';
import { deferredAtHand } from '../../../../../src/core/deferred/deferred-code.ts';
import { createMemoryPageStore } from '../../../../../src/storage/memory-page-store.ts';
import { createTestSandbox } from '../../../queries/sandbox/quickjs-files.ts';
import { FeedLines } from '../../feed-lines.ts';
import { ask, askJson, clock, pick, textOf } from '../../support.ts';

const views = {
  v: { map: 'function (doc) { if (doc.n) emit(doc.n, doc.t); }' },
  sum: { map: 'function (doc) { if (doc.n) emit(doc.n, 1); }', reduce: '_sum' },
};
const address = '/db/_design/d/_view/v';

let core: Core;
const open: FeedLines[] = [];

beforeEach(async () => {
  const deferred = deferredAtHand(createTestSandbox());
  core = await createCore({ storage: createMemoryPageStore(), clock, random: systemRandom, deferred });
  await ask(core, 'PUT /db');
  await ask(core, 'PUT /db/_design/d', { body: JSON.stringify({ views }) });
  for (const n of [1, 2, 3]) await put(`d${n}`, { n, t: 'x' });
});

afterEach(async () => {
  for (const feed of open.splice(0)) await feed.close();
  await core.close();
});

async function follow(path: string, body?: object): Promise<FeedLines> {
  const asked = body === undefined ? {} : { body: JSON.stringify(body) };
  const feed = new FeedLines(await ask(core, `${body === undefined ? 'GET' : 'POST'} ${path}`, asked));
  open.push(feed);
  return feed;
}

/** Writes over what is there. */
async function put(id: string, document: object): Promise<void> {
  const [status, present] = await askJson(core, `GET /db/${id}`);
  const base = status === 200 ? { _rev: pick(present, '_rev') } : {};
  const written = await ask(core, `PUT /db/${id}`, { body: JSON.stringify({ ...base, ...document }) });
  expect(written.status).toBe(201);
}

const row = (id: string, key: number, value: string) => ({ id, key, value });

describe('a live view with include_rows', () => {
  test('begins with all rows of the range, and continues with rows that are added, changed and removed in it', async () => {
    const feed = await follow(`${address}?feed=continuous&include_rows=true&startkey=2`);
    expect(await feed.next()).toEqual({ seq: expect.any(String), rows: [row('d2', 2, 'x'), row('d3', 3, 'x')] });
    await put('d2', { n: 2, t: 'y' });
    expect(await feed.next()).toEqual({ seq: expect.any(String), changed: [row('d2', 2, 'y')] });
    await put('d3', { n: 9, t: 'y' });
    expect(await feed.next()).toMatchObject({ added: [row('d3', 9, 'y')], removed: [row('d3', 3, 'x')] });
    // Neither of them is in the range, and the third leaves its row as it was.
    await put('d1', { n: 1, t: 'y' });
    await put('other', {});
    await put('d2', { n: 2, t: 'y', more: true });
    await put('d4', { n: 7, t: 'z' });
    expect(await feed.next()).toEqual({ seq: expect.any(String), added: [row('d4', 7, 'z')] });
    await put('d4', { n: 1, t: 'z' });
    expect(await feed.next()).toMatchObject({ removed: [row('d4', 7, 'z')] });
  });

  test('reports changes between two reads as one event', async () => {
    const feed = await follow(`${address}?feed=continuous&include_rows=true`);
    await feed.next();
    await put('gone', { n: 5, t: 'x' });
    await put('gone', {});
    await put('d1', { n: 1, t: 'y' });
    await put('d1', { n: 1, t: 'x' });
    await put('kept', { n: 6, t: 'x' });
    await put('kept', { n: 6, t: 'y' });
    await askJson(core, `GET ${address}`);
    const told: unknown[] = [await feed.next()];
    // The first wake may come before the last write.
    if (!JSON.stringify(told).includes('"y"')) told.push(await feed.next());
    expect(JSON.stringify(told.at(-1))).toContain('"id":"kept","key":6,"value":"y"');
    expect(JSON.stringify(told.at(-1))).not.toContain('gone');
  });

  test('works for a descending range, and for keys', async () => {
    const above = await follow(`${address}?feed=continuous&include_rows=true&descending=true&startkey=3&endkey=2`);
    const keys = await follow(`${address}?feed=continuous&include_rows=true`, { keys: [1, 3] });
    expect(await above.next()).toMatchObject({ rows: [row('d3', 3, 'x'), row('d2', 2, 'x')] });
    expect(await keys.next()).toMatchObject({ rows: [row('d1', 1, 'x'), row('d3', 3, 'x')] });
    await put('d2', { n: 2, t: 'y' });
    await put('d1', { n: 1, t: 'y' });
    expect(await above.next()).toMatchObject({ changed: [row('d2', 2, 'y')] });
    expect(await keys.next()).toMatchObject({ changed: [row('d1', 1, 'y')] });
  });

  test('of a reduction sends all groups again', async () => {
    const feed = await follow('/db/_design/d/_view/sum?feed=continuous&include_rows=true&group=true&startkey=2');
    expect(await feed.next()).toMatchObject({
      rows: [
        { key: 2, value: 1 },
        { key: 3, value: 1 },
      ],
    });
    await put('d4', { n: 3 });
    expect(await feed.next()).toMatchObject({
      rows: [
        { key: 2, value: 1 },
        { key: 3, value: 2 },
      ],
    });
  });

  test('includes documents on request', async () => {
    const feed = await follow(`${address}?feed=continuous&include_rows=true&include_docs=true&key=2`);
    expect(await feed.next()).toMatchObject({ rows: [{ id: 'd2', doc: { _id: 'd2', t: 'x' } }] });
    await put('d2', { n: 2, t: 'y' });
    expect(await feed.next()).toMatchObject({ changed: [{ id: 'd2', doc: { _id: 'd2', t: 'y' } }] });
  });

  test('reports a purge', async () => {
    const feed = await follow(`${address}?feed=continuous&include_rows=true&startkey=3`);
    await feed.next();
    const [, present] = await askJson(core, 'GET /db/d3');
    const body = JSON.stringify({ d3: [pick(present, '_rev')] });
    expect((await ask(core, 'POST /db/_purge', { body })).status).toBe(200);
    await put('other', {});
    expect(await feed.next()).toMatchObject({ removed: [row('d3', 3, 'x')] });
  });
});

describe('a live view without include_rows', () => {
  test('answers a longpoll after a change in its range, with the state', async () => {
    const answer = textOf((await ask(core, `GET ${address}?feed=longpoll&key=2`)).body);
    await put('d1', { n: 1, t: 'y' });
    await put('d2', { n: 2, t: 'y' });
    const told: unknown = JSON.parse(await answer);
    const seq = pick(told, 'last_seq');
    expect(told).toEqual({ results: [{ seq }], last_seq: seq });
    // Who has that state waits on; who has another is told at once.
    const [, same] = await askJson(core, `GET ${address}?feed=longpoll&timeout=10&since=${seq}`);
    expect(same).toEqual({ results: [], last_seq: seq });
    const [, other] = await askJson(core, `GET ${address}?feed=longpoll&since=1-0`);
    expect(other).toEqual({ results: [{ seq }], last_seq: seq });
  });

  test('has ids as event source, and continues after the last one', async () => {
    const [, told] = await askJson(core, `GET ${address}?feed=longpoll&since=0`);
    const seq = String(pick(told, 'last_seq'));
    const known = { headers: { 'last-event-id': seq } };
    const text = async (asked: object) =>
      textOf((await ask(core, `GET ${address}?feed=eventsource&since=0&timeout=10`, asked)).body);
    expect(await text({})).toBe(`data: {"seq":"${seq}"}\nid: ${seq}\n\n`);
    // An empty line, with which the answer begins.
    expect(await text(known)).toBe('\n');
  });
});

describe('a live view ends', () => {
  test.each([
    ['the design document gets other views', async () => put('_design/d', { views: { v: views.sum } })],
    ['the database is deleted', async () => expect((await ask(core, 'DELETE /db')).status).toBe(200)],
    ['the service ends', async () => core.beginShutdown()],
  ])('properly when %s', async (_, end) => {
    const feed = await follow(`${address}?feed=continuous`);
    const last = feed.next();
    await end();
    expect(await last).toEqual({ last_seq: expect.any(String) });
    expect(await feed.next()).toBeUndefined();
  });

  test('with a reset id for an event source when the database is deleted', async () => {
    const text = textOf((await ask(core, `GET ${address}?feed=eventsource`)).body);
    await ask(core, 'DELETE /db');
    expect(await text).toBe('\nid:\n\n');
  });

  test('not when the design document changes in other ways', async () => {
    const feed = await follow(`${address}?feed=continuous`);
    await put('_design/d', { views, more: 1 });
    await put('d2', { n: 2, t: 'y' });
    expect(await feed.next()).toEqual({ seq: expect.any(String) });
  });
});

test.each([
  ['include_rows=true&limit=3', '`skip` and `limit`'],
  ['include_rows=true&skip=1', '`skip` and `limit`'],
  ['heartbeat=x', 'heartbeat is "x"'],
])('a live view with %s is refused', async (parameters, reason) => {
  const [status, answer] = await askJson(core, `GET ${address}?feed=continuous&${parameters}`);
  expect([status, answer]).toEqual([400, { error: 'bad_request', reason: expect.stringContaining(reason) }]);
});
