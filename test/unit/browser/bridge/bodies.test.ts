import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { readBody, sendBody } from '../../../../src/browser/bridge/body-streams.ts';
import { noteTimers } from '../../../support/noted-timers.ts';
import { bytes, messagesArrived, pipePair, readAll, sourceOf, until } from './support.ts';

describe('a body', () => {
  test('arrives whole, whatever its chunks are', async () => {
    const chunks = fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(chunks, fc.boolean(), async (pieces, hasLength) => {
        const whole = pieces.flatMap((piece) => [...piece]);
        const [make, read] = pipePair();
        sendBody(sourceOf(pieces, hasLength ? { length: whole.length } : {}), make);
        expect(await readAll(readBody(read, hasLength ? whole.length : undefined))).toEqual(whole);
        expect([make.isClosed, read.isClosed]).toEqual([true, true]);
      }),
    );
  });

  test('that is text crosses as text, on credit like any other, and is UTF-8 for a reader of bytes', async () => {
    const texts = ['Trom', '', 'sø ', '🎉'];
    let pulls = 0;
    const [make, read] = pipePair();
    sendBody(
      {
        pull: () => Promise.reject(new Error('Text is not to become bytes here')),
        pullText: async () => texts[pulls++],
        cancel: async () => {},
      },
      make,
    );
    const body = readBody(read);
    await messagesArrived();
    expect(pulls).toBe(0);
    expect(new TextDecoder().decode(bytes(...(await readAll(body))))).toBe('Tromsø 🎉');
    expect(make.sent).toEqual([
      { step: 'text', text: 'Trom' },
      { step: 'text', text: 'sø ' },
      { step: 'text', text: '🎉' },
      { step: 'end' },
    ]);
  });

  test('is not produced before it is read, and never further ahead than the credit', async () => {
    const [make, read] = pipePair();
    const source = sourceOf(Array.from({ length: 100 }, (_, index) => bytes(index)));
    sendBody(source, make);
    const body = readBody(read);
    await messagesArrived();
    expect(source.pulls).toBe(0);
    for (let taken = 1; taken <= 50; taken++) {
      expect(await body.pull()).toEqual(bytes(taken - 1));
      await messagesArrived();
      const granted = read.sent.reduce((sum, step) => sum + (step.step === 'pull' ? step.chunks : 0), 0);
      expect(source.pulls).toBe(granted);
      expect(granted - taken).toBeLessThanOrEqual(4);
      expect(granted - taken).toBeGreaterThanOrEqual(2);
    }
    await body.cancel();
  });

  test('needs fewer grants than chunks', async () => {
    const [make, read] = pipePair();
    sendBody(sourceOf(Array.from({ length: 100 }, () => bytes(1))), make);
    expect(await readAll(readBody(read))).toHaveLength(100);
    expect(read.sent.length).toBeLessThanOrEqual(52);
  });

  test('stops being produced when its reader cancels', async () => {
    const [make, read] = pipePair();
    const source = sourceOf(Array.from({ length: 100 }, () => bytes(1)));
    sendBody(source, make);
    const body = readBody(read);
    await body.pull();
    await body.cancel(new Error('seen enough'));
    await until(() => source.cancelled !== undefined);
    expect(source.cancelled).toBe('seen enough');
    expect(source.pulls).toBeLessThanOrEqual(5);
    await expect(body.pull()).rejects.toThrow('seen enough');
  });

  test('fails at its reader when its source fails, after everything sent before', async () => {
    const [make, read] = pipePair();
    sendBody(sourceOf([bytes(1), bytes(2)], { failure: new Error('page 7 is damaged') }), make);
    const body = readBody(read);
    expect(await body.pull()).toEqual(bytes(1));
    expect(await body.pull()).toEqual(bytes(2));
    await expect(body.pull()).rejects.toThrow('page 7 is damaged');
  });

  test('fails when it ends short of its length', async () => {
    const [make, read] = pipePair();
    sendBody(sourceOf([bytes(1, 2, 3)]), make);
    const body = readBody(read, 5);
    expect(await body.pull()).toEqual(bytes(1, 2, 3));
    await expect(body.pull()).rejects.toThrow('3 bytes came where 5 were announced');
  });

  test('fails when it is longer than its length, and stops being produced', async () => {
    const [make, read] = pipePair();
    const source = sourceOf([bytes(1, 2, 3), bytes(4)], { isEndless: true });
    sendBody(source, make);
    const body = readBody(read, 2);
    await expect(body.pull()).rejects.toThrow('3 bytes came where 2 were announced');
    await messagesArrived();
    expect(source.cancelled).toBe('it is longer than announced');
  });
});

describe('the lease of a body', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  async function pass(ms: number): Promise<void> {
    vi.advanceTimersByTime(ms);
    await messagesArrived();
  }

  test('ends when the reader sends nothing for 30 s', async () => {
    const [make, read] = pipePair();
    const source = sourceOf([bytes(1)]);
    sendBody(source, make);
    read.isClosed = true;
    await pass(29_000);
    expect(source.cancelled).toBeUndefined();
    await pass(1000);
    expect(source.cancelled).toBe('The body was cancelled: its reader was silent for 30 s');
    expect(make.sent.at(-1)).toEqual({ step: 'fail', reason: source.cancelled });
  });

  test('lasts as long as the reader exists, even if it reads nothing', async () => {
    const [make, read] = pipePair();
    const source = sourceOf([bytes(1), bytes(2)]);
    sendBody(source, make);
    const body = readBody(read);
    for (let seconds = 0; seconds < 300; seconds += 10) await pass(10_000);
    expect(source.cancelled).toBeUndefined();
    expect(await readAll(body)).toEqual([1, 2]);
  });

  test('works in the other direction: a watched body fails when its producer is silent', async () => {
    const [make, read] = pipePair();
    const body = readBody(read, undefined, { isWatched: true });
    const failing = expect(body.pull()).rejects.toThrow('its sender was silent for 30 s');
    make.isClosed = true;
    await pass(60_000);
    await failing;
    expect(read.isClosed).toBe(true);
  });

  test('of a watched body is renewed by a producer without new data', async () => {
    const [make, read] = pipePair();
    sendBody(sourceOf([bytes(1)], { isEndless: true }), make);
    const body = readBody(read, undefined, { isWatched: true });
    await body.pull();
    let outcome = 'pending';
    void body.pull().catch((error: Error) => {
      outcome = error.message;
    });
    for (let seconds = 0; seconds < 300; seconds += 10) await pass(10_000);
    expect(outcome).toBe('pending');
  });

  test('leaves no timer behind', async () => {
    const timers = noteTimers();
    const [make, read] = pipePair();
    sendBody(sourceOf([bytes(1)]), make);
    await readAll(readBody(read, 1, { isWatched: true }));
    expect(timers.running).toEqual([]);
  });
});
