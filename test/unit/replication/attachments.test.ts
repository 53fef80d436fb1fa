import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Endpoint } from '../../../src/replication/contract.ts';
import { COMBINATIONS, type Place, treesOf, World } from './places.ts';
import { begin, replicationOf, run } from './support.ts';

let world: World;

beforeAll(async () => {
  world = await World.open();
});

afterAll(() => world.close());

const LONG = 300_000;

function bytes(length: number, seed: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => (index * 31 + seed + (index >> 8)) & 0xff);
}

async function attach(place: Place, id: string, name: string, content: Uint8Array, type = 'image/png', rev?: string) {
  const query = rev === undefined ? '' : `?rev=${rev}`;
  const { status, value, text } = await place.ask('PUT', `/${id}/${encodeURIComponent(name)}${query}`, content, {
    'content-type': type,
  });
  if (status !== 201) throw new Error(text);
  return String(Object(value).rev);
}

/** The requests that are made of databases while a run goes on. */
function spied(): { requests: string[]; host: typeof world.host } {
  const requests: string[] = [];
  const pathOf = (url: string) => decodeURIComponent(url.replace(/^https?:\/\/[^/]*/, '').replace(/^\/[^/?]*/, ''));
  const host = {
    ...world.host,
    handle: (request: Parameters<typeof world.host.handle>[0]) => {
      requests.push(`${request.method} ${pathOf(request.url)}`);
      return world.host.handle(request);
    },
    fetch: ((input: string, init?: RequestInit) => {
      requests.push(`${init?.method} ${pathOf(input)}`);
      return fetch(input, init);
    }) as typeof fetch,
  };
  return { requests, host };
}

describe.each(COMBINATIONS)('attachments from %s to %s', (from, to) => {
  let source: Place;
  let target: Place;
  let between: [Endpoint, Endpoint];

  const begun = async () => {
    source = await world.place(from);
    target = await world.place(to);
    between = [source.endpoint, target.endpoint];
  };

  test('arrive unchanged: short, long and compressed ones', async () => {
    await begun();
    const rev = await attach(source, 'short', 'a.png', bytes(1_000, 1));
    await attach(source, 'short', 'text/ü "b"\n.txt', new TextEncoder().encode('text '.repeat(100)), 'text/plain', rev);
    await attach(source, 'long', 'a.png', bytes(LONG, 2));
    await attach(source, 'long-text', 'a.txt', new TextEncoder().encode('many words '.repeat(90_000)), 'text/plain');
    await attach(source, 'empty', 'nothing', new Uint8Array());
    const { history } = await run(world.host, replicationOf(...between));
    expect(await treesOf(target)).toEqual(await treesOf(source));
    expect(history).toMatchObject([{ docs_read: 4, docs_written: 4, doc_write_failures: 0 }]);
  });

  test('are sent only if the target lacks them', async () => {
    await begun();
    const first = await attach(source, 'doc', 'old.png', bytes(LONG, 3));
    await run(world.host, replicationOf(...between));
    const second = await attach(source, 'doc', 'new.png', bytes(LONG, 4), 'image/png', first);
    await run(world.host, replicationOf(...between));
    const { value } = await source.ask('GET', `/doc?rev=${second}`);
    await source.ask('PUT', '/doc', { ...Object(value), edited: true });
    const { requests, host } = spied();
    const running = begin(host, replicationOf(...between));
    await running.result;
    expect(await treesOf(target)).toEqual(await treesOf(source));
    expect(running.figures().bytesRead).toBeLessThan(5_000);
    expect(requests.filter((request) => /attachments=true/.test(request))).toEqual([]);
  });

  test('of conflicting revisions are each copied', async () => {
    await begun();
    await attach(source, 'doc', 'a', bytes(10, 5));
    const other = {
      _id: 'doc',
      _rev: '1-abc',
      _attachments: {
        a: { content_type: 'x/y', data: 'AAEC' },
        b: { content_type: 'x/y', data: btoa('b'.repeat(LONG)) },
      },
    };
    await source.ask('POST', '/_bulk_docs', { new_edits: false, docs: [other] });
    await run(world.host, replicationOf(...between));
    expect(await treesOf(target)).toEqual(await treesOf(source));
  });

  test('are sent again to a target that lost them', async () => {
    await begun();
    const rev = await attach(source, 'doc', 'a', bytes(LONG, 6));
    const { value } = await source.ask('PUT', `/doc?rev=${rev}`, {
      _attachments: Object((await source.ask('GET', '/doc')).value)._attachments,
    });
    // The first revision is there, without its attachment.
    await target.ask('POST', '/_bulk_docs', { new_edits: false, docs: [{ _id: 'doc', _rev: rev }] });
    const running = begin(world.host, replicationOf(...between));
    await running.result;
    expect(running.refused).toEqual([]);
    expect((await target.ask('GET', '/doc?attachments=true')).value).toMatchObject({ _rev: Object(value).rev });
    expect(await treesOf(target)).toEqual(await treesOf(source));
  });

  test('that a target refuses are reported', async () => {
    await begun();
    await attach(source, 'doc', 'a', bytes(LONG, 7));
    await attach(source, 'small', 'a', bytes(10, 7));
    const { host } = spied();
    const refusing = { ...host };
    const reason = '{"error":"forbidden","reason":"no pictures"}';
    const handle = host.handle;
    refusing.handle = (request) =>
      request.method === 'PUT' && request.url.includes('/doc?new_edits')
        ? { status: 403, headers: {}, body: reason }
        : handle(request);
    const send = host.fetch;
    refusing.fetch = (async (input: string, init?: RequestInit) =>
      init?.method === 'PUT' && input.includes('/doc?new_edits')
        ? new Response(reason, { status: 403 })
        : send?.(input, init)) as typeof fetch;
    const running = begin(refusing, replicationOf(...between));
    const { history } = await running.result;
    expect(running.refused).toMatchObject([{ id: 'doc', error: 'forbidden', reason: 'no pictures' }]);
    expect(history).toMatchObject([{ docs_read: 2, docs_written: 1, doc_write_failures: 1 }]);
  });
});
