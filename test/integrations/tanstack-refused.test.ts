import { describe, expect, test, vi } from 'vitest';
import * as newest from './tanstack-db.mjs';
import { collect, open, show, texts, until, type Version } from './tanstack-support.ts';

const versions: [string, Version][] = [
  ['the newest', newest],
  ['the oldest', newest.oldest],
];

const map = 'function (doc) { emit(doc.list); }';
const body = JSON.stringify({ views: { lists: { map } } });

async function openSome() {
  const opened = await open();
  await opened.notes.bulk(['a', 'b', 'c'].map((text) => ({ _id: text, text, list: text })));
  const addView = () => opened.notes.fetch('/db/notes/_design/d', { method: 'PUT', headers: {}, body });
  return { ...opened, addView };
}

describe.each(versions)('a first read on demand that is refused, in %s version', (_, version) => {
  const { createLiveQueryCollection, eq, inArray } = version;

  test('succeeds as soon as its view is there', async () => {
    const { notes, addView } = await openSome();
    const onError = vi.fn();
    const options = { database: notes, view: 'd/lists', syncMode: 'on-demand', keyFields: 'list', onError } as const;
    const collection = collect(options, version);
    const some = show(
      createLiveQueryCollection((query) =>
        query.from({ note: collection }).where(({ note }) => inArray(note.list, ['a', 'b'])),
      ),
    );
    await expect(some.preload()).rejects.toThrow();
    expect(some.status).toBe('error');
    expect(onError.mock.calls[0]?.[0]).toMatchObject({ status: 404 });
    await addView();
    await until(() => expect(some.status).toBe('ready'));
    expect(texts(some)).toEqual(['a', 'b']);
    await notes.update('c', () => ({ text: 'c', list: 'b' }));
    await until(() => expect(texts(some)).toEqual(['a', 'b', 'c']));
  });

  test.each([
    ['documents', /_find/],
    ['everything', /./],
  ])('is tried again until the user may read %s', async (_, refused) => {
    const { notes, state } = await openSome();
    state.refused = refused;
    const onError = vi.fn();
    const collection = collect({ database: notes, syncMode: 'on-demand', onError }, version);
    const some = show(
      createLiveQueryCollection((query) => query.from({ note: collection }).where(({ note }) => eq(note.list, 'b'))),
    );
    await expect(some.preload()).rejects.toThrow();
    await until(() => expect(onError.mock.calls.length).toBeGreaterThan(1));
    expect(onError.mock.calls.at(-1)?.[0]).toMatchObject({ status: 401, reason: 'Log in.' });
    expect(collection.status).toBe('error');
    state.refused = undefined;
    await until(() => expect(some.status).toBe('ready'));
    expect(texts(some)).toEqual(['b']);
    await collection.insert({ _id: 'd', text: 'd', list: 'b' }).isPersisted.promise;
    expect(texts(some)).toEqual(['b', 'd']);
  });

  test('leaves what is loaded as it is', async () => {
    const { notes, state } = await openSome();
    const onError = vi.fn();
    const collection = collect({ database: notes, syncMode: 'on-demand', onError }, version);
    const of = (list: string) =>
      show(
        createLiveQueryCollection((query) => query.from({ note: collection }).where(({ note }) => eq(note.list, list))),
      );
    const first = of('a');
    await until(() => expect(texts(first)).toEqual(['a']));
    state.refused = /_find/;
    const second = of('b');
    await until(() => expect(onError).toHaveBeenCalled());
    expect([first.status, second.status, collection.status]).toEqual(['ready', 'loading', 'ready']);
    expect(texts(first)).toEqual(['a']);
    state.refused = undefined;
    await until(() => expect(second.status).toBe('ready'));
    expect(texts(second)).toEqual(['b']);
  });
});
