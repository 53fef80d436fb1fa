import { describe, expect, test } from 'vitest';
import * as newest from './tanstack-db.mjs';
import { collect, type Note, open, texts, until, type Version } from './tanstack-support.ts';

const versions: [string, Version][] = [
  ['the newest', newest],
  ['the oldest', newest.oldest],
];

const blob = (text: string) => new Blob([text], { type: 'text/plain' });

async function start(version: Version) {
  const opened = await open();
  const { notes, asked } = opened;
  const collection = collect({ database: notes }, version);
  await collection.preload();
  asked.length = 0;
  const writes = () =>
    asked.filter(({ method, path }) => method === 'PUT' || path === '/_bulk_docs').map(({ path }) => path);
  /** Contents of attachments by their names. */
  const files = async (id: string) => {
    const { _attachments = {} } = (await notes.get(id, { attachments: true })) ?? {};
    return Object.fromEntries(Object.entries(_attachments).map(([name, { data = '' }]) => [name, atob(data)]));
  };
  return { ...opened, collection, writes, files };
}

describe.each(versions)('Blobs in rows, in %s version', (_, version) => {
  test('are stored with their documents, also in a transaction of several', async () => {
    const { collection, writes, files } = await start(version);
    const inserted = collection.insert([
      { _id: 'a', text: 'a', _attachments: { photo: { data: blob('of a') } } },
      { _id: 'b', text: 'b' },
      { _id: 'c', text: 'c', _attachments: { photo: { content_type: 'text/plain', data: btoa('of c') } } },
      { _id: 'd', text: 'd', _attachments: { photo: { data: blob('of d') }, other: { data: blob('more') } } },
    ]);
    expect(collection.get('a')?._attachments?.['photo']?.data).toBeInstanceOf(Blob);
    await inserted.isPersisted.promise;
    expect(writes()).toEqual(['/_bulk_docs', '/a', '/d']);
    expect(texts(collection)).toEqual(['a', 'b', 'c', 'd']);
    expect(collection.get('a')?._attachments?.['photo']).toMatchObject({
      stub: true,
      length: 4,
      content_type: 'text/plain',
    });
    expect(await files('a')).toEqual({ photo: 'of a' });
    expect(await files('c')).toEqual({ photo: 'of c' });
    expect(await files('d')).toEqual({ photo: 'of d', other: 'more' });
  });

  test('are added to documents, whose other attachments stay', async () => {
    const { collection, writes, files } = await start(version);
    await collection.insert([
      { _id: 'a', text: 'a', _attachments: { photo: { data: blob('of a') } } },
      { _id: 'b', text: 'b' },
    ]).isPersisted.promise;
    writes();
    const updated = collection.update(['a', 'b'], (drafts) => {
      for (const draft of drafts) draft._attachments = { ...draft._attachments, more: { data: blob(draft.text) } };
    });
    await updated.isPersisted.promise;
    expect(await files('a')).toEqual({ photo: 'of a', more: 'a' });
    expect(await files('b')).toEqual({ more: 'b' });
  });

  test('of which one is refused leave the others, each with its own outcome', async () => {
    const { notes, collection } = await start(version);
    const validate_doc_update = "function (doc) { if (doc.text === 'bad') throw({ forbidden: 'no bad texts' }); }";
    const body = JSON.stringify({ validate_doc_update });
    await notes.fetch('/db/notes/_design/d', { method: 'PUT', headers: {}, body });
    const file = (): Note & { _attachments: { photo: { data: Blob } } } => ({
      text: 'bad',
      _attachments: { photo: { data: blob('x') } },
    });
    const inserted = collection.insert([
      { _id: 'a', ...file() },
      { _id: 'b', text: 'good' },
      { _id: 'c', ...file(), text: 'fine' },
    ]);
    await expect(inserted.isPersisted.promise).rejects.toMatchObject({ status: 403, reason: 'no bad texts' });
    await until(() => expect(texts(collection)).toEqual(['fine', 'good']));
  });
});
