/** One suite for peers, whether they are in the same process or at a Node server that is asked over HTTP. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Selection } from '../../../src/replication/contract.ts';
import type { FoundDocument, RelatedBody, RelatedRefusal } from '../../../src/replication/peers/contract.ts';
import { openPeer } from '../../../src/replication/peers/open-peer.ts';
import type { Peer } from '../../../src/replication/peers/peer.ts';
import { type Kind, type Place, World } from './places.ts';
import { local, remote, replicationOf } from './support.ts';

let world: World;

beforeAll(async () => {
  world = await World.open();
});

afterAll(() => world.close());

const never = new AbortController().signal;

function peerOf({ endpoint }: Pick<Place, 'endpoint'>, signal = never): Peer {
  return openPeer(endpoint, replicationOf(endpoint, endpoint), world.host, { side: 'source', signal });
}

async function found(peer: Peer, wanted: readonly [id: string, revs: readonly string[]][], attachments = false) {
  const all: FoundDocument[] = [];
  const asked = wanted.map(([id, revs]) => ({ id, revs, since: [] }));
  await peer.documents(asked, { attachments }, async (one) => void all.push(one));
  return all;
}

const textsOf = (all: readonly FoundDocument[]) =>
  all.map((one) =>
    one.type === 'document' ? one.document.text : JSON.stringify(one.type === 'refused' && one.refused),
  );

const kinds: readonly Kind[] = ['local', 'remote'];

describe.each(kinds)('a %s peer', (kind) => {
  const filled = async () => {
    const place = await world.place(kind);
    const docs = [
      { _id: 'a', _rev: '1-a', value: 1 },
      { _id: 'b', _rev: '2-b', _revisions: { start: 2, ids: ['b', 'a'] }, value: 2 },
      { _id: 'b', _rev: '2-c', _revisions: { start: 2, ids: ['c', 'a'] }, value: 3 },
      { _id: 'd/e', _rev: '1-d', _deleted: true },
    ];
    await place.ask('POST', '/_bulk_docs', { new_edits: false, docs });
    return { place, peer: peerOf(place) };
  };

  test('has an info, and says whether it exists', async () => {
    const { peer } = await filled();
    expect(await peer.info()).toEqual({ updateSeq: 4, instance: expect.stringMatching(/^\d+$/) });
    const missing = kind === 'local' ? local('nobody') : remote(`${world.server.baseUrl}/nobody`);
    expect(await peerOf({ endpoint: missing }).info()).toBeUndefined();
    await expect(
      peerOf({ endpoint: missing }).changes({ since: 0, limit: 1, selection: undefined }),
    ).rejects.toMatchObject({ code: 'db_not_found' });
  });

  test('is created once', async () => {
    const name = `made-${kind}`;
    const peer = peerOf({ endpoint: kind === 'local' ? local(name) : remote(`${world.server.baseUrl}/${name}`) });
    await peer.create();
    await peer.create();
    expect(await peer.info()).toMatchObject({ updateSeq: 0 });
    expect(await peer.commit()).toEqual((await peer.info())?.instance);
  });

  test('stores checkpoints, whatever wrote them before', async () => {
    const { place, peer } = await filled();
    expect(await peer.readCheckpoint('x/y')).toBeUndefined();
    expect(await peer.writeCheckpoint('x/y', '{"n":1}', undefined)).toBe('0-1');
    await place.ask('PUT', '/_local/x%2Fy', { _rev: '0-1', n: 2 });
    expect(await peer.writeCheckpoint('x/y', '{"n":3}', '0-1')).toBe('0-3');
    const value = { _id: '_local/x/y', _rev: '0-3', n: 3 };
    expect(await peer.readCheckpoint('x/y')).toEqual({ rev: '0-3', value });
  });

  test('stores no checkpoint in a database that has lost one', async () => {
    const { peer } = await filled();
    expect(await peer.writeCheckpoint('x', '{"n":1}', '0-1')).toBeUndefined();
    await peer.writeCheckpoint('x', '{"n":1}', undefined);
    expect(await peer.writeCheckpoint('x', '{"n":2}', '0-2')).toBeUndefined();
    expect(await peer.readCheckpoint('x')).toMatchObject({ rev: '0-1', value: { n: 1 } });
  });

  test('lists changes page by page', async () => {
    const { peer } = await filled();
    const first = await peer.changes({ since: 0, limit: 2, selection: undefined });
    expect(first).toEqual({
      changes: [
        { id: 'a', revs: ['1-a'], seq: 1 },
        { id: 'b', revs: ['2-c', '2-b'], seq: 3 },
      ],
      lastSeq: 3,
      pending: 1,
      isLast: false,
    });
    const second = await peer.changes({ since: first.lastSeq, limit: 2, selection: undefined });
    expect(second).toMatchObject({ changes: [{ id: 'd/e' }], lastSeq: 4, pending: 0, isLast: true });
  });

  const selections: readonly [string, Selection, string[]][] = [
    ['ids', { kind: 'ids', ids: ['a', 'd/e', 'nobody'] }, ['a', 'd/e']],
    ['a selector', { kind: 'selector', selector: '{"value":{"$gt":1}}' }, ['b']],
    ['the filter of design documents', { kind: 'filter', filter: '_design', parameters: {} }, []],
  ];

  test.each(selections)('lists the changes that %s select', async (_, selection, ids) => {
    const { peer } = await filled();
    const { changes, lastSeq } = await peer.changes({ since: 0, limit: 10, selection });
    expect(changes.map(({ id }) => id)).toEqual(ids);
    expect(lastSeq).toBe(4);
  });

  test('refuses missing filters and invalid selectors', async () => {
    const { peer } = await filled();
    const filter: Selection = { kind: 'filter', filter: 'app/mine', parameters: {} };
    await expect(peer.changes({ since: 0, limit: 1, selection: filter })).rejects.toMatchObject({
      code: 'not_found',
      isRetryable: false,
    });
    await expect(peer.filterSource('app', 'mine')).rejects.toMatchObject({ code: 'not_found', isRetryable: false });
    const selection: Selection = { kind: 'selector', selector: '{"a":{"$nothing":1}}' };
    await expect(peer.changes({ since: 0, limit: 1, selection })).rejects.toMatchObject({
      code: 'bad_request',
      isRetryable: false,
    });
  });

  test('returns the source of a filter', async () => {
    const { place, peer } = await filled();
    await place.ask('PUT', '/_design/app', { filters: { mine: 'function () { return true; }' } });
    expect(await peer.filterSource('app', 'mine')).toBe('function () { return true; }');
  });

  test('sends changes as they happen, and reports when there are no more', async () => {
    const { place, peer } = await filled();
    const pages: unknown[] = [];
    let arrived = () => {};
    const feed = peer.follow({ since: 1, limit: 10, selection: undefined }, async (page) => {
      pages.push(...page.changes.map(({ id }) => id));
      arrived();
    });
    const awaited = (count: number) =>
      new Promise<void>((resolve) => {
        arrived = () => pages.length >= count && resolve();
        arrived();
      });
    await awaited(2);
    await place.ask('PUT', '/new', {});
    await awaited(3);
    expect(pages).toEqual(['b', 'd/e', 'new']);
    await place.ask('DELETE', '');
    await feed;
  });

  test('ends a feed when the replication ends', async () => {
    const { place } = await filled();
    const controller = new AbortController();
    const feed = peerOf(place, controller.signal).follow({ since: 4, limit: 10, selection: undefined }, async () => {});
    setTimeout(() => controller.abort(), 20);
    await expect(feed).rejects.toMatchObject({ code: 'cancelled' });
  });

  test('lists the revisions it lacks', async () => {
    const { peer } = await filled();
    const revisions = new Map([
      ['a', ['1-a', '2-x']],
      ['b', ['2-b']],
      ['__proto__', ['1-p']],
    ]);
    expect(await peer.missing(revisions, (refused) => expect(refused).toBeUndefined())).toEqual([
      { id: 'a', missing: ['2-x'], possibleAncestors: ['1-a'] },
      { id: '__proto__', missing: ['1-p'], possibleAncestors: [] },
    ]);
  });

  test('returns documents as written, and lists those it lacks', async () => {
    const { peer } = await filled();
    const text = '{"_id":"spelled","_rev":"1-s","n":1.0,"big":12345678901234567890,"u":"\\u00fc","z":1,"a":2}';
    expect(await peer.write([{ id: 'spelled', rev: '1-s', text }])).toEqual([]);
    const [spelled, ...others] = textsOf(
      await found(peer, [
        ['spelled', ['1-s']],
        ['b', ['2-b', '2-c']],
        ['nobody', ['1-x']],
        ['d/e', ['1-d']],
      ]),
    );
    expect(spelled).toContain('"n":1.0,"big":12345678901234567890,"u":"\\u00fc","z":1,"a":2');
    expect(others).toEqual([
      '{"_id":"b","_rev":"2-b","_revisions":{"start":2,"ids":["b","a"]},"value":2}',
      '{"_id":"b","_rev":"2-c","_revisions":{"start":2,"ids":["c","a"]},"value":3}',
      '{"id":"nobody","rev":"1-x","error":"not_found","reason":"missing"}',
      '{"_id":"d/e","_rev":"1-d","_deleted":true,"_revisions":{"start":1,"ids":["d"]}}',
    ]);
  });

  test('returns the newest revision instead of an older one', async () => {
    const { peer } = await filled();
    expect(textsOf(await found(peer, [['b', ['1-a']]])).length).toBe(2);
  });

  test('accepts all documents except an invalid one', async () => {
    const { place, peer } = await filled();
    const documents = Array.from({ length: 20 }, (_, index) => {
      const rev = `1-${index}`;
      const text = JSON.stringify({ _id: `doc-${index}`, _rev: rev, ...(index === 13 ? { _bad: 1 } : {}) });
      return { id: `doc-${index}`, rev, text };
    });
    expect(await peer.write(documents)).toEqual([
      { id: 'doc-13', rev: '1-13', error: 'doc_validation', reason: 'Bad special document member: _bad' },
    ]);
    expect((await peer.info())?.updateSeq).toBe(23);
    expect((await place.ask('GET', '/doc-19')).status).toBe(200);
  });

  test('reads and writes documents with their attachments after them', async () => {
    const { place, peer } = await filled();
    const attached = {
      a: { content_type: 'text/plain', data: btoa('text '.repeat(100)) },
      b: { content_type: 'x/y', data: 'AAEC' },
    };
    await place.ask('POST', '/_bulk_docs', {
      new_edits: false,
      docs: [{ _id: 'doc', _rev: '1-a', _attachments: attached }],
    });
    const [one] = await found(peer, [['doc', ['1-a']]]);
    if (one?.type !== 'document' || one.stubs === undefined) throw new Error('no document with attachments');
    expect(one.stubs.map(({ name, length, isMissing }) => ({ name, length, isMissing }))).toEqual([
      { name: 'a', length: 500, isMissing: true },
      { name: 'b', length: 3, isMissing: true },
    ]);
    const other = await world.place(kind);
    const { document, stubs } = one;
    const refusal = await peer.readRelated<{ refusal: RelatedRefusal | undefined }>(
      { document, stubs, since: [] },
      async (body) => ({
        refusal: await peerOf(other).writeRelated(document, body),
      }),
    );
    expect(refusal).toEqual({ refusal: undefined });
    expect((await other.ask('GET', '/doc?attachments=true')).value).toEqual(
      (await place.ask('GET', '/doc?attachments=true')).value,
    );
    const gone = { document: { ...document, rev: '1-x' }, stubs, since: [] };
    const readAll = async ({ chunks }: RelatedBody) => {
      for await (const _ of chunks);
    };
    await expect(peer.readRelated(gone, readAll)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('reports a document with a malformed multipart body as refused', async () => {
    const { peer } = await filled();
    const body = { type: 'multipart/related; boundary="x"', chunks: chunksOf('--x\r\n\r\nno document\r\n--x--') };
    expect(await peer.writeRelated({ id: 'doc', rev: '1-a', text: '' }, body)).toMatchObject({
      isOfForm: false,
      refused: { id: 'doc', error: 'bad_request' },
    });
  });

  test('fails with the error of a body', async () => {
    const { peer } = await filled();
    const failing = (async function* () {
      yield new TextEncoder().encode('--x\r\n\r\n{"_id"');
      throw new RangeError('the source broke off');
    })();
    const body = { type: 'multipart/related; boundary="x"', chunks: failing };
    await expect(peer.writeRelated({ id: 'doc', rev: '1-a', text: '' }, body)).rejects.toThrow('the source broke off');
  });
});

async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}
