import { describe, expect, test, vi } from 'vitest';
import { noteTimers } from '../../../../support/noted-timers.ts';
import { bytes, messagesArrived, reasonOf, sourceOf, streamOf, until } from '../support.ts';
import { never, newLink, newOwner, pass, request, table, useLinks } from './links.ts';

useLinks();

describe('an abort', () => {
  test('reaches the owner, and rejects the request', async () => {
    const owner = await newOwner();
    owner.answering = () => never;
    const controller = new AbortController();
    const answer = newLink().handle(request('GET a', { signal: controller.signal }));
    await until(() => owner.requests.length === 1);
    controller.abort();
    await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
    await until(() => owner.aborted.length === 1);
  });

  test('before the request means that it is never sent', async () => {
    const owner = await newOwner();
    await expect(newLink().handle(request('GET a', { signal: AbortSignal.abort() }))).rejects.toMatchObject({
      name: 'AbortError',
    });
    await messagesArrived();
    expect(owner.requests).toEqual([]);
  });

  test("while there is no owner means that the request isn't sent later", async () => {
    const controller = new AbortController();
    const link = newLink();
    const answer = link.handle(request('PUT a', { signal: controller.signal, body: '{}' }));
    controller.abort();
    await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
    const owner = await newOwner();
    await pass(1000);
    expect(owner.requests).toEqual([]);
  });

  test('while a small body is read means that the request is never sent', async () => {
    const owner = await newOwner();
    const controller = new AbortController();
    const body = {
      length: 1,
      pull: async () => {
        if (controller.signal.aborted) return undefined;
        controller.abort();
        return bytes(1);
      },
      cancel: async () => {},
    };
    const answer = newLink().handle(request('PUT a', { signal: controller.signal, body }));
    await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
    await messagesArrived();
    expect(owner.requests).toEqual([]);
  });

  test('cancels the upload, wherever it is', async () => {
    const owner = await newOwner();
    owner.answering = () => never;
    const link = newLink();
    const [sent, controller] = [sourceOf([], { isEndless: true }), new AbortController()];
    const answer = link.handle(request('PUT a', { signal: controller.signal, body: sent }));
    await until(() => owner.requests.length === 1);
    controller.abort(new Error('not any more'));
    await expect(answer).rejects.toThrow('not any more');
    expect(sent.cancelled).toBe('not any more');
  });

  test('that crosses the response leaves no body open at the owner', async () => {
    const owner = await newOwner();
    const source = sourceOf([bytes(1)], { isEndless: true });
    const controller = new AbortController();
    owner.answering = () => {
      controller.abort();
      return { status: 200, headers: {}, body: source };
    };
    const answer = newLink().handle(request('GET a', { signal: controller.signal }));
    await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
    await until(() => source.cancelled !== undefined);
  });

  test('after the response does nothing', async () => {
    const owner = await newOwner();
    const controller = new AbortController();
    const unwatch = vi.spyOn(controller.signal, 'removeEventListener');
    await newLink().handle(request('GET a', { signal: controller.signal }));
    expect(unwatch).toHaveBeenCalledTimes(1);
    controller.abort();
    await messagesArrived();
    expect(owner.aborted).toEqual([]);
  });
});

describe('a link that is closed', () => {
  test('answers its open requests 503, and notifies the owner', async () => {
    const timers = noteTimers();
    const owner = await newOwner();
    owner.answering = () => never;
    const link = newLink();
    const answer = link.handle(request('GET a'));
    await until(() => owner.requests.length === 1);
    link.close();
    expect(reasonOf(await answer)).toBe('The service was closed in this page');
    await until(() => owner.aborted.length === 1);
    expect(reasonOf(await link.handle(request('GET a')))).toBe('The service is closed in this page');
    expect(timers.running).toEqual([]);
    expect(table.snapshot().pending).toEqual([]);
  });

  test('fails the bodies it was reading, and cancels them at the owner', async () => {
    const owner = await newOwner();
    const source = sourceOf([bytes(1)], { isEndless: true });
    owner.answering = () => ({ status: 200, headers: {}, body: source });
    const link = newLink();
    const { body } = await link.handle(request('GET a'));
    link.close();
    await expect(streamOf(body).pull()).rejects.toThrow('The service was closed in this page');
    await until(() => source.cancelled === 'The service was closed in this page');
  });
});
