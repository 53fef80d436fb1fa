import { describe, expect, test } from 'vitest';
import type { BulkChange } from '../../../../src/admin/documents/bulk/change.ts';
import { Journal } from '../../../../src/admin/documents/bulk/journal.ts';
import {
  BATCH_CHARACTERS,
  type BulkState,
  FRESH,
  MAX_DOCUMENTS,
  nextSize,
  runBulk,
  type Target,
} from '../../../../src/admin/documents/bulk/run.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { FakeBulkServer, FakeFailure } from './fake-bulk-server.ts';

const setDone: BulkChange = { kind: 'set', path: 'done', value: true };

class TestRun {
  state: BulkState = FRESH;
  journal = new Journal();
  readonly controller = new AbortController();
  readonly server: FakeBulkServer;

  constructor(server: FakeBulkServer) {
    this.server = server;
  }

  async run(change: BulkChange, targets: readonly Target[] = this.server.targets()): Promise<BulkState> {
    const { server, journal } = this;
    const { signal } = this.controller;
    const tell = (state: BulkState) => {
      this.state = state;
    };
    await runBulk({ targets, change, server, journal, signal, from: this.state, tell });
    return this.state;
  }

  /** What the page runs when the user asks for the way back. */
  undo(): Promise<BulkState> {
    const bodies = new Map([...this.journal.entries].map(([id, { before }]) => [id, before]));
    const targets = [...this.journal.entries].map(([id, { rev }]) => ({ id, rev }));
    return new TestRun(this.server).run({ kind: 'restore', bodies }, targets);
  }
}

function serverWith(count: number): FakeBulkServer {
  const server = new FakeBulkServer();
  for (let n = 0; n < count; n += 1) server.put(`d${n}`, { n });
  return server;
}

describe('a change of many documents', () => {
  test('reaches all of them, in requests of a bounded number', async () => {
    const server = serverWith(2_000);
    const state = await new TestRun(server).run(setDone);
    expect(state).toEqual({ done: 2_000, written: 2_000, same: 0, refusedCount: 0, refused: [] });
    expect(server.members('d1999')).toEqual({ n: 1999, done: true });
    expect(Math.max(...server.requests)).toBeLessThanOrEqual(MAX_DOCUMENTS);
    expect(server.requests.reduce((sum, one) => sum + one, 0)).toBe(2_000);
  });

  test('cuts large documents into requests of a bounded length', async () => {
    const server = new FakeBulkServer();
    for (let n = 0; n < 10; n += 1) server.put(`d${n}`, { text: 'x'.repeat(BATCH_CHARACTERS / 3) });
    await new TestRun(server).run(setDone);
    expect(server.requests).toEqual([2, 2, 2, 2, 2]);
  });

  test('does not write documents that are so already', async () => {
    const server = serverWith(2);
    server.put('d1', { n: 1, done: true });
    const state = await new TestRun(server).run(setDone);
    expect(state).toMatchObject({ written: 1, same: 1 });
    expect(server.requests).toEqual([1]);
  });

  test('leaves documents alone that somebody has changed or deleted since', async () => {
    const server = serverWith(3);
    const targets = server.targets();
    server.put('d0', { other: true });
    await server.write([{ _id: 'd1', _rev: targets[1]?.rev, _deleted: true }]);
    const state = await new TestRun(server).run(setDone, targets);
    expect(state).toEqual({
      done: 3,
      written: 1,
      same: 0,
      refusedCount: 2,
      refused: [
        { id: 'd0', error: 'conflict', reason: 'Somebody has changed it since you looked at this change.' },
        { id: 'd1', error: 'conflict', reason: 'Somebody has deleted it since you looked at this change.' },
      ],
    });
    expect(server.members('d0')).toEqual({ other: true });
  });

  test('names those that the server refuses, with its reason', async () => {
    const server = serverWith(2);
    server.forbidden.add('d1');
    const state = await new TestRun(server).run(setDone);
    expect(state.refused).toEqual([{ id: 'd1', error: 'forbidden', reason: 'Not this one.' }]);
  });

  test('finds the one document because of which a whole request fails', async () => {
    const server = serverWith(50);
    server.beforeWrite = (docs) => {
      if (docs.some(({ _id }) => _id === 'd33')) throw new FakeFailure('malformed', 'Too large.');
    };
    const state = await new TestRun(server).run(setDone);
    expect(state).toMatchObject({ done: 50, written: 49, refusedCount: 1 });
    expect(state.refused).toEqual([{ id: 'd33', error: 'malformed', reason: 'Too large.' }]);
  });

  test('stops between two requests, and goes on where it was', async () => {
    const server = serverWith(500);
    const run = new TestRun(server);
    const targets = server.targets();
    server.afterWrite = () => run.controller.abort();
    await expect(run.run(setDone, targets)).rejects.toThrow();
    expect(run.state).toMatchObject({ done: 100, written: 100 });
    server.afterWrite = () => undefined;
    const next = new TestRun(server);
    next.state = run.state;
    expect(await next.run(setDone, targets)).toMatchObject({ done: 500, written: 500, refusedCount: 0 });
  });

  test('ends when the server refuses it as a whole, and nothing of that request counts', async () => {
    const server = serverWith(300);
    const run = new TestRun(server);
    server.put('d100', { done: true });
    const targets = server.targets();
    server.beforeWrite = () => {
      if (server.requests.length === 1) throw new FakeFailure('stop', 'You are not a server admin.');
    };
    await expect(run.run(setDone, targets)).rejects.toThrow('You are not a server admin.');
    expect(run.state).toEqual({ done: 100, written: 100, same: 0, refusedCount: 0, refused: [] });
    server.beforeWrite = () => undefined;
    expect(await run.run(setDone, targets)).toEqual({ done: 300, written: 299, same: 1, refusedCount: 0, refused: [] });
  });

  test('names the documents of which it is not known whether they are stored', async () => {
    const server = serverWith(2);
    const run = new TestRun(server);
    server.afterWrite = () => {
      throw new FakeFailure('unknown', 'The server does not respond.');
    };
    await expect(run.run(setDone)).rejects.toThrow('The server does not respond.');
    expect(run.state.refused.map(({ id, error }) => [id, error])).toEqual([
      ['d0', 'unknown'],
      ['d1', 'unknown'],
    ]);
    expect(run.journal.entries.size).toBe(0);
  });
});

