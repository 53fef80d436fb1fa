import { afterEach, describe, expect, test, vi } from 'vitest';
import { MemoryService } from '../../../../src/browser/msw/memory-service.ts';
import { readQuickJsWasm } from '../../../../src/node/server/platform.ts';
import { database, type Fetch } from '../../../../src/packages/database-client/index.ts';
import { LiveDocument } from '../../../../src/packages/frameworks/live-document.ts';
import { LiveQuery, LiveView } from '../../../../src/packages/frameworks/live-query.ts';
import type { Followable, LiveState } from '../../../../src/packages/frameworks/live-value.ts';
import { patient } from '../../../support/patience.ts';

interface Note {
  text: string;
  list?: string;
}

const ends: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A database in memory, and the paths that were requested. */
async function open({ create = true } = {}) {
  const service = new MemoryService({ basePath: '/db', config: {} }, readQuickJsWasm);
  ends.push(() => service.reset());
  const asked: string[] = [];
  let failure: Error | undefined;
  const fetch: Fetch = async (address, init) => {
    asked.push(`${init.method} ${address.replace(/^\/db\/notes|\?.*/g, '')}`);
    if (failure !== undefined) throw failure;
    return service.fetch(new Request(new URL(address, 'http://localhost'), init as RequestInit));
  };
  const notes = database<Note>(fetch, '/db/notes');
  if (create) await notes.create();
  const fail = (error: Error | undefined) => {
    failure = error;
  };
  return { notes, asked, fail };
}

/** Follows until the end of the test. */
function watch<State extends LiveState>(live: Followable<State>) {
  const states: State[] = [];
  const listener = () => {
    states.push(live.get());
  };
  const stop = live.subscribe(listener);
  ends.push(stop);
  const until = (holds: (state: State) => boolean) => vi.waitFor(() => expect(holds(live.get())).toBe(true), patient);
  return { states, stop, until };
}

describe('a live document', () => {
  test('is read, and again when it changes, and no other one is read', async () => {
    const { notes, asked } = await open();
    await notes.put({ _id: 'a', text: 'one' });
    const live = new LiveDocument(notes, { id: 'a' });
    expect(live.get()).toEqual({ status: 'loading', document: undefined, error: undefined });
    const { until } = watch(live);
    await until(({ document }) => document?.text === 'one');
    asked.length = 0;
    await notes.put({ _id: 'b', text: 'another' });
    await notes.update('a', () => ({ text: 'two' }));
    await until(({ document }) => document?.text === 'two');
    expect(asked.filter((request) => request === 'GET /b')).toEqual([]);
    await notes.update('a', () => ({ _deleted: true }));
    await until(({ status, document }) => status === 'ready' && document === undefined);
  });

  test('is nothing under a new id, until that one is read', async () => {
    const { notes } = await open();
    await notes.bulk([
      { _id: 'a', text: 'one' },
      { _id: 'b', text: 'two' },
    ]);
    const live = new LiveDocument(notes, { id: 'a' });
    const { until, states } = watch(live);
    await until(({ document }) => document?._id === 'a');
    live.ask({ id: 'b' });
    expect(live.get()).toEqual({ status: 'loading', document: undefined, error: undefined });
    await until(({ document }) => document?._id === 'b');
    live.ask(undefined);
    expect(live.get()).toEqual({ status: 'idle', document: undefined, error: undefined });
    expect(states.some(({ document, status }) => document?._id === 'a' && status === 'loading')).toBe(false);
  });

  test('sends no request before it is followed, and none after', async () => {
    const { notes, asked } = await open();
    asked.length = 0;
    const live = new LiveDocument(notes, { id: 'a' });
    await new Promise((resolve) => setTimeout(resolve, 0));
    expect(asked).toEqual([]);
    const { until, stop } = watch(live);
    await until(({ status }) => status === 'ready');
    stop();
    const sent = asked.length;
    await new Promise((resolve) => setTimeout(resolve, 20));
    await notes.put({ _id: 'a', text: 'one' });
    expect(asked.slice(sent)).toEqual(['PUT /a']);
  });
});

