import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type LoginFailure, LoginFailureLog } from '../../../src/accounts/accounts/login-failure-log.ts';
import { silentLog } from '../../../src/base/system/log.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

function scene() {
  const logged: string[] = [];
  const failures = new LoginFailureLog({ ...silentLog, warning: (message) => void logged.push(message) });
  const fail = (address: string, more: Partial<LoginFailure> = {}) =>
    failures.note({ way: 'a password', name: 'ana', address, ...more });
  return { failures, logged, fail };
}

describe('failed log-ins', () => {
  test('are logged at once with name, address and method', () => {
    const { logged, fail } = scene();
    fail('192.0.2.1');
    fail('192.0.2.2', { way: 'a token', name: undefined });
    fail('', { way: 'a session' });
    expect(logged).toEqual([
      'a log-in failed: "ana" from 192.0.2.1, by a password',
      'a log-in failed: from 192.0.2.2, by a token',
      'a log-in failed: "ana" from an unknown address, by a session',
    ]);
  });

  test('of one address are summarized after a minute, and its next one is logged again', () => {
    const { logged, fail } = scene();
    for (let count = 0; count < 10_000; count++) fail('192.0.2.1', { name: `user ${count}` });
    expect(logged).toEqual(['a log-in failed: "user 0" from 192.0.2.1, by a password']);
    vi.advanceTimersByTime(60_000);
    expect(logged.slice(1)).toEqual([
      'log-ins that failed in the minute after that: 9999, the last one "user 9999" from 192.0.2.1, by a password',
    ]);
    vi.advanceTimersByTime(600_000);
    expect(logged).toHaveLength(2);
    expect(vi.getTimerCount()).toBe(0);
    fail('192.0.2.1');
    expect(logged).toHaveLength(3);
  });

  test("of thousands of addresses don't fill the log, and an IPv6 network counts as one address", () => {
    const { logged, fail } = scene();
    for (let count = 0; count < 50_000; count++) fail(`10.${count >> 16}.${(count >> 8) & 255}.${count & 255}`);
    vi.advanceTimersByTime(60_000);
    expect(logged).toHaveLength(101);
    expect(logged[100]).toBe('log-ins that failed from other addresses within that minute: 49900');
    logged.length = 0;
    for (let count = 0; count < 1_000; count++) fail(`2001:db8:1:2::${count.toString(16)}`);
    vi.advanceTimersByTime(60_000);
    expect(logged).toHaveLength(2);
  });

  test('are summarized when the service closes', () => {
    const { failures, logged, fail } = scene();
    fail('192.0.2.1');
    fail('192.0.2.1');
    failures.close();
    expect(logged).toHaveLength(2);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("have short names that can't imitate the rest of an entry", () => {
    const { logged, fail } = scene();
    fail('192.0.2.1', { name: 'a" from 10.0.0.1, by a password\n2026-01-31T12:00:00.000Z [error] x' });
    fail('192.0.2.2', { name: 'x'.repeat(1_000_000) });
    expect(logged[0]).toBe(
      String.raw`a log-in failed: "a\" from 10.0.0.1, by a password\n2026-01-31T12:00:00.000Z [error] x" from 192.0.2.1, by a password`,
    );
    expect(logged[1]?.length).toBeLessThan(200);
    fail('a "b" c');
    expect(logged[2]).toBe(String.raw`a log-in failed: "ana" from "a \"b\" c", by a password`);
  });
});
