import { expect, test } from 'vitest';
import { UsedNonces } from '../../../src/accounts/schemes/oauth.ts';

test('a signed request is accepted once for each user', () => {
  const nonces = new UsedNonces();
  expect(nonces.isNew('ana', 'a')).toBe(true);
  expect(nonces.isNew('ana', 'a')).toBe(false);
  expect(nonces.isNew('bob', 'a')).toBe(true);
  expect(nonces.isNew('ana', 'b')).toBe(true);
});

test('a user who signs thousands of requests displaces only the oldest own nonces', () => {
  const nonces = new UsedNonces(10);
  for (const mark of ['a', 'b', 'c']) expect(nonces.isNew('ana', mark)).toBe(true);
  for (let mark = 0; mark < 100; mark += 1) expect(nonces.isNew('eve', `${mark}`)).toBe(true);
  for (const mark of ['a', 'b', 'c']) expect(nonces.isNew('ana', mark)).toBe(false);
  expect(nonces.isNew('eve', '99')).toBe(false);
  expect(nonces.isNew('eve', '0')).toBe(true);
});