describe('a live document that comes later', () => {
  test('is read although the feed runs already, and again when it comes back', async () => {
    const { notes } = await open();
    await notes.put({ _id: 'a', text: 'one' });
    await watch(new LiveQuery(notes, { selector: {} })).until(({ status }) => status === 'ready');
    const live = new LiveDocument(notes, { id: 'a' });
    const first = watch(live);
    await first.until(({ document }) => document?.text === 'one');
    first.stop();
    await notes.update('a', () => ({ text: 'two' }));
    await watch(live).until(({ document }) => document?.text === 'two');
  });

  test('has for a question that is not asked yet what it will show then', async () => {
    const { notes } = await open();
    await notes.put({ _id: 'a', text: 'one' });
    const live = new LiveDocument(notes, { id: 'a' });
    await watch(live).until(({ document }) => document?.text === 'one');
    expect(live.stateFor({ id: 'a' })).toBe(live.get());
    expect(live.stateFor({ id: 'b' })).toEqual({ status: 'loading', document: undefined, error: undefined });
    expect(live.stateFor(undefined)).toEqual({ status: 'idle', document: undefined, error: undefined });
  });
});

describe('what fails', () => {
  test('is read again by itself, without any change', async () => {
    const { notes, fail } = await open();
    await notes.put({ _id: 'a', text: 'one' });
    const live = new LiveDocument(notes, { id: 'x' });
    const { until } = watch(live);
    await until(({ status }) => status === 'ready');
    fail(new TypeError('no network'));
    live.ask({ id: 'a' });
    await until(({ status, error }) => status === 'failed' && String(error).includes('no network'));
    fail(undefined);
    await until(({ document }) => document?.text === 'one');
  });

  test('is not told to what asks nothing', async () => {
    const { notes } = await open({ create: false });
    const idle = new LiveDocument(notes, undefined);
    const other = watch(new LiveDocument(notes, { id: 'a' }));
    watch(idle);
    await other.until(({ status }) => status === 'failed');
    expect(idle.get().status).toBe('idle');
  });

  test('in a listener does not end the following', async () => {
    const { notes } = await open();
    await notes.put({ _id: 'a', text: 'one' });
    const live = new LiveDocument(notes, { id: 'a' });
    const { until } = watch(live);
    await until(({ document }) => document?.text === 'one');
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    const others = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection');
    process.on('unhandledRejection', note);
    ends.push(() => {
      process.off('unhandledRejection', note);
      for (const listener of others) process.on('unhandledRejection', listener);
    });
    const stop = live.subscribe(() => {
      throw new Error('a mistake of a component');
    });
    await notes.update('a', () => ({ text: 'two' }));
    await vi.waitFor(() => expect(String(unhandled[0])).toContain('a mistake of a component'), patient);
    stop();
    await notes.update('a', () => ({ text: 'three' }));
    await until(({ document }) => document?.text === 'three');
  });
});

