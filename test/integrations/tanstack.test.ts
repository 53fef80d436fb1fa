import { describe, expect, test, vi } from 'vitest';
import { database, SetteeError } from '../../src/packages/database-client/index.ts';
import {
  type SetteeCollectionOptions,
  type StandardSchema,
  setteeCollectionOptions,
} from '../../src/packages/frameworks/tanstack.ts';
import * as newest from './tanstack-db.mjs';
import { collect, ends, type Note, open, texts, until } from './tanstack-support.ts';

describe('a collection over a database', () => {
  test('has its documents, in pages, and follows them', async () => {
    const { notes, asked } = await open();
    const many = Array.from({ length: 1200 }, (_, index) => ({ _id: `n${index}`, text: `${index}` }));
    await notes.bulk(many);
    await notes.fetch('/db/notes/_design/d', { method: 'PUT', headers: {}, body: '{"views":{}}' });
    const collection = collect({ database: notes });
    await collection.preload();
    expect(collection.size).toBe(1200);
    expect(collection.get('n7')).toMatchObject({ _id: 'n7', _rev: expect.stringMatching(/^1-/), text: '7' });
    expect(asked.flatMap(({ answer }) => answer.docs?.length ?? [])).toEqual([500, 500, 200]);
    await notes.put({ _id: 'new', text: 'new' });
    await until(() => expect(collection.get('new')?.text).toBe('new'));
    await notes.update('n7', (note) => ({ text: `${note?.text}!` }));
    await until(() => expect(collection.get('n7')?.text).toBe('7!'));
    await notes.update('n8', () => ({ _deleted: true }));
    await until(() => expect(collection.has('n8')).toBe(false));
    expect(collection.size).toBe(1200);
  });

  test('with a selector loses documents that leave it, and reads no others', async () => {
    const { notes, rowsOf } = await open();
    await notes.bulk([
      { _id: 'a', text: 'one', list: 'x' },
      { _id: 'b', text: 'two', list: 'y' },
    ]);
    const collection = collect({ database: notes, selector: { list: 'x' } });
    await collection.preload();
    expect(texts(collection)).toEqual(['one']);
    await notes.update('b', (note) => ({ ...note, text: 'two', list: 'x' }));
    await until(() => expect(texts(collection)).toEqual(['one', 'two']));
    await notes.update('a', (note) => ({ ...note, text: 'one', list: 'y' }));
    await until(() => expect(texts(collection)).toEqual(['two']));
    expect(rowsOf('/_find')).toBe(2);
  });

  test('with a view has the documents that have rows in the range', async () => {
    const { notes } = await open();
    const map = 'function (doc) { if (doc.stars) for (var i = 0; i < doc.stars; i++) emit(doc.list, null); }';
    const body = JSON.stringify({ views: { starred: { map } } });
    await notes.fetch('/db/notes/_design/d', { method: 'PUT', headers: {}, body });
    await notes.bulk([
      { _id: 'a', text: 'one', list: 'x', stars: 1100 },
      { _id: 'b', text: 'two', list: 'x' },
      { _id: 'c', text: 'three', list: 'y', stars: 1 },
      { _id: 'e', text: 'five', list: 'x', stars: 2 },
    ]);
    const collection = collect({ database: notes, view: 'd/starred', range: { key: 'x' } });
    await collection.preload();
    expect(texts(collection)).toEqual(['five', 'one']);
    await notes.update('b', () => ({ text: 'two', list: 'x', stars: 1 }));
    await until(() => expect(texts(collection)).toEqual(['five', 'one', 'two']));
    await notes.update('a', () => ({ text: 'one', list: 'x' }));
    await until(() => expect(texts(collection)).toEqual(['five', 'two']));
  });

  test('shows conflicting revisions if it is to', async () => {
    const { notes } = await open();
    const collection = collect({ database: notes, conflicts: true });
    await notes.put({ _id: 'a', text: 'one' });
    await collection.preload();
    expect(collection.get('a')?._conflicts).toBe(undefined);
    await notes.bulk([{ _id: 'a', _rev: '1-0', text: 'other' }], { new_edits: false });
    await until(() => expect(collection.get('a')?._conflicts).toEqual(['1-0']));
  });

  test('fails with the reason, and goes on when the cause is gone', async () => {
    const { notes } = await open({ create: false });
    const onError = vi.fn();
    const collection = collect({ database: notes, onError });
    await expect(collection.preload()).rejects.toMatchObject({ status: 404, error: 'not_found' });
    expect(collection.status).toBe('error');
    expect(onError.mock.calls[0]?.[0]).toBeInstanceOf(SetteeError);
    await notes.create();
    await notes.put({ _id: 'a', text: 'one' });
    await until(() => expect(collection.status).toBe('ready'));
    expect(texts(collection)).toEqual(['one']);
  });

  test('ends its feed with the cleanup, and starts again', async () => {
    const { notes, asked } = await open();
    await notes.put({ _id: 'a', text: 'one' });
    const collection = collect({ database: notes });
    await collection.preload();
    await collection.cleanup();
    await new Promise((resolve) => setTimeout(resolve, 20));
    asked.length = 0;
    await notes.put({ _id: 'b', text: 'two' });
    expect(asked.map(({ path }) => path)).toEqual(['/b']);
    await collection.preload();
    expect(texts(collection)).toEqual(['one', 'two']);
  });

  test('is of one kind', () => {
    const notes = database<Note>(() => Promise.reject(new TypeError()), '/db/notes');
    expect(() => setteeCollectionOptions({ database: notes, view: 'd/v', selector: {} })).toThrow(TypeError);
  });
});

