import { expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import type { ByteStream, Handle, PlainRequest, PlainResponse } from '../../../../src/base/shared/message.ts';
import { answerInternally, keepNoteBy } from '../../../../src/node/cluster/internal-requests.ts';

class FakeList {
  readonly notes = new Map<string, string | undefined>();
  readonly updated: string[] = [];

  readonly keepNote = async (name: string, text: string | undefined): Promise<void> => void this.notes.set(name, text);
  readonly noteUpdate = (name: string): void => void this.updated.push(name);
}

/** What clients get. It stands for a service that passes on what it does not own. */
const passedOn: PlainResponse = { status: 299, headers: {}, body: null };

function start(list: FakeList | undefined): Handle {
  return answerInternally(
    () => list,
    () => passedOn,
  );
}

function sent(url: string, more: Partial<PlainRequest> = {}): PlainRequest {
  return { method: 'PUT', url, headers: {}, body: 'text', ...more };
}

function streamOf(...pieces: string[]): ByteStream {
  return {
    pull: async () => {
      const piece = pieces.shift();
      return piece === undefined ? undefined : Buffer.from(piece);
    },
    cancel: async () => undefined,
  };
}

test('a server keeps a text, removes it, and notes updates for another server', async () => {
  const list = new FakeList();
  const handle = start(list);
  expect(await handle(sent('/_settee/notes/a%20note', { hops: 1 }))).toMatchObject({ status: 200 });
  expect([...list.notes]).toEqual([['a note', 'text']]);
  await handle(sent('/_settee/notes/a%20note', { hops: 1, method: 'DELETE', body: null }));
  expect([...list.notes]).toEqual([['a note', undefined]]);
  await handle(sent('/_settee/updates', { hops: 1, method: 'POST', body: '["a","b"]' }));
  expect(list.updated).toEqual(['a', 'b']);
  expect(await handle(sent('/a', { hops: 1 }))).toBe(passedOn);
});

test('a server keeps a text only in place of the one that was meant', async () => {
  const list = {
    text: undefined as string | undefined,
    keepNote: async (_name: string, text: string | undefined, former?: { readonly text: string | undefined }) => {
      if (former?.text !== list.text) throw new DatabaseError('conflict', 'changed');
      list.text = text;
    },
  };
  const handle = answerInternally(
    () => list,
    () => passedOn,
  );
  const keep = keepNoteBy(() => (request) => handle({ ...request, hops: 1 }));
  await keep('note', 'one', { text: undefined });
  await expect(keep('note', 'two', { text: undefined })).rejects.toMatchObject({ code: 'conflict' });
  await keep('note', 'two', { text: 'one' });
  expect(list.text).toBe('two');
  await keep('note', undefined, { text: 'two' });
  expect(list.text).toBeUndefined();
});

test('what a client sends there is neither carried out nor passed on to a server that would', async () => {
  const list = new FakeList();
  for (const handle of [start(list), start(undefined)]) {
    for (const url of ['/_settee/notes/a', '/_settee/updates']) {
      expect(await handle(sent(url))).toMatchObject({ status: 404 });
      expect(await handle(sent(url, { body: streamOf('text') }))).toMatchObject({ status: 404 });
    }
  }
  expect(list).toMatchObject({ notes: new Map(), updated: [] });
});

test('a long text, which comes as a stream, is kept whole', async () => {
  const list = new FakeList();
  await start(list)(sent('/_settee/notes/a', { hops: 1, body: streamOf('te', 'xt') }));
  expect([...list.notes]).toEqual([['a', 'text']]);
});

test('a server that does not own the list refuses, and does not ask a third one', async () => {
  const handle = start(undefined);
  const keepNote = keepNoteBy(() => (request) => handle({ ...request, hops: 1 }));
  await expect(keepNote('a', 'text')).rejects.toMatchObject({ code: 'not_owner' });
});
