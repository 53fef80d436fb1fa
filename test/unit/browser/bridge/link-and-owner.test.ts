/** The two ends of the channels together. */
import { afterEach, expect, test } from 'vitest';
import type { PlainRequest, PlainResponse } from '../../../../src/base/shared/message.ts';
import { createLink } from '../../../../src/browser/bridge/link/owner-link.ts';
import { createOwnerServer } from '../../../../src/browser/bridge/link/owner-server.ts';
import { createElection } from '../../../../src/browser/bridge/ownership/election.ts';
import { FakeLocks } from '../../../support/fake-locks.ts';
import { bytes, newInstance, readAll, sourceOf, streamOf, until } from './support.ts';

const ends: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const table = new FakeLocks();

/** A tab's worker that serves with `handle` once it owns the storage. */
function newTab(instance: ReturnType<typeof newInstance>, handle: (request: PlainRequest) => Promise<PlainResponse>) {
  const locks = table.client();
  let channel: ReturnType<typeof createOwnerServer> | undefined;
  const election = createElection({
    instance,
    locks,
    kind: 'tab',
    listen: (ownerId) => {
      channel = createOwnerServer({ instance, ownerId, handle });
    },
    become: async () => {},
    leave: async () => {
      channel?.leave();
      channel?.close();
    },
  });
  const close = () => election.close();
  ends.push(close);
  return { close };
}

function newLink(instance: ReturnType<typeof newInstance>) {
  const link = createLink({ instance, carrier: 'tab', locks: table.client() });
  ends.push(() => link.close());
  return link;
}

const answer = (body: PlainResponse['body']): PlainResponse => ({ status: 200, headers: {}, body });

test('requests and streams are carried in both directions', async () => {
  const instance = newInstance();
  newTab(instance, async ({ url, body }) => answer(url.endsWith('/stream') ? streamOf(body) : url));
  const link = newLink(instance);
  const url = `${instance.base}a`;
  expect((await link.handle({ method: 'GET', url, headers: {}, body: null })).body).toBe(url);
  const up = sourceOf(Array.from({ length: 30 }, (_, index) => bytes(index)));
  const { body } = await link.handle({ method: 'PUT', url: `${instance.base}stream`, headers: {}, body: up });
  expect(await readAll(streamOf(body))).toEqual(Array.from({ length: 30 }, (_, index) => index));
});

test('the next tab answers when the first one closes', async () => {
  const instance = newInstance();
  const first = newTab(instance, async () => answer('first'));
  newTab(instance, async () => answer('second'));
  const link = newLink(instance);
  const get = (): Promise<PlainResponse> =>
    link.handle({ method: 'GET', url: `${instance.base}a`, headers: {}, body: null });
  await until(() => table.snapshot().held?.some(({ name }) => name?.includes('|alive|')) === true);
  expect((await get()).body).toBe('first');
  await first.close();
  expect((await get()).body).toBe('second');
});

test('a cancelled body is released at the owner', async () => {
  const instance = newInstance();
  const source = sourceOf([bytes(1)], { isEndless: true });
  newTab(instance, async () => answer(source));
  const { body } = await newLink(instance).handle({ method: 'GET', url: instance.base, headers: {}, body: null });
  expect(await streamOf(body).pull()).toEqual(bytes(1));
  await streamOf(body).cancel('enough');
  await until(() => source.cancelled !== undefined);
  expect(source.cancelled).toBe('enough');
});
