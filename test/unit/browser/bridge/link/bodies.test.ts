import { describe, expect, test } from 'vitest';
import { bytes, readAll, sourceOf, streamOf, until } from '../support.ts';
import { newLink, newOwner, pass, request, useLinks, waitingOwner } from './links.ts';

useLinks();

describe('a body', () => {
  test('that is a stream is sent up, and the response down', async () => {
    const owner = await newOwner();
    const chunks = Array.from({ length: 20 }, (_, index) => new Uint8Array(10_000).fill(index));
    owner.answering = async ({ body }) => ({ status: 200, headers: {}, body: streamOf(body) });
    const link = newLink();
    const source = sourceOf(chunks, { length: 200_000 });
    const { body } = await link.handle(request('PUT notes/a/file', { body: source }));
    expect(await readAll(streamOf(body))).toEqual(chunks.flatMap((chunk) => [...chunk]));
  });

  test.each([
    ['bytes', new Uint8Array(1_500_000)],
    ['text', 'x'.repeat(1_500_000)],
  ])('of 1.5 MB of %s is sent as a Blob, so that no listener gets a copy', async (_kind, large) => {
    const owner = await newOwner();
    let size = 0;
    owner.answering = ({ body }) => {
      if (body instanceof Blob) size = body.size;
      return { status: 201, headers: {}, body: null };
    };
    await newLink().handle(request('PUT notes/a/file', { body: large }));
    expect(size).toBe(1_500_000);
  });

  test('of a lost owner fails, and never just ends', async () => {
    const owner = await newOwner();
    owner.answering = () => ({ status: 200, headers: {}, body: sourceOf([bytes(1)], { isEndless: true }) });
    const { body } = await newLink().handle(request('GET notes/_changes'));
    const stream = streamOf(body);
    expect(await stream.pull()).toEqual(bytes(1));
    const failing = expect(stream.pull()).rejects.toThrow('was closed or stopped answering');
    owner.die();
    await pass(100);
    await failing;
  });

  test('that its reader abandons is cancelled at the owner', async () => {
    const owner = await newOwner();
    const source = sourceOf([bytes(1)], { isEndless: true });
    owner.answering = () => ({ status: 200, headers: {}, body: source });
    const { body } = await newLink().handle(request('GET notes/_changes'));
    await streamOf(body).cancel('seen enough');
    await until(() => source.cancelled === 'seen enough');
  });

  test('that is a small stream is sent again like text', async () => {
    const [owner, next] = [await newOwner(), waitingOwner()];
    owner.isFrozen = true;
    const rising = next.rise();
    const body = sourceOf([bytes(123, 125)], { length: 2 });
    const answer = newLink().handle(request('POST notes/_find', { body }));
    await until(() => owner.requests.length === 1);
    next.answering = ({ body: came }) => ({ status: 200, headers: {}, body: came instanceof Uint8Array ? came : null });
    owner.die();
    await rising;
    next.announce();
    expect((await answer).body).toEqual(bytes(123, 125));
  });
});
