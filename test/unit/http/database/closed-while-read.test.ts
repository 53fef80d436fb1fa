/** Feeds with documents whose database is closed, or deleted, while they read a document. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { createHandle } from '../../../../src/http/http-service.ts';
import { isStream } from '../../../../src/http/request/bodies.ts';
import { deleted, none, Watched } from '../../database/changes/watched-databases.ts';
import { toWrite } from '../../database/store/harness.ts';
import { JSON_HEADERS, noParts, pick, services, textOf } from '../support.ts';

/** Long enough that a few of them are sent at a time. */
const TEXT = 'x'.repeat(100_000);
const IDS = Array.from({ length: 12 }, (_, n) => `d${n + 10}`);

let watched: Watched;

beforeEach(async () => {
  watched = await Watched.open();
  await write(IDS);
});

afterEach(() => watched.registry.close());

async function write(ids: readonly string[]): Promise<void> {
  const body = JSON.stringify({ text: TEXT });
  const outcomes = await watched.registry.use('db', (database) =>
    database.write(
      ids.map((id) => toWrite(id, { body })),
      { newEdits: true, durability: 'relaxed' },
    ),
  );
  expect(outcomes.every(({ ok }) => ok)).toBe(true);
}

/** The database is closed at those of the times when bodies are read. Returns how often they were. */
function closeAt(...times: readonly number[]): { count: number } {
  const reads = { count: 0 };
  watched.hooks.beforeBodies = async () => {
    reads.count += 1;
    if (times.includes(reads.count)) throw new DatabaseError('storage_closed', 'The database was closed.');
  };
  return reads;
}

async function follow(query: string): Promise<string> {
  const { registry, feeds } = watched;
  const handle = createHandle(services({}, { registry, feeds }), noParts, () => false);
  const url = `/db/_changes?include_docs=true&${query}`;
  const { body } = await handle({ method: 'GET', url, headers: JSON_HEADERS, body: null });
  if (!isStream(body)) throw new Error('a stream was expected');
  return textOf(body);
}

function idsOf(rows: readonly unknown[]): unknown[] {
  return rows.map((row) => {
    expect(pick(row, 'doc', 'text')).toBe(TEXT);
    return pick(row, 'id');
  });
}

const linesOf = (text: string): unknown[] =>
  text
    .trim()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line): unknown => JSON.parse(line));

describe.each([
  ['at once', [1]],
  ['when some of its rows were sent', [2]],
  ['again and again', [1, 3, 5]],
])('a database that is closed %s', (_when, times) => {
  test('is read on by a continuous feed, each row once, up to the limit', async () => {
    const reads = closeAt(...times);
    const rows = linesOf(await follow('feed=continuous&limit=10&timeout=60000'));
    expect(idsOf(rows.slice(0, -1))).toEqual(IDS.slice(0, 10));
    expect(rows.at(-1)).toEqual({ last_seq: 10, pending: 2 });
    expect(reads.count).toBeGreaterThan(times.at(-1) ?? 0);
    expect(watched.held).toEqual(none);
  });

  test('is read on by a longpoll feed', async () => {
    closeAt(...times);
    const answer: unknown = JSON.parse(await follow('feed=longpoll'));
    const results = pick(answer, 'results');
    expect(Array.isArray(results) && idsOf(results)).toEqual(IDS);
    expect(pick(answer, 'last_seq')).toBe(12);
  });

  test('is read on by an EventSource', async () => {
    closeAt(...times);
    const text = await follow('feed=eventsource&limit=12&timeout=60000');
    expect([...text.matchAll(/"id":"(d\d+)"/g)].map(([, id]) => id)).toEqual(IDS);
    expect([...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => id)).toEqual(IDS.map((_, n) => `${n + 1}`));
  });
});

test('a feed breaks off if opening the database again does not help, or if it does not wait', async () => {
  for (const feed of ['continuous', 'normal']) {
    closeAt(2, 3, 4);
    await expect(follow(`feed=${feed}`)).rejects.toThrow('The database was closed.');
    expect(watched.held).toEqual(none);
  }
});

test('a feed ends in order if the database is deleted', async () => {
  let reads = 0;
  watched.hooks.beforeBodies = async () => {
    reads += 1;
    if (reads === 2) await deleted(watched);
  };
  const rows = linesOf(await follow('feed=continuous'));
  const sent = idsOf(rows.slice(0, -1));
  expect(sent.length).toBeGreaterThan(0);
  expect(sent).toEqual(IDS.slice(0, sent.length));
  expect(rows.at(-1)).toEqual({ last_seq: sent.length, pending: 0 });
});