describe('a schema', () => {
  interface Input {
    readonly text: string;
    readonly stars?: number;
  }

  /** Drops what it does not name, as others do. */
  const schema: StandardSchema<Input, Note> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => {
        const { text, stars = 0 }: Partial<Input> = Object(value);
        if (typeof text === 'string' && text !== '') return { value: { text, stars } };
        return { issues: [{ message: 'a note needs a text', path: ['text'] }] };
      },
    },
  };

  test.each([
    ['the newest', newest],
    ['the oldest', newest.oldest],
  ])('checks and completes what the app writes, in %s version', async (_, { createCollection }) => {
    const { notes, asked } = await open();
    await notes.put({ _id: 'old', text: '', list: 'x' });
    const collection = createCollection(setteeCollectionOptions({ database: notes, schema }));
    ends.push(() => collection.cleanup());
    await collection.preload();
    // What is there already is shown as it is.
    expect(collection.get('old')).toMatchObject({ text: '', list: 'x' });
    asked.length = 0;
    expect(() => collection.insert({ _id: 'bad', text: '', stars: 1 })).toThrow('a note needs a text');
    expect(collection.has('bad')).toBe(false);
    await collection.insert({ _id: 'a', text: 'one' } as never).isPersisted.promise;
    expect(collection.get('a')).toMatchObject({ _id: 'a', text: 'one', stars: 0 });
    const updated = collection.update('a', (draft) => {
      draft.text = 'two';
    });
    await updated.isPersisted.promise;
    expect(await notes.get('a')).toEqual({ _id: 'a', _rev: expect.stringMatching(/^2-/), text: 'two', stars: 0 });
    const emptied = () =>
      collection.update('a', (draft) => {
        draft.text = '';
      });
    expect(emptied).toThrow('a note needs a text');
    expect(collection.get('a')?.text).toBe('two');
    expect(asked.filter(({ method }) => method === 'PUT').length).toBe(2);
    await collection.delete('a').isPersisted.promise;
    expect(await notes.get('a')).toBe(undefined);
  });
});

