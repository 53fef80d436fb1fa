import { describe, expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import type { ByteStream, Handle, PlainRequest, PlainResponse } from '../../../../src/base/shared/message.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import type { Registry } from '../../../../src/database/registry/contract.ts';
import { answerAsReader } from '../../../../src/http/middleware/reader.ts';
import { isStream } from '../../../../src/http/request/bodies.ts';

const response = (text: string, errorCode?: string): PlainResponse => ({
  status: 200,
  headers: {},
  body: text,
  ...(errorCode !== undefined && { errorCode }),
});

interface Parts {
  readonly answer?: Handle;
  readonly refresh?: () => Promise<void> | undefined;
  readonly hasPresentSettings?: () => boolean;
  readonly settings?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Returns who answered a request: `reader`, or `owner`. */
async function answererOf(request: Partial<PlainRequest>, parts: Parts = {}): Promise<unknown> {
  const { answer = () => response('reader'), refresh = () => undefined, hasPresentSettings, settings } = parts;
  const registry = { refresh, notes: new Map() } as unknown as Registry;
  const forward: Handle = () => response('owner');
  const services = { registry, basePath: '', config: createConfig(settings ?? {}) };
  const handle = answerAsReader(services, answer, { forward, hasPresentSettings });
  return (await handle({ method: 'GET', url: '/db/a', headers: {}, body: null, ...request })).body;
}

test('a reader answers what only reads', async () => {
  expect(await answererOf({})).toBe('reader');
  expect(await answererOf({ method: 'POST', url: '/db/_all_docs', body: '{}' })).toBe('reader');
});

test('the owner answers what writes, and what only it knows', async () => {
  expect(await answererOf({ method: 'PUT', body: '{}' })).toBe('owner');
  expect(await answererOf({ url: '/_stats' })).toBe('owner');
});

test.each(['not_owner', 'storage_fenced', 'storage_closed'])('the owner answers what fails with %s', async (code) => {
  expect(await answererOf({}, { answer: () => response('failed', code) })).toBe('owner');
});

test('a failure that is the same everywhere is the answer', async () => {
  expect(await answererOf({}, { answer: () => response('missing', 'not_found') })).toBe('missing');
});

describe('a streamed body', () => {
  const bytes = (text: string) => new TextEncoder().encode(text);

  /** Returns what the owner received of a stream of these chunks, and whether the sender was told that no one reads on. */
  async function received(chunks: readonly string[], answer: (body: ByteStream) => Promise<PlainResponse>) {
    const left = chunks.map(bytes);
    let isCancelled = false;
    const body: ByteStream = {
      length: chunks.join('').length,
      pull: async () => left.shift(),
      cancel: async () => {
        isCancelled = true;
      },
    };
    const owned: string[] = [];
    const forward: Handle = async ({ body: sent }) => {
      if (!isStream(sent)) throw new Error('the body is not a stream');
      expect(sent.length).toBe(body.length);
      for (let chunk = await sent.pull(); chunk !== undefined; chunk = await sent.pull()) {
        owned.push(new TextDecoder().decode(chunk));
      }
      return response('owner');
    };
    const registry = { refresh: () => undefined, notes: new Map() } as unknown as Registry;
    const services = { registry, basePath: '', config: createConfig({}) };
    const read: Handle = ({ body: asked }) => {
      if (!isStream(asked)) throw new Error('the body is not a stream');
      return answer(asked);
    };
    const handle = answerAsReader(services, read, { forward });
    const answered = await handle({ method: 'POST', url: '/db/_find', headers: {}, body });
    return { answer: answered.body, owned: owned.join(''), isCancelled };
  }

  test('is sent to the owner as a whole after it was read', async () => {
    const seen: string[] = [];
    const outcome = await received(['{"selector"', ':{}', '}'], async (body) => {
      for (let chunk = await body.pull(); chunk !== undefined; chunk = await body.pull()) {
        seen.push(new TextDecoder().decode(chunk));
      }
      await body.cancel();
      return response('failed', 'not_owner');
    });
    expect(seen).toEqual(['{"selector"', ':{}', '}']);
    expect(outcome).toEqual({ answer: 'owner', owned: '{"selector":{}}', isCancelled: false });
  });

  test('is sent to the owner as a whole after a part of it was read', async () => {
    const outcome = await received(['{"selector"', ':{}', '}'], async (body) => {
      await body.pull();
      await body.cancel();
      return response('failed', 'not_owner');
    });
    expect(outcome).toEqual({ answer: 'owner', owned: '{"selector":{}}', isCancelled: false });
  });

  test('of an answered request is given up where its reader has', async () => {
    const outcome = await received(['{"selector"', ':{}', '}'], async (body) => {
      await body.pull();
      await body.cancel();
      return response('reader');
    });
    expect(outcome).toEqual({ answer: 'reader', owned: '', isCancelled: true });
  });
});

test('the owner answers while the storage can not be looked at', async () => {
  const lost = new DatabaseError('storage_failed', 'not reached');
  expect(await answererOf({}, { refresh: () => Promise.reject(lost) })).toBe('owner');
  const fails = (): never => {
    throw lost;
  };
  expect(await answererOf({}, { refresh: fails })).toBe('owner');
});

test('a failure of the answer itself is not sent on', async () => {
  await expect(answererOf({}, { answer: () => Promise.reject(new Error('broken')) })).rejects.toThrow('broken');
});

test('the owner answers while its settings are on their way', async () => {
  expect(await answererOf({}, { hasPresentSettings: () => false })).toBe('owner');
});

test('the owner answers for virtual hosts', async () => {
  const settings = { vhosts: { 'app.example': '/db/_design/app' } };
  expect(await answererOf({ headers: { host: 'app.example' } }, { settings })).toBe('owner');
  expect(await answererOf({ headers: { host: 'other.example' } }, { settings })).toBe('reader');
});