describe('the size of a batch', () => {
  test('grows while the documents are small', () => {
    expect(nextSize(100, 10_000)).toBe(200);
    expect(nextSize(400, 40_000)).toBe(MAX_DOCUMENTS);
  });

  test('shrinks when they are large, but not to nothing', () => {
    expect(nextSize(100, 40_000_000)).toBe(10);
    expect(nextSize(1, 100_000_000)).toBe(1);
  });
});

describe('the undo of a change', () => {
  test('brings back fields, and keeps what others wrote since', async () => {
    const server = serverWith(3);
    const run = new TestRun(server);
    await run.run({ kind: 'merge', merge: { n: null, more: { a: 1 } } });
    server.put('d1', { mine: true });
    const undone = await run.undo();
    expect(undone).toMatchObject({ written: 2, refusedCount: 1 });
    expect(undone.refused[0]).toMatchObject({ id: 'd1', error: 'conflict' });
    expect([server.members('d0'), server.members('d1'), server.members('d2')]).toEqual([
      { n: 0 },
      { mine: true },
      { n: 2 },
    ]);
  });

  test('brings back deleted documents with their attachments, and can be undone itself', async () => {
    const server = new FakeBulkServer();
    server.put('a', { n: 1, _attachments: { 'x.txt': { stub: true, length: 9 } } });
    const run = new TestRun(server);
    await run.run({ kind: 'delete' });
    expect(server.members('a')).toBe(undefined);
    await run.undo();
    expect(server.members('a')).toEqual({ n: 1, _attachments: { 'x.txt': { data: 'data of x.txt' } } });
  });

  test('can be undone itself', async () => {
    const server = serverWith(2);
    const run = new TestRun(server);
    await run.run({ kind: 'delete' });
    const bodies = new Map([...run.journal.entries].map(([id, { before }]) => [id, before]));
    const back = new TestRun(server);
    await back.run({ kind: 'restore', bodies });
    expect(server.members('d1')).toEqual({ n: 1 });
    expect(await back.undo()).toMatchObject({ written: 2 });
    expect(server.members('d1')).toBe(undefined);
  });

  test('is bounded: what the page has no room for is counted', async () => {
    const server = new FakeBulkServer();
    for (const id of ['a', 'b', 'c']) server.put(id, { text: 'x'.repeat(100) });
    const run = new TestRun(server);
    run.journal = new Journal(250);
    await run.run({ kind: 'delete' });
    expect([run.journal.entries.size, run.journal.leftOut]).toEqual([2, 1]);
  });

  test('does not keep a document whose attachments are too large, and deletes it all the same', async () => {
    const server = new FakeBulkServer();
    server.put('a', { _attachments: { big: { stub: true, length: 1_000 } } });
    const run = new TestRun(server);
    run.journal = new Journal(500);
    expect(await run.run({ kind: 'delete' })).toMatchObject({ written: 1 });
    expect([run.journal.entries.size, run.journal.leftOut]).toEqual([0, 1]);
  });
});

/** A model in which each document is changed at once, unless somebody else wrote in between. */
test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'changes, interruptions and undo agree with a simple model, seed %i',
  async (seed) => {
    const random = new SeededRandom(seed);
    const server = new FakeBulkServer();
    for (let n = 0; n < 400; n += 1) server.put(`d${n}`, random.chance(20) ? { n, done: true } : { n });
    const start = new Map([...server.documents].map(([id, { members }]) => [id, members]));
    const targets = server.targets();
    const touched = new Set<string>();
    server.beforeWrite = () => {
      for (let time = 0; time < 5; time += 1) {
        const id = `d${random.between(0, 399)}`;
        if (server.members(id)?.['done'] === true) continue;
        touched.add(id);
        server.put(id, { by: 'somebody else', time });
      }
      if (random.chance(30)) throw new FakeFailure('stop', 'Not now.');
    };
    const run = new TestRun(server);
    while (run.state.done < targets.length) await run.run(setDone, targets).catch(() => undefined);
    server.beforeWrite = () => undefined;
    const { written, same, refusedCount } = run.state;
    expect(written + same + refusedCount).toBe(400);
    expect(run.state.refused.map(({ id }) => id).toSorted()).toEqual([...touched].toSorted());
    for (const [id, members] of start) {
      if (!touched.has(id)) expect(server.members(id)).toEqual({ ...members, done: true });
    }
    expect(await run.undo()).toMatchObject({ written, refusedCount: 0 });
    for (const [id, members] of start) if (!touched.has(id)) expect(server.members(id)).toEqual(members);
  },
);