describe('a change of a collection', () => {
  /** What subscribers saw of each document, in order. */
  function watch(collection: ReturnType<typeof collect>) {
    const seen: string[] = [];
    const subscription = collection.subscribeChanges((changes) => {
      for (const { type, key, value } of changes) seen.push(`${type} ${key} ${value.text}`);
    });
    ends.push(() => subscription.unsubscribe());
    return seen;
  }

  test('is shown at once, written with its revision, and never vanishes', async () => {
    const { notes } = await open();
    const collection = collect({ database: notes });
    await collection.preload();
    const seen = watch(collection);
    const inserted = collection.insert({ _id: 'a', text: 'one' });
    expect(texts(collection)).toEqual(['one']);
    await inserted.isPersisted.promise;
    expect(collection.get('a')?._rev).toMatch(/^1-/);
    const updated = collection.update('a', (draft) => {
      draft.text = 'two';
    });
    expect(collection.get('a')?.text).toBe('two');
    await updated.isPersisted.promise;
    expect(collection.get('a')).toMatchObject({ _rev: expect.stringMatching(/^2-/), text: 'two' });
    expect(await notes.get('a')).toMatchObject({ text: 'two' });
    expect(Object.keys((await notes.get('a')) ?? {}).sort()).toEqual(['_id', '_rev', 'text']);
    await collection.delete('a').isPersisted.promise;
    expect(await notes.get('a')).toBe(undefined);
    expect(collection.size).toBe(0);
    expect(seen.filter((event) => event.startsWith('delete'))).toEqual(['delete a two']);
    expect(seen.filter((event) => event.startsWith('insert'))).toEqual(['insert a one']);
  });

  test.each([
    ['the newest', newest],
    ['the oldest', newest.oldest],
  ])('follows another one of the same document without waiting, in %s version', async (_, version) => {
    const { notes } = await open();
    const onConflict = vi.fn();
    const collection = collect({ database: notes, onConflict }, version);
    await collection.preload();
    const transactions = [collection.insert({ _id: 'a', text: '0', stars: 0 })];
    for (let count = 1; count <= 20; count++) {
      transactions.push(
        collection.update('a', (draft) => {
          draft.stars = count;
        }),
      );
    }
    await Promise.all(transactions.map(({ isPersisted }) => isPersisted.promise));
    expect(await notes.get('a')).toMatchObject({ stars: 20, _rev: expect.stringMatching(/^21-/) });
    expect(collection.get('a')?.stars).toBe(20);
    expect(onConflict).not.toHaveBeenCalled();
    const again = [];
    for (let count = 1; count <= 10; count++) {
      again.push(collection.delete('a'), collection.insert({ _id: 'a', text: `new ${count}` }));
    }
    await Promise.all(again.map(({ isPersisted }) => isPersisted.promise));
    expect(collection.get('a')?.text).toBe('new 10');
    expect(await notes.get('a')).toMatchObject({ text: 'new 10' });
  });

  test('of many documents is one request', async () => {
    const { notes, asked } = await open();
    const collection = collect({ database: notes });
    await collection.preload();
    asked.length = 0;
    const many = Array.from({ length: 300 }, (_, index) => ({ _id: `n${index}`, text: `${index}` }));
    await collection.insert(many).isPersisted.promise;
    expect(asked.filter(({ method, path }) => method === 'PUT' || path === '/_bulk_docs').length).toBe(1);
    expect(collection.size).toBe(300);
    expect((await notes.all({ limit: 0 })).total_rows).toBe(300);
  });

  test('that is refused is rolled back, with the error of the database', async () => {
    const { notes } = await open();
    const validate_doc_update = "function (doc) { if (doc.text === 'bad') throw({ forbidden: 'no bad texts' }); }";
    const body = JSON.stringify({ validate_doc_update });
    await notes.fetch('/db/notes/_design/d', { method: 'PUT', headers: {}, body });
    const collection = collect({ database: notes });
    await collection.preload();
    const refused = collection.insert({ _id: 'a', text: 'bad' });
    expect(texts(collection)).toEqual(['bad']);
    const refusal = { status: 403, error: 'forbidden', reason: 'no bad texts' };
    await expect(refused.isPersisted.promise).rejects.toMatchObject(refusal);
    expect(texts(collection)).toEqual([]);
    const several = collection.insert([
      { _id: 'a', text: 'good' },
      { _id: 'b', text: 'bad' },
    ]);
    await expect(several.isPersisted.promise).rejects.toMatchObject(refusal);
    expect(texts(collection)).toEqual(['good']);
  });

  test('that gets no response is rolled back', async () => {
    const { notes, state } = await open();
    const collection = collect({ database: notes });
    await collection.preload();
    state.failure = new TypeError('no network');
    await expect(collection.insert({ _id: 'a', text: 'one' }).isPersisted.promise).rejects.toThrow('no network');
    expect(texts(collection)).toEqual([]);
  });
});

