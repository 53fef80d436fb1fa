import { expect, test } from 'vitest';
import { PartedMap } from '../../../../src/base/json/parted-map.ts';

test.each([10, 100_000])('a map in parts holds %s keys', (count) => {
  const map = new PartedMap<number>();
  for (let n = 0; n < count; n++) map.set(`key ${n}`, n);
  map.set('key 3', -3);
  expect(map.size).toBe(count);
  expect([map.get('key 3'), map.get('key 9'), map.get(`key ${count - 1}`)]).toEqual([-3, 9, count - 1]);
  expect(map.get(`key ${count}`)).toBe(undefined);
});
