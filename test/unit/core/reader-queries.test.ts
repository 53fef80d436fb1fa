import { afterEach, describe, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../../src/base/shared/clock.ts';
import type { Handle, PlainResponse } from '../../../src/base/shared/message.ts';
import { Counters } from '../../../src/base/system/counters.ts';
import { createConfig } from '../../../src/core/config/config-store.ts';
import { type Core, type CoreOptions, createCore } from '../../../src/core/core.ts';
import { deferredAtHand } from '../../../src/core/deferred/deferred-code.ts';
import { readerCode } from '../../../src/core/reader.ts';
import { isStream } from '../../../src/http/request/bodies.ts';
import { createMemoryPageStore, MemoryMedium } from '../../../src/storage/memory-page-store.ts';
import { patient } from '../../support/patience.ts';
import { createTestSandbox } from '../queries/sandbox/quickjs-files.ts';

const design = {
  views: { n: { map: 'function (doc) { if (doc.n) emit(doc.n, doc.n); }', reduce: '_sum' } },
  lists: { all: 'function () { var row, text = ""; while (row = getRow()) text += row.id + " "; return text; }' },
  shows: { one: 'function (doc) { return "shown " + doc._id; }' },
  filters: { large: 'function (doc) { return doc.n > 1; }' },
};

/** An owner and a reader of one medium. */
class Pair {
  readonly medium = new MemoryMedium();
  readonly opened: Core[] = [];
  readonly counters = new Counters();
  /** The requests that went to the owner. */
  readonly forwarded: string[] = [];
  isOwnerThere = true;

  async begin(): Promise<void> {
    const owner = await this.#open({ config: createConfig({}) });
    const forward: Handle = (request) => {
      this.forwarded.push(`${request.method} ${request.url}`);
      return this.isOwnerThere ? owner.handle(request) : Promise.reject(new Error('the owner is not there'));
    };
    const reader = { forward, config: owner.config, code: readerCode };
    await this.#open({ reader, counters: this.counters });
    await this.send('PUT', '/db');
    for (const n of [1, 2, 3]) await this.send('PUT', `/db/d${n}`, { n });
    await this.send('PUT', '/db/_design/d', design);
    await this.send('POST', '/db/_index', { index: { fields: ['n'] }, ddoc: 'i', name: 'n' });
  }

  async #open(options: Partial<CoreOptions>): Promise<Core> {
    const core = await createCore({
      ...{ storage: createMemoryPageStore({ medium: this.medium }), clock: systemClock, random: systemRandom },
      ...{ deferred: deferredAtHand(createTestSandbox()) },
      ...options,
    });
    this.opened.push(core);
    return core;
  }

  /** Sends a request to the reader. Returns the JSON of the response, or its text. */
  async send(method: string, url: string, json?: unknown): Promise<unknown> {
    const reader = this.opened[1];
    if (reader === undefined) throw new Error('the pair was not opened');
    const headers = { 'content-type': 'application/json' };
    const body = json === undefined ? null : JSON.stringify(json);
    const text = await textOf(await reader.handle({ method, url, headers, body }));
    return text.startsWith('{') ? JSON.parse(text) : text;
  }

  /** Resolves when the reader answers such requests itself. */
  async untilStored(...urls: string[]): Promise<void> {
    for (const url of urls) {
      await expect
        .poll(async () => {
          this.forwarded.length = 0;
          if (url.endsWith('_find')) await this.send('POST', url, { selector: { n: { $gt: 0 } }, use_index: 'i' });
          else await this.send('GET', url);
          return this.forwarded;
        }, patient)
        .toEqual([]);
    }
  }
}

async function textOf({ body }: PlainResponse): Promise<string> {
  if (body === null || typeof body === 'string') return body ?? '';
  if (!isStream(body)) return new TextDecoder().decode(body);
  const decoder = new TextDecoder();
  let text = '';
  for (let chunk = await body.pull(); chunk !== undefined; chunk = await body.pull()) text += decoder.decode(chunk);
  return text;
}

let pair = new Pair();

afterEach(async () => {
  for (const core of pair.opened.reverse()) await core.close();
  pair = new Pair();
});

const idsOf = (answer: unknown) => (answer as { rows: { id: string }[] }).rows.map(({ id }) => id);

