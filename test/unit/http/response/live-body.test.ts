import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { ByteBudget } from '../../../../src/base/shared/byte-budget.ts';
import type { Log } from '../../../../src/base/system/contract.ts';
import { LiveBody, type LiveSource, WAITS } from '../../../../src/http/response/live-body.ts';
import { settle } from '../../database/store/harness.ts';
import { contextOf } from '../support.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** A source that gives what it is told to, when it is told to. */
class Scripted {
  readonly budget = new ByteBudget(268_435_456, 1_000);
  readonly errors: unknown[] = [];
  readonly body: LiveBody;
  closed = 0;
  returned = 0;
  #give: (piece: string | undefined | Error) => void = () => undefined;

  constructor(heartbeatMs?: number, watchStep: (step: Promise<unknown>) => void = () => undefined) {
    const error = (_message: string, cause: unknown) => this.errors.push(cause);
    const log: Log = { error, info: () => undefined, debug: () => undefined };
    const context = contextOf({}, {}, '', { bytesInFlight: this.budget, log });
    this.body = new LiveBody({ pieces: this.#watched(watchStep), heartbeatMs, close: () => this.#close() }, context);
  }

  async give(piece: string | undefined | Error): Promise<void> {
    await settle();
    this.#give(piece);
  }

  #close(): void {
    this.closed += 1;
    this.#give(undefined);
  }

  #watched(watchStep: (step: Promise<unknown>) => void): LiveSource['pieces'] {
    const pieces = this.#pieces();
    const { next } = pieces;
    pieces.next = () => {
      const step = next.call(pieces);
      watchStep(step);
      return step;
    };
    return pieces;
  }

  async *#pieces(): LiveSource['pieces'] {
    try {
      for (;;) {
        const piece = await new Promise<string | undefined | Error>((resolve) => {
          this.#give = resolve;
        });
        if (piece instanceof Error) throw piece;
        if (piece === undefined) return;
        yield piece;
      }
    } finally {
      this.returned += 1;
    }
  }
}

describe('the body of a feed', () => {
  test('has each piece separately, as text or as bytes', async () => {
    const source = new Scripted();
    const first = source.body.pullText();
    await source.give('one');
    expect(await first).toBe('one');
    const second = source.body.pull();
    await source.give('zwölf');
    expect(new TextDecoder().decode(await second)).toBe('zwölf');
    const end = source.body.pull();
    await source.give(undefined);
    expect([await end, source.returned]).toEqual([undefined, 1]);
  });

  test('begins at once, also without events, with one newline', async () => {
    const source = new Scripted();
    const beginning = source.body.pullText();
    await source.give(WAITS);
    expect(await beginning).toBe('\n');
    const first = source.body.pullText();
    await source.give(WAITS);
    await source.give('one');
    expect(await first).toBe('one');
    await source.body.cancel();
  });

  test('counts its bytes while pieces are made, and none while it waits, or after it failed or ended', async () => {
    const source = new Scripted();
    expect(source.budget.used).toBe(262_144);
    const beginning = source.body.pullText();
    await source.give(WAITS);
    expect([await beginning, source.budget.used]).toEqual(['\n', 0]);
    const first = source.body.pullText();
    await source.give(WAITS);
    await settle();
    expect(source.budget.used).toBe(0);
    await source.give('one');
    expect([await first, source.budget.used]).toEqual(['one', 262_144]);
    const second = source.body.pullText();
    await source.give('two');
    expect([await second, source.budget.used]).toEqual(['two', 262_144]);
    const end = source.body.pullText();
    await source.give(undefined);
    expect([await end, source.budget.used]).toEqual([undefined, 0]);
  });

  test('fails with the error of its source, which is logged if it is internal', async () => {
    for (const error of [
      new Error('unexpected'),
      new DatabaseError('storage_closed', 'The service is shutting down.'),
    ]) {
      const source = new Scripted(50);
      const first = source.body.pullText();
      await source.give(error);
      await expect(first).rejects.toThrow(error.message);
      expect([source.budget.used, source.returned]).toEqual([0, 1]);
      expect(source.errors).toEqual(error instanceof DatabaseError ? [] : [error]);
    }
  });

  test('that is never read is released', async () => {
    const source = new Scripted(50);
    await source.body.cancel();
    expect([source.closed, source.budget.used]).toEqual([1, 0]);
  });

  test('that is cancelled in the middle of a wait ends, with its heartbeats', async () => {
    const source = new Scripted(50);
    const beginning = source.body.pullText();
    await source.give(WAITS);
    expect(await beginning).toBe('\n');
    const first = source.body.pullText();
    await settle();
    await source.body.cancel();
    expect([await first, source.closed, source.returned, source.budget.used]).toEqual([undefined, 1, 1, 0]);
  });

  test('that is cancelled between two pieces ends', async () => {
    const source = new Scripted(50);
    const first = source.body.pullText();
    await source.give('one');
    await first;
    await source.body.cancel();
    expect([source.closed, source.returned, source.budget.used]).toEqual([1, 1, 0]);
  });

  test('that is cancelled while a piece is late ends, and a later failure of the piece is ignored', async () => {
    const source = new Scripted(50);
    const beat = source.body.pullText();
    await settle();
    await vi.advanceTimersByTimeAsync(50);
    expect(await beat).toBe('\n');
    await source.give(new Error('too late'));
    await source.body.cancel();
    expect([source.closed, source.returned, source.budget.used, source.errors]).toEqual([1, 1, 0, []]);
  });
});

describe('heartbeats', () => {
  test('are sent at their time while a piece is waited for, followed by the piece', async () => {
    const source = new Scripted(50);
    for (let beat = 0; beat < 3; beat += 1) {
      const pull = source.body.pullText();
      await vi.advanceTimersByTimeAsync(49);
      expect(vi.getTimerCount()).toBe(1);
      await vi.advanceTimersByTimeAsync(1);
      expect(await pull).toBe('\n');
    }
    const piece = source.body.pullText();
    await vi.advanceTimersByTimeAsync(20);
    await source.give('one');
    expect(await piece).toBe('one');
  });

  test('are sent at their time also while pieces without content arrive', async () => {
    const source = new Scripted(50);
    const beginning = source.body.pullText();
    await source.give(WAITS);
    expect(await beginning).toBe('\n');
    const beat = source.body.pullText();
    for (let n = 0; n < 2; n += 1) {
      await vi.advanceTimersByTimeAsync(20);
      await source.give(WAITS);
      await settle();
    }
    await vi.advanceTimersByTimeAsync(10);
    expect(await beat).toBe('\n');
    await source.body.cancel();
  });

  test("stop when the piece is there, even if it isn't read at once", async () => {
    const source = new Scripted(50);
    const beat = source.body.pullText();
    await vi.advanceTimersByTimeAsync(50);
    expect(await beat).toBe('\n');
    await source.give('one');
    await settle();
    expect(await source.body.pullText()).toBe('one');
  });

  test('add one handler only to the promise that is waited for', async () => {
    let handlers = 0;
    const source = new Scripted(50, (step) => {
      const then = step.then.bind(step);
      Object.assign(step, {
        // biome-ignore lint/suspicious/noThenProperty: it is a promise, and who waits for it is to be counted.
        then: (...given: Parameters<typeof then>) => {
          handlers += 1;
          return then(...given);
        },
      });
    });
    for (let beat = 0; beat < 100; beat += 1) {
      const pull = source.body.pullText();
      await vi.advanceTimersByTimeAsync(50);
      expect(await pull).toBe('\n');
    }
    expect(handlers).toBeLessThan(3);
    await source.body.cancel();
  });
});
