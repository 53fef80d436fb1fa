import { describe, expect, test } from 'vitest';
import { FailedLogins } from '../../../src/accounts/passwords/failed-logins.ts';

class Tries {
  now = 0;
  readonly logins = new FailedLogins({ now: () => 0, monotonic: () => this.now });

  /** The seconds to wait, or 0 where the try was taken. */
  fail(name: string, address = '10.0.0.1'): number {
    try {
      this.logins.begin(name, address);
      return 0;
    } catch (error) {
      expect(error).toMatchObject({ code: 'too_many_requests' });
      return Number(Reflect.get(Object(error), 'retryAfterS'));
    }
  }
}

describe('a name from one address', () => {
  test('has five tries, then a wait that doubles each time, up to a minute', () => {
    const tries = new Tries();
    for (let count = 0; count < 5; count++) expect(tries.fail('ana')).toBe(0);
    const waits: number[] = [];
    for (let count = 0; count < 9; count++) {
      const wait = tries.fail('ana');
      waits.push(wait);
      tries.now += wait * 1000;
      expect(tries.fail('ana')).toBe(0);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  });

  test("doesn't delay another name or another address", () => {
    const tries = new Tries();
    for (let count = 0; count < 6; count++) tries.fail('ana');
    expect(tries.fail('ana')).toBe(1);
    expect(tries.fail('bob')).toBe(0);
    expect(tries.fail('ana', '10.0.0.2')).toBe(0);
  });

  test('is forgotten after a correct password, and after a quarter of an hour', () => {
    const tries = new Tries();
    for (let count = 0; count < 4; count++) tries.fail('ana');
    tries.logins.begin('ana', '10.0.0.1').succeed();
    for (let count = 0; count < 5; count++) expect(tries.fail('ana')).toBe(0);
    expect(tries.fail('ana')).toBe(1);
    tries.now += 15 * 60_000;
    for (let count = 0; count < 5; count++) expect(tries.fail('ana')).toBe(0);
  });

  test("keeps its tries if a password couldn't be checked", () => {
    const tries = new Tries();
    for (let count = 0; count < 40; count++) tries.logins.begin('ana', '10.0.0.1').withdraw();
    expect(tries.fail('ana')).toBe(0);
  });
});

describe('an address', () => {
  test('has fifty tries with any names, then one per second', () => {
    const tries = new Tries();
    for (let count = 0; count < 50; count++) expect(tries.fail(`name ${count}`)).toBe(0);
    expect(tries.fail('one more')).toBe(1);
    tries.now += 1000;
    expect(tries.fail('one more')).toBe(0);
    expect(tries.fail('and another')).toBe(1);
    tries.now += 3600_000;
    for (let count = 0; count < 50; count++) expect(tries.fail(`later ${count}`)).toBe(0);
  });

  test('of IPv6 counts as its network', () => {
    const tries = new Tries();
    for (let count = 0; count < 50; count++) expect(tries.fail(`n${count}`, `2001:db8:0:1::${count}`)).toBe(0);
    expect(tries.fail('x', '2001:db8:0:1:ffff:1:2:3')).toBe(1);
    expect(tries.fail('x', '2001:db8::1')).toBe(0);
    expect(tries.fail('x', '2001:db8:0:2::1')).toBe(0);
  });
});

test('memory stays bounded, whatever names and addresses occur', () => {
  const tries = new Tries();
  for (let count = 0; count < 25_000; count++) {
    tries.fail(`${'n'.repeat(5_000)}${count}`, `10.${count >> 16}.${(count >> 8) & 255}.${count & 255}`);
  }
  expect(tries.logins.size).toBe(20_000);
});
