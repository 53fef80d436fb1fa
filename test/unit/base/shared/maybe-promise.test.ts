import { describe, expect, test } from 'vitest';
import { orElse, whenReady, withEnd } from '../../../../src/base/shared/maybe-promise.ts';

const failure = new Error('it failed');
const fail = (): never => {
  throw failure;
};

describe('whenReady', () => {
  test('continues at once with a value that is there', () => {
    expect(whenReady(3, (value) => value + 1)).toBe(4);
  });

  test('continues later with a promised value', async () => {
    const later = whenReady(Promise.resolve(3), (value) => value + 1);
    expect(later).toBeInstanceOf(Promise);
    expect(await later).toBe(4);
  });
});

describe('orElse', () => {
  test('returns the result of the work', async () => {
    expect(orElse(() => 1, fail)).toBe(1);
    expect(await orElse(async () => 1, fail)).toBe(1);
  });

  test('recovers at once from work that throws', () => {
    expect(orElse(fail, (error) => [error])).toEqual([failure]);
  });

  test('recovers from a promise that rejects', async () => {
    expect(
      await orElse<unknown>(
        async () => fail(),
        (error) => [error],
      ),
    ).toEqual([failure]);
  });
});

describe('withEnd', () => {
  test('ends after work that returns at once, before its value is passed on', () => {
    const steps: string[] = [];
    const value = withEnd(
      () => steps.push('work'),
      () => steps.push('end'),
    );
    steps.push('after');
    expect([value, steps]).toEqual([1, ['work', 'end', 'after']]);
  });

  test('ends when the promise has settled, and not before', async () => {
    let ended = 0;
    let resolve: (value: string) => void = () => undefined;
    const promise = new Promise<string>((settle) => {
      resolve = settle;
    });
    const value = withEnd(
      () => promise,
      () => {
        ended += 1;
      },
    );
    expect(ended).toBe(0);
    resolve('done');
    expect([await value, ended]).toEqual(['done', 1]);
  });

  test('ends once, and passes the failure on, if the work throws or rejects', async () => {
    let ended = 0;
    const end = () => {
      ended += 1;
    };
    expect(() => withEnd(fail, end)).toThrow(failure);
    expect(ended).toBe(1);
    await expect(withEnd(async () => fail(), end)).rejects.toBe(failure);
    expect(ended).toBe(2);
  });
});
