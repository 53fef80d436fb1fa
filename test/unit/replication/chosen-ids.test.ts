import { expect, test } from 'vitest';
import { includesSorted } from '../../../src/replication/peers/changes/changes-source.ts';

test('an id is found in a sorted list, wherever it is', () => {
  const ids = ['A', 'a', 'b/c', 'é', '\u{1f600}', '\uffee'];
  for (const id of ids) expect(includesSorted(ids, id)).toBe(true);
  for (const id of ['', 'B', 'b', 'z', '\uffef']) expect(includesSorted(ids, id)).toBe(false);
  expect(includesSorted([], 'a')).toBe(false);
});
