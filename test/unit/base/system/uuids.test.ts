import { describe, expect, test } from 'vitest';
import { Uuids } from '../../../../src/base/system/uuids.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';

/** Bytes 0, 1, 2, … 255, 0, …: what the digits must be can be told by hand. */
function countingRandom() {
  let next = 0;
  return (bytes: Uint8Array<ArrayBuffer>) => {
    for (let index = 0; index < bytes.length; index++) bytes[index] = next++ & 0xff;
    return bytes;
  };
}

function systemRandom(bytes: Uint8Array<ArrayBuffer>) {
  return crypto.getRandomValues(bytes);
}

/** 2026-01-31T12:00:00Z; in microseconds 0x0649add4493000. */
const noon = 1_769_860_800_000;

function uuids(settings: Record<string, string>, random = countingRandom(), clock = { now: () => noon }) {
  return new Uuids(createConfig({ uuids: settings }), { ...clock, monotonic: () => 0 }, random);
}

describe('uuids', () => {
  test('sequential: 26 random digits, then a counter that rises in random steps', () => {
    const ids = uuids({});
    // Steps: 1 + 0x0d0e % 0xffe, 1 + 0x0f10 % 0xffe, 1 + 0x1112 % 0xffe
    expect([ids.next(), ids.next(), ids.next()]).toEqual([
      '000102030405060708090a0b0c000d0f',
      '000102030405060708090a0b0c001c20',
      '000102030405060708090a0b0c001d35',
    ]);
  });

  test('sequential: rises below one prefix, and has six digits for the counter, however many are made', () => {
    const ids = uuids({}, systemRandom);
    const made = Array.from({ length: 30_000 }, () => ids.next());
    const falls = made.filter((id, index) => {
      const before = made[index - 1] ?? '';
      return id.slice(0, 26) === before.slice(0, 26) && id <= before;
    });
    expect(falls).toEqual([]);
    expect(made.filter((id) => !/^[0-9a-f]{32}$/.test(id))).toEqual([]);
    expect(new Set(made).size).toBe(30_000);
    // 16 million in steps of about 2,000: some 8,000 ids a prefix
    const prefixes = new Set(made.map((id) => id.slice(0, 26)));
    expect(prefixes.size).toBeGreaterThan(2);
    expect(prefixes.size).toBeLessThan(8);
  });

  test('random: 32 random digits', () => {
    const ids = uuids({ algorithm: 'random' });
    expect(ids.next()).toBe('000102030405060708090a0b0c0d0e0f');
    expect(ids.next()).toBe('101112131415161718191a1b1c1d1e1f');
  });

  test('utc_random: 14 digits of microseconds, then 18 random ones', () => {
    const ids = uuids({ algorithm: 'utc_random' });
    expect(ids.next()).toBe('0649add4493000000102030405060708');
    expect(ids.next()).toBe('0649add4493001090a0b0c0d0e0f1011');
  });

  test('utc_id: 14 digits of microseconds, then the configured end', () => {
    const ids = uuids({ algorithm: 'utc_id', utc_id_suffix: 'mine' });
    expect(ids.next()).toBe('0649add4493000mine');
    expect(ids.next()).toBe('0649add4493001mine');
  });

  test.each(['utc_random', 'utc_id'])('%s: continues when the clock is set back', (algorithm) => {
    let now = noon;
    const ids = uuids({ algorithm, utc_id_suffix: 'x' }, systemRandom, { now: () => now });
    const before = ids.next();
    now -= 3_600_000;
    const after = ids.next();
    expect(after.slice(0, 14) > before.slice(0, 14)).toBe(true);
  });

  test('instances share no state', () => {
    expect(uuids({}).next()).toBe(uuids({}).next());
  });
});
