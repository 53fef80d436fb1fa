import { expect, test, vi } from 'vitest';
import { Reachability } from '../../../src/replication/reachability.ts';

test('each wait ends once, with the next response of its origin', () => {
  const reachability = new Reachability();
  const [one, other, ended] = [vi.fn(), vi.fn(), vi.fn()];
  reachability.next('https://a.test', one);
  reachability.next('https://b.test', other);
  reachability.next('https://a.test', ended)();
  reachability.noteResponse('https://a.test');
  reachability.noteResponse('https://a.test');
  expect(one).toHaveBeenCalledTimes(1);
  expect(other).not.toHaveBeenCalled();
  expect(ended).not.toHaveBeenCalled();
});

test('a wait that begins with a response lasts until the one after it', () => {
  const reachability = new Reachability();
  const later = vi.fn();
  const endFirst = reachability.next('https://a.test', () => reachability.next('https://a.test', later));
  reachability.noteResponse('https://a.test');
  // Ends a wait that is over, and no other one.
  endFirst();
  expect(later).not.toHaveBeenCalled();
  reachability.noteResponse('https://a.test');
  expect(later).toHaveBeenCalledTimes(1);
});
