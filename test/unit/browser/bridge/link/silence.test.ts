import { describe, expect, test } from 'vitest';
import { channelName } from '../../../../../src/browser/bridge/instance.ts';
import { PROTOCOL, type ToAll } from '../../../../../src/browser/bridge/wire.ts';
import { noteTimers } from '../../../../support/noted-timers.ts';
import { bytes, reasonOf, sourceOf, streamOf, until } from '../support.ts';
import { ends, instance, never, newLink, newOwner, pass, request, useLinks } from './links.ts';

useLinks();

/** All that is said to everybody. */
function listenToAll(): ToAll[] {
  const heard: ToAll[] = [];
  const all = new BroadcastChannel(channelName(instance));
  all.onmessage = ({ data }: MessageEvent<ToAll>) => heard.push(data);
  ends.push(() => all.close());
  return heard;
}

describe('an owner that is silent', () => {
  test('is pinged after a second, and suspected after three pings', async () => {
    const [owner, heard] = [await newOwner(), listenToAll()];
    owner.isFrozen = true;
    const link = newLink();
    void link.handle(request('GET notes/a'));
    await until(() => owner.requests.length === 1);
    await pass(500);
    expect(owner.pings).toBe(0);
    await pass(500);
    expect(owner.pings).toBe(1);
    await pass(1000);
    expect([owner.pings, heard]).toEqual([3, []]);
    await pass(500);
    expect(heard).toEqual([{ protocol: PROTOCOL, from: expect.any(String), kind: 'suspect', owner: owner.id }]);
  });

  test('is not suspected while it answers pings', async () => {
    const [owner, heard] = [await newOwner(), listenToAll()];
    owner.answering = () => never;
    void newLink().handle(request('GET notes/a'));
    await pass(60_000);
    expect(owner.pings).toBeGreaterThan(20);
    expect(heard).toEqual([]);
  });

  test('is not pinged by a link without open requests', async () => {
    const timers = noteTimers();
    const owner = await newOwner();
    const link = newLink();
    await link.handle(request('GET notes/a'));
    await pass(10_000);
    expect(owner.pings).toBe(0);
    expect(timers.running).toEqual([]);
  });

  test('gets the full time again for each request', async () => {
    const [owner, heard] = [await newOwner(), listenToAll()];
    owner.isFrozen = true;
    const link = newLink();
    const controller = new AbortController();
    const first = link.handle(request('GET notes/a', { signal: controller.signal }));
    await until(() => owner.requests.length === 1);
    await pass(2000);
    controller.abort();
    await expect(first).rejects.toThrow();
    void link.handle(request('GET notes/b'));
    await pass(2000);
    expect(heard).toEqual([]);
  });

  test('is suspected while a body of it is open', async () => {
    const [owner, heard] = [await newOwner(), listenToAll()];
    owner.answering = () => ({ status: 200, headers: {}, body: sourceOf([bytes(1)], { isEndless: true }) });
    const { body } = await newLink().handle(request('GET notes/_changes'));
    await streamOf(body).pull();
    owner.isFrozen = true;
    await pass(3000);
    expect(heard[0]).toMatchObject({ kind: 'suspect', owner: owner.id });
  });

  test('is lost once another owner stole the storage', async () => {
    const owner = await newOwner();
    owner.isFrozen = true;
    const link = newLink();
    const [read, write] = [link.handle(request('GET notes/a')), link.handle(request('PUT notes/b', { body: '{}' }))];
    await until(() => owner.requests.length === 2);
    await pass(3000);
    const next = await newOwner({ steal: true });
    expect((await read).body).toBe(next.id);
    await pass(100);
    expect(reasonOf(await write)).toMatch(/may have been carried out or not/);
    expect(next.requests).toEqual(['GET notes/a']);
  });

  test('that was replaced before it was suspected gets a short moment only', async () => {
    const owner = await newOwner();
    owner.isFrozen = true;
    const link = newLink();
    const read = link.handle(request('GET notes/a'));
    await until(() => owner.requests.length === 1);
    const next = await newOwner({ steal: true });
    expect(next.requests).toEqual([]);
    await pass(1500);
    expect((await read).body).toBe(next.id);
  });
});