describe('a reader', () => {
  test('answers views and queries itself once the owner has stored their indexes', async () => {
    await pair.begin();
    await pair.untilStored('/db/_design/d/_view/n', '/db/_find');
    // It maps what comes later.
    await pair.send('PUT', '/db/d4', { n: 4 });
    await pair.send('DELETE', `/db/d1?rev=${(await revOf('d1')) ?? ''}`);
    pair.isOwnerThere = false;
    pair.forwarded.length = 0;
    expect(idsOf(await pair.send('GET', '/db/_design/d/_view/n?reduce=false'))).toEqual(['d2', 'd3', 'd4']);
    expect(await pair.send('GET', '/db/_design/d/_view/n')).toEqual({ rows: [{ key: null, value: 9 }] });
    expect(await pair.send('GET', '/db/_design/d/_view/n?update=false')).toEqual({ rows: [{ key: null, value: 9 }] });
    expect(idsOf(await pair.send('POST', '/db/_design/d/_view/n?reduce=false', { keys: [3] }))).toEqual(['d3']);
    expect(
      await pair.send('POST', '/db/_design/d/_view/n/queries', { queries: [{ keys: [2] }, { group: true, limit: 1 }] }),
    ).toEqual({ results: [{ rows: [{ key: null, value: 2 }] }, { rows: [{ key: 2, value: 2 }] }] });
    expect(await pair.send('GET', '/db/_design/d/_list/all/n?reduce=false')).toBe('d2 d3 d4 ');
    expect(await pair.send('POST', '/db/_design/d/_list/all/n?reduce=false', { keys: [4] })).toBe('d4 ');
    expect(await pair.send('GET', '/db/_design/d/_show/one/d2')).toBe('shown d2');
    const query = { selector: { n: { $gt: 2 } }, use_index: 'i', fields: ['_id'] };
    expect(await pair.send('POST', '/db/_find', query)).toMatchObject({ docs: [{ _id: 'd3' }, { _id: 'd4' }] });
    expect(await pair.send('POST', '/db/_explain', query)).toMatchObject({ index: { ddoc: '_design/i' } });
    expect(await pair.send('GET', '/db/_index')).toMatchObject({ total_rows: 2 });
    expect(await pair.send('GET', '/db/_changes?filter=d/large')).toMatchObject({ last_seq: 7 });
    expect(pair.forwarded).toEqual([]);
  });

  test('counts what it answers, and not what the owner answers in its place', async () => {
    await pair.begin();
    const { viewReads, requests } = pair.counters;
    await pair.send('GET', '/db/_design/d/_view/n');
    expect(pair.forwarded.at(-1)).toBe('GET /db/_design/d/_view/n');
    expect([viewReads.value, requests.value]).toEqual([0, 0]);
    await pair.untilStored('/db/_design/d/_view/n');
    expect([viewReads.value, requests.value]).toEqual([1, 1]);
  });

  test('leaves to the owner what only that one knows or can do', async () => {
    await pair.begin();
    await pair.untilStored('/db/_design/d/_view/n');
    await pair.send('GET', '/db/_design/d/_info');
    await pair.send('POST', '/db/_temp_view', { map: 'function (doc) { emit(doc._id); }' });
    await pair.send('GET', '/db/_design/d/_view/n?feed=longpoll&since=0-0');
    await pair.send('POST', '/db/_compact/d', {});
    expect(pair.forwarded).toEqual([
      'GET /db/_design/d/_info',
      'POST /db/_temp_view',
      'GET /db/_design/d/_view/n?feed=longpoll&since=0-0',
      'POST /db/_compact/d',
    ]);
  });

  test('answers as the owner does when an index, its design document or the database is gone', async () => {
    await pair.begin();
    await pair.untilStored('/db/_design/d/_view/n');
    await pair.send('DELETE', `/db/_design/d?rev=${(await revOf('_design/d')) ?? ''}`);
    await pair.send('POST', '/db/_view_cleanup', {});
    expect(await pair.send('GET', '/db/_design/d/_view/n')).toEqual({ error: 'not_found', reason: 'deleted' });
    await pair.send('PUT', '/db/_design/d', design);
    expect(await pair.send('GET', '/db/_design/d/_view/n')).toEqual({ rows: [{ key: null, value: 6 }] });
    await pair.send('DELETE', '/db');
    expect(await pair.send('GET', '/db/_design/d/_view/n')).toMatchObject({ error: 'not_found' });
    await pair.send('PUT', '/db');
    await pair.send('PUT', '/db/other', { n: 9 });
    await pair.send('PUT', '/db/_design/d', design);
    expect(await pair.send('GET', '/db/_design/d/_view/n')).toEqual({ rows: [{ key: null, value: 9 }] });
    await pair.untilStored('/db/_design/d/_view/n');
    expect(await pair.send('GET', '/db/_design/d/_view/n')).toEqual({ rows: [{ key: null, value: 9 }] });
  });
});

async function revOf(id: string): Promise<string | undefined> {
  return ((await pair.send('GET', `/db/${id}`)) as { _rev?: string })._rev;
}
