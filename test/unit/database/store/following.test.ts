import { describe, expect, it } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import type { Database } from '../../../../src/database/store/contract.ts';
import { Bench, id, NEW_EDITS, put, seeAll, settle, TINY, TINY_PAGES, toWrite } from './harness.ts';

describe('a followed database', () => {
  it('contains what the owner has committed', async () => {
    const bench = new Bench();
    const owner = await bench.open();
    await put(owner, 'a', { body: '{"n":1}' });
    const followed = await bench.follow();
    expect(await seeAll(followed)).toEqual(await seeAll(owner));
    const rev = await put(owner, 'b', { body: '{"n":2}' });
    await put(owner, 'b', { rev, body: '{"n":3}' });
    expect(followed.updateSeq).toBe(1);
    await followed.refresh();
    expect(followed.updateSeq).toBe(3);
    expect(followed.current(id('b'))?.body).toBe('{"n":3}');
    expect(await seeAll(followed)).toEqual(await seeAll(owner));
  });

  it('answers in the same turn if there is nothing new', async () => {
    const bench = new Bench();
    await bench.open();
    const followed = await bench.follow();
    expect(followed.refresh()).toBeUndefined();
  });

  it('notifies its listeners of new changes, and of nothing else', async () => {
    const bench = new Bench();
    const owner = await bench.open();
    const followed = await bench.follow();
    const seen: number[] = [];
    followed.onChange((seq) => seen.push(seq));
    await followed.refresh();
    await owner.writeLocal(id('_local/x'), undefined, '{}', { durability: 'relaxed' });
    await followed.refresh();
    expect(seen).toEqual([]);
    await put(owner, 'a');
    await put(owner, 'b');
    await followed.refresh();
    expect(seen).toEqual([2]);
  });

  it('has the settings of the owner', async () => {
    const bench = new Bench();
    const owner = await bench.open();
    const followed = await bench.follow();
    await owner.setSecurity('{"admins":{"names":["anna"]}}');
    await owner.setRevsLimit(7);
    await owner.setAutoPurge('{"after_days":3}');
    await followed.refresh();
    expect(followed.security).toBe('{"admins":{"names":["anna"]}}');
    expect(followed.revsLimit).toBe(7);
    expect(followed.autoPurge).toBe('{"after_days":3}');
    expect([followed.uuid, followed.instanceStartTime]).toEqual([owner.uuid, owner.instanceStartTime]);
    expect(await followed.origin()).toEqual(await owner.origin());
  });

  it('refuses whatever writes', async () => {
    const bench = new Bench();
    await bench.open();
    const followed = await bench.follow();
    const writes: Record<string, () => unknown> = {
      write: () => (followed as Database).write([toWrite('a')], NEW_EDITS),
      local: () => (followed as Database).writeLocal(id('_local/a'), undefined, '{}', { durability: 'relaxed' }),
      delayed: () => (followed as Database).writeDelayed([toWrite('a')]),
      security: () => (followed as Database).setSecurity('{}'),
      purge: () => (followed as Database).purge(new Map()),
      upload: () => followed.upload(),
      flush: () => followed.flush(),
      compact: () => followed.compact(),
      verify: () => followed.verify(),
    };
    for (const [name, write] of Object.entries(writes)) {
      await expect(Promise.resolve(write()), name).rejects.toMatchObject({ code: 'not_owner' });
    }
  });

  it('is not there before its first head, and fails when its file is removed', async () => {
    const bench = new Bench();
    const store = bench.store();
    await store.open('file', 'create');
    await expect(bench.follow()).rejects.toMatchObject({ code: 'storage_closed' });
    await bench.open();
    const followed = await bench.follow();
    await store.destroy('file');
    expect(() => followed.refresh()).toThrowError(expect.objectContaining({ code: 'storage_deleted' }));
  });

  it('refuses a damaged record, and continues when the file is sound', async () => {
    const bench = new Bench();
    const owner = await bench.open();
    await put(owner, 'a');
    const followed = await bench.follow();
    await put(owner, 'b', { body: '{"text":"sound"}' });
    const { journal } = must(bench.medium.files.get('file'));
    const last = must([...journal.values()].at(-1));
    journal.set(last.number, { ...last, text: last.text.replace('sound', 'SOUND') });
    await expect(Promise.resolve(followed.refresh())).rejects.toMatchObject({ code: 'storage_corrupt' });
    expect(followed.current(id('a'))).toBeDefined();
    journal.set(last.number, last);
    await followed.refresh();
    expect(followed.current(id('b'))?.body).toBe('{"text":"sound"}');
  });

  it('joins refreshes, and each contains what was committed before it', async () => {
    const bench = new Bench();
    const owner = await bench.open();
    const followed = await bench.follow();
    const refreshes: Promise<void>[] = [];
    for (let count = 1; count <= 60; count++) {
      await put(owner, `note-${count}`);
      const committed = owner.updateSeq;
      refreshes.push(
        Promise.resolve(followed.refresh()).then(() => expect(followed.updateSeq).toBeGreaterThanOrEqual(committed)),
      );
    }
    await Promise.all(refreshes);
    expect(await seeAll(followed)).toEqual(await seeAll(owner));
  });

  it('lets the owner drop pages when it has gone on, and no sooner', async () => {
    const bench = new Bench({ settings: { ...TINY }, supports: TINY_PAGES });
    const owner = await bench.open();
    for (let count = 0; count < 40; count++) await put(owner, `note-${count}`, { body: `{"n":${count}}` });
    await owner.compact();
    const followed = await bench.follow();
    const before = await seeAll(followed);
    const snapshot = followed.snapshot();
    for (let count = 40; count < 80; count++) await put(owner, `note-${count}`, { body: `{"n":${count}}` });
    await owner.compact();
    await settle();
    const pages = () => must(bench.medium.files.get('file')).pages.size;
    const kept = pages();
    expect(await seeAll({ snapshot: () => snapshot })).toEqual(before);
    await followed.refresh();
    expect(await seeAll(followed)).toEqual(await seeAll(owner));
    await settle();
    await owner.compact();
    await settle();
    expect(pages()).toBeLessThan(kept);
  });

  it('gives up the hold of a state that no one reads', async () => {
    const bench = new Bench({ settings: TINY, supports: TINY_PAGES });
    const owner = await bench.open();
    const followed = await bench.follow();
    const { followers } = must(bench.medium.files.get('file'));
    expect(followers.whenPassed()).toBeDefined();
    bench.clock.time += 2_000;
    await followers.whenPassed();
    await put(owner, 'a');
    await followed.refresh();
    expect(await seeAll(followed)).toEqual(await seeAll(owner));
  });

  it('moves a snapshot that is too old to the newest state', async () => {
    const bench = new Bench({ settings: TINY, supports: TINY_PAGES });
    const owner = await bench.open();
    for (let count = 0; count < 20; count++) await put(owner, `note-${count}`, { body: `{"n":${count}}` });
    const followed = await bench.follow({ snapshotMaxAgeMs: 1_000 });
    const snapshot = followed.snapshot();
    for (let count = 20; count < 60; count++) await put(owner, `note-${count}`, { body: `{"n":${count}}` });
    await followed.refresh();
    bench.clock.time += 1_001;
    await owner.compact();
    await followed.refresh();
    await owner.compact();
    await settle();
    expect(Object.keys((await seeAll({ snapshot: () => snapshot })).documents)).toHaveLength(60);
  });

  it('keeps nothing for a reader that is too slow, even if no one asks for anything', async () => {
    const bench = new Bench({ settings: TINY, supports: TINY_PAGES });
    const owner = await bench.open();
    for (let count = 0; count < 20; count++) await put(owner, `note-${count}`);
    const followed = await bench.follow({ snapshotMaxAgeMs: 60_000 });
    followed.snapshot();
    await owner.compact();
    await followed.refresh();
    const { followers } = must(bench.medium.files.get('file'));
    bench.clock.time += 60_001;
    await followers.whenPassed();
    expect(followers.whenPassed()).toBeUndefined();
  });

  it('ends in order while it is being refreshed', async () => {
    const bench = new Bench();
    const owner = await bench.open();
    const followed = await bench.follow();
    await put(owner, 'a');
    const refreshing = Promise.resolve(followed.refresh()).catch((error: { code: string }) => error.code);
    await followed.close();
    expect([undefined, 'storage_closed']).toContain(await refreshing);
    expect(() => followed.snapshot()).toThrowError(expect.objectContaining({ code: 'storage_closed' }));
    expect(must(bench.medium.files.get('file')).followers.whenPassed()).toBeUndefined();
    await expect(put(owner, 'b')).resolves.toBeDefined();
  });
});
