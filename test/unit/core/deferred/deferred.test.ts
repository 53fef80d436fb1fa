import { expect, test, vi } from 'vitest';
import { Deferred } from '../../../../src/core/deferred/deferred.ts';

test('a synchronous part is available in the same turn, and made once', () => {
  const make = vi.fn(() => ({ n: 1 }));
  const part = new Deferred(make);
  expect(make).not.toHaveBeenCalled();
  const made = part.get();
  expect(made).toEqual({ n: 1 });
  expect(part.get()).toBe(made);
  expect(make).toHaveBeenCalledTimes(1);
});

test('requests made during one attempt share it', async () => {
  const make = vi.fn(async () => ({ n: 1 }));
  const part = new Deferred(make);
  const [one, other] = await Promise.all([part.get(), part.get()]);
  expect(one).toBe(other);
  expect(await part.get()).toBe(one);
  expect(make).toHaveBeenCalledTimes(1);
});

test('a failure is passed to its caller, and the next call tries again', async () => {
  const make = vi.fn(async () => ({ n: 1 }));
  make.mockRejectedValueOnce(new Error('no network'));
  const part = new Deferred(make);
  await expect(part.get()).rejects.toThrow('no network');
  expect(await part.get()).toEqual({ n: 1 });
});

test('a synchronous failure is passed to its caller, and the next call tries again', () => {
  const make = vi.fn(() => ({ n: 1 }));
  make.mockImplementationOnce(() => {
    throw new Error('no memory');
  });
  const part = new Deferred(make);
  expect(() => part.get()).toThrow('no memory');
  expect(part.get()).toEqual({ n: 1 });
});

test('a closed part is ended, and never made again', async () => {
  const end = vi.fn();
  const part = new Deferred(() => ({ n: 1 }), end);
  const made = part.get();
  await part.close();
  expect(end).toHaveBeenCalledExactlyOnceWith(made);
  expect(() => part.get()).toThrow('shutting_down');
});

test('a part that was never made is not ended', async () => {
  const end = vi.fn();
  const part = new Deferred(() => ({ n: 1 }), end);
  await part.close();
  expect(end).not.toHaveBeenCalled();
});

test('a part that becomes ready after the end is ended at once, and not returned', async () => {
  let give: (value: object) => void = () => {};
  const end = vi.fn();
  const part = new Deferred(() => new Promise<object>((resolve) => (give = resolve)), end);
  const asked = part.get();
  await part.close();
  const late = {};
  give(late);
  await expect(asked).rejects.toThrow('shutting_down');
  expect(end).toHaveBeenCalledExactlyOnceWith(late);
});