describe('a live query', () => {
  const ofList = (list: string) => ({ selector: { list }, limit: 100 });

  test('follows what is written, in one feed for all', async () => {
    const { notes, asked } = await open();
    await notes.put({ _id: 'a', text: 'one', list: 'x' });
    const x = watch(new LiveQuery(notes, ofList('x')));
    const y = watch(new LiveQuery(notes, ofList('y')));
    await x.until(({ documents }) => documents.length === 1);
    await y.until(({ status }) => status === 'ready');
    await notes.put({ _id: 'b', text: 'two', list: 'y' });
    await y.until(({ documents }) => documents.length === 1);
    expect(asked.filter((request) => request === 'GET /_all_docs').length).toBe(1);
  });

  test('keeps the objects of documents that have not changed, and calls nobody for a change of others', async () => {
    const { notes, asked } = await open();
    await notes.put({ _id: 'a', text: 'one', list: 'x' });
    const live = new LiveQuery(notes, ofList('x'));
    const { until, states } = watch(live);
    await until(({ documents }) => documents.length === 1);
    const [first] = live.get().documents;
    await notes.put({ _id: 'b', text: 'two', list: 'x' });
    await until(({ documents }) => documents.length === 2);
    expect(live.get().documents[0]).toBe(first);
    const called = states.length;
    const finds = asked.filter((request) => request === 'POST /_find').length;
    await notes.put({ _id: 'c', text: 'three', list: 'z' });
    await vi.waitFor(
      () => expect(asked.filter((request) => request === 'POST /_find').length).toBeGreaterThan(finds),
      patient,
    );
    await notes.put({ _id: 'd', text: 'four', list: 'x' });
    await until(({ documents }) => documents.length === 3);
    expect(states.length).toBe(called + 1);
  });

  test('shows the former result until that of a new query is there', async () => {
    const { notes } = await open();
    await notes.bulk([
      { _id: 'a', text: 'one', list: 'x' },
      { _id: 'b', text: 'two', list: 'y' },
    ]);
    const live = new LiveQuery(notes, ofList('x'));
    const { until, states } = watch(live);
    await until(({ documents }) => documents.length === 1);
    live.ask(ofList('y'));
    expect(live.get()).toMatchObject({ status: 'loading', documents: [{ _id: 'a' }] });
    await until(({ documents }) => documents[0] !== undefined && '_id' in documents[0] && documents[0]._id === 'b');
    expect(states.map(({ documents }) => documents.length)).not.toContain(0);
  });

  test('fails with the reason, and goes on when the cause is gone', async () => {
    const { notes } = await open({ create: false });
    const live = new LiveQuery(notes, ofList('x'));
    const { until } = watch(live);
    await until(({ status }) => status === 'failed');
    expect(live.get().error).toMatchObject({ status: 404, error: 'not_found', reason: 'no_db_file' });
    await notes.create();
    await notes.put({ _id: 'a', text: 'one', list: 'x' });
    await until(({ status, documents, error }) => status === 'ready' && documents.length === 1 && error === undefined);
  });

  test('that is wrong fails alone', async () => {
    const { notes } = await open();
    const wrong = watch(new LiveQuery(notes, { selector: { text: { $above: 1 } as never } }));
    const right = watch(new LiveQuery(notes, ofList('x')));
    await wrong.until(({ status, error }) => status === 'failed' && String(error).includes('invalid_operator'));
    await right.until(({ status }) => status === 'ready');
  });

  test('misses no change between its first read and its feed', async () => {
    const { notes } = await open();
    const { until } = watch(new LiveQuery(notes, ofList('x')));
    for (let count = 1; count <= 20; count++) {
      await notes.put({ _id: `n${count}`, text: '', list: 'x' });
    }
    await until(({ documents }) => documents.length === 20);
  });

  test('reads less often than there are changes', async () => {
    const { notes, asked } = await open();
    const { until } = watch(new LiveQuery(notes, ofList('x')));
    await until(({ status }) => status === 'ready');
    asked.length = 0;
    for (let count = 0; count < 100; count++) await notes.put({ _id: `n${count}`, text: '', list: 'x' });
    await until(({ documents }) => documents.length === 100);
    expect(asked.filter((request) => request === 'POST /_find').length).toBeLessThan(100);
  });
});

test('a live view has the rows of the view', async () => {
  const { notes } = await open();
  const map = 'function (doc) { emit(doc.list, doc.text); }';
  const view = { _id: '_design/d', views: { texts: { map, reduce: '_count' } } };
  await notes.fetch('/db/notes/_design/d', { method: 'PUT', headers: {}, body: JSON.stringify(view) });
  const rows = new LiveView<Note, { readonly key: string; readonly value: string }>(notes, { name: 'd/texts' });
  const counts = new LiveView<Note, { readonly key: string; readonly value: number }>(notes, {
    name: 'd/texts',
    options: { group: true },
  });
  const [all, grouped] = [watch(rows), watch(counts)];
  await all.until(({ status }) => status === 'ready');
  await notes.put({ _id: 'a', text: 'one', list: 'x' });
  await all.until((state) => state.rows.length === 1);
  expect(rows.get().rows).toEqual([{ id: 'a', key: 'x', value: 'one' }]);
  await grouped.until((state) => state.rows.length === 1);
  expect(counts.get().rows).toEqual([{ key: 'x', value: 1 }]);
});

test('a feed is shared with other entries of the package, which have copies of its module', async () => {
  const { notes, asked } = await open();
  await notes.put({ _id: 'a', text: 'one' });
  vi.resetModules();
  const copy = await import('../../../../src/packages/frameworks/shared-feed.ts');
  const seen: (ReadonlySet<string> | undefined)[] = [];
  ends.push(copy.follow(notes, { changed: (ids) => seen.push(ids), failed: () => undefined }));
  const { until } = watch(new LiveDocument(notes, { id: 'a' }));
  await until(({ document }) => document?.text === 'one');
  await notes.put({ _id: 'b', text: 'other' });
  await vi.waitFor(() => expect(seen).toEqual([undefined, new Set(['b'])]), { timeout: 60_000 });
  // Each feed begins with a list.
  expect(asked.filter((request) => request === 'GET /_all_docs').length).toBe(1);
});