describe('a conflict', () => {
  /** A collection whose document `a` is changed elsewhere before its own change arrives. */
  async function conflicting(
    other: Note | { _deleted: true },
    options: Pick<SetteeCollectionOptions<Note>, 'onConflict'> = {},
  ) {
    const { notes, state } = await open();
    await notes.put({ _id: 'a', text: 'one', list: 'x', stars: 1 });
    const collection = collect({ database: notes, ...options });
    await collection.preload();
    state.hold = (method) => {
      if (method !== 'PUT') return undefined;
      state.hold = undefined;
      return notes.update('a', () => other).then(() => undefined);
    };
    return { notes, collection };
  }

  test('of different members is merged', async () => {
    const { notes, collection } = await conflicting({ text: 'one', list: 'x', stars: 5 });
    const changed = collection.update('a', (draft) => {
      draft.text = 'mine';
      delete draft.list;
    });
    await changed.isPersisted.promise;
    const { _rev, ...document } = (await notes.get('a')) ?? { _rev: '' };
    expect(document).toEqual({ _id: 'a', text: 'mine', stars: 5 });
    expect(collection.get('a')).toMatchObject({ text: 'mine', stars: 5 });
  });

  test('of the same member is not lost', async () => {
    const { notes, collection } = await conflicting({ text: 'theirs', list: 'x', stars: 1 });
    const changed = collection.update('a', (draft) => {
      draft.text = 'mine';
    });
    await expect(changed.isPersisted.promise).rejects.toMatchObject({ status: 409, error: 'conflict' });
    await until(() => expect(collection.get('a')?.text).toBe('theirs'));
    expect(await notes.get('a')).toMatchObject({ text: 'theirs' });
  });

  test('of a change with a deletion rolls back', async () => {
    const { collection } = await conflicting({ _deleted: true });
    const changed = collection.update('a', (draft) => {
      draft.text = 'mine';
    });
    await expect(changed.isPersisted.promise).rejects.toMatchObject({ status: 409 });
    await until(() => expect(collection.has('a')).toBe(false));
  });

  test('of a deletion with a change rolls back', async () => {
    const { notes, collection } = await conflicting({ text: 'theirs' });
    await expect(collection.delete('a').isPersisted.promise).rejects.toMatchObject({ status: 409 });
    expect(await notes.get('a')).toMatchObject({ text: 'theirs' });
  });

  test('of two deletions is none', async () => {
    const { collection } = await conflicting({ _deleted: true });
    await collection.delete('a').isPersisted.promise;
    expect(collection.has('a')).toBe(false);
  });

  test('is given to the app, which decides', async () => {
    const onConflict = vi.fn(({ modified, stored }) => ({ ...stored, text: `${stored?.text} and ${modified.text}` }));
    const { notes, collection } = await conflicting({ text: 'theirs' }, { onConflict });
    const changed = collection.update('a', (draft) => {
      draft.text = 'mine';
    });
    await changed.isPersisted.promise;
    expect(onConflict.mock.calls.length).toBe(1);
    expect(onConflict.mock.calls[0]?.[0]).toMatchObject({
      type: 'update',
      id: 'a',
      original: { text: 'one' },
      modified: { text: 'mine' },
      stored: { _rev: expect.stringMatching(/^2-/), text: 'theirs' },
    });
    expect(await notes.get('a')).toMatchObject({ text: 'theirs and mine' });
    expect(collection.get('a')?.text).toBe('theirs and mine');
  });

  test('of an insert is refused, and the same document is not', async () => {
    const { notes } = await open();
    const collection = collect({ database: notes });
    await collection.preload();
    await notes.put({ _id: 'a', text: 'one' });
    await until(() => expect(collection.has('a')).toBe(true));
    const other = collect({ database: notes, selector: { list: 'none' } });
    await other.preload();
    await expect(other.insert({ _id: 'a', text: 'two' }).isPersisted.promise).rejects.toMatchObject({ status: 409 });
    await other.insert({ _id: 'a', text: 'one' }).isPersisted.promise;
    expect(await notes.get('a')).toMatchObject({ text: 'one' });
  });
});
