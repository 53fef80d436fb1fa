import { describe, expect, test } from 'vitest';
import { codeAt, OneTimeCodes, totpOf } from '../../../src/accounts/passwords/one-time-codes.ts';
import { systemClock } from '../../../src/base/shared/clock.ts';

const KEY = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

function keyOf(totp: object) {
  const key = totpOf({ totp });
  if (key === undefined || key === 'unreadable') throw new Error(`not a key: ${JSON.stringify(totp)}`);
  return key;
}

describe('the code of a time', () => {
  // RFC 6238, appendix B.
  test.for([
    ['sha', KEY, 59, '94287082'],
    ['sha', KEY, 1111111109, '07081804'],
    ['sha', KEY.toLowerCase(), 20000000000, '65353130'],
    ['sha256', 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZA====', 59, '46119246'],
    [
      'sha512',
      'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNA',
      59,
      '90693936',
    ],
  ] as const)('is that of RFC 6238: %s %s %i', async ([algorithm, key, seconds, code]) => {
    expect(await codeAt(keyOf({ key, algorithm, length: 8 }), Math.floor(seconds / 30))).toBe(code);
  });

  test('has six digits of SHA-1 by default', async () => {
    expect(await codeAt(keyOf({ key: KEY }), 1)).toBe('287082');
    expect(await codeAt(keyOf({ key: KEY, length: 7 }), 1)).toBe('4287082');
  });
});

test.for([
  ['a key'],
  [null],
  [{}],
  [{ key: '' }],
  [{ key: 'A' }],
  [{ key: '0189' }],
  [{ key: KEY, algorithm: 'md5' }],
  [{ key: KEY, algorithm: 'constructor' }],
  [{ key: KEY, length: 5 }],
  [{ key: KEY, length: '6' }],
])('what can not be read is not the same as none: %j', ([totp]) => {
  expect(totpOf({ totp })).toBe('unreadable');
  expect(totpOf({})).toBeUndefined();
});

test('a code counts once, for thirty seconds and those before and after, and no earlier one after it', async () => {
  let seconds = 0;
  const codes = new OneTimeCodes({ ...systemClock, now: () => seconds * 1000 });
  const key = keyOf({ key: KEY });
  const take = async (name: string, step: number) => codes.take(name, key, await codeAt(key, step));
  seconds = 100 * 30 + 29;
  expect(await take('ana', 98)).toBe(false);
  expect(await take('ana', 102)).toBe(false);
  expect(await take('ana', 99)).toBe(true);
  expect(await take('ana', 99)).toBe(false);
  expect(await take('bob', 99)).toBe(true);
  expect(await take('ana', 101)).toBe(true);
  expect(await take('ana', 100)).toBe(false);
  expect(await take('bob', 100)).toBe(true);
  seconds = 101 * 30;
  expect(await take('ana', 101)).toBe(false);
  expect(await take('ana', 102)).toBe(true);
  for (const code of ['', '000000', ' 287082']) expect(await codes.take('eve', key, code)).toBe(false);
});

describe('after five wrong codes of a user', () => {
  function start() {
    let ms = 0;
    const codes = new OneTimeCodes({ ...systemClock, now: () => ms, monotonic: () => ms });
    const key = keyOf({ key: KEY });
    const wrong = (name: string) => codes.take(name, key, 'wrong');
    const right = async (name: string) => codes.take(name, key, await codeAt(key, Math.floor(ms / 30_000)));
    const later = (addedMs: number) => {
      ms += addedMs;
    };
    return { wrong, right, later };
  }

  test('a right one has to wait as well, twice as long each time', async () => {
    const { wrong, right, later } = start();
    await Promise.all(Array.from({ length: 5 }, () => wrong('ana')));
    expect(await right('ana')).toBe(false);
    later(999);
    expect(await right('ana')).toBe(false);
    later(1);
    expect(await wrong('ana')).toBe(false);
    later(1_999);
    expect(await right('ana')).toBe(false);
    expect(await right('bob')).toBe(true);
    later(1);
    expect(await right('ana')).toBe(true);
  });

  test('the wait is five minutes at most, and ends the count with a right one', async () => {
    const { wrong, right, later } = start();
    for (let n = 0; n < 50; n++) {
      await wrong('ana');
      later(300_000);
    }
    await wrong('ana');
    later(299_999);
    expect(await right('ana')).toBe(false);
    later(1);
    expect(await right('ana')).toBe(true);
    for (let n = 0; n < 4; n++) await wrong('ana');
    later(30_000);
    expect(await right('ana')).toBe(true);
  });

  test('an hour without one forgets them', async () => {
    const { wrong, right, later } = start();
    for (let n = 0; n < 4; n++) await wrong('ana');
    later(3_600_000);
    for (let n = 0; n < 4; n++) await wrong('ana');
    expect(await right('ana')).toBe(true);
  });

  test('others with wrong codes take nothing from them, and nor do attempts while they wait', async () => {
    const { wrong, right, later } = start();
    for (let n = 0; n < 10; n++) await wrong('ana');
    for (let n = 0; n < 1_000; n++) await wrong(`name ${n}`);
    expect(await right('ana')).toBe(false);
    later(1_000);
    expect(await right('ana')).toBe(true);
  });
});
