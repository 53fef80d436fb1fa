import { expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import type { Handle, PlainRequest, PlainResponse } from '../../../../src/base/shared/message.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import type { Registry } from '../../../../src/database/registry/contract.ts';
import { answerAsReader } from '../../../../src/http/middleware/reader.ts';

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

test('a body that was streamed is not sent a second time', async () => {
  const body = { pull: async () => undefined, cancel: async () => undefined };
  const request = { method: 'POST', url: '/db/_all_docs', body };
  expect(await answererOf(request, { answer: () => response('failed', 'not_owner') })).toBe('failed');
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
