import { expect, test } from 'vitest';
import { ResumableLists } from '../../../src/query-server/sources/resumable-lists.ts';
import { nextTurn } from '../../../src/shared/turn.ts';

const list = 'function () { while (getRow()) send("x"); }';

test.each([
  ['nothing else', {}, true],
  ['another list', { lists: { list, other: list } }, true],
  ['a module', { lib: { deep: [{ rows: 'exports.f = function () { getRow(); };' }] } }, false],
  ['the name of a module', { lib: { getRows: 'exports.x = 1;' } }, false],
])('a list function waits for its rows where no module may ask for them: %s', async (_what, more, isResumable) => {
  const lists = new ResumableLists(JSON.stringify({ lists: { list }, ...more }));
  expect((await lists.sourceOf('list')) !== undefined).toBe(isResumable);
  expect(await lists.sourceOf('absent')).toBeUndefined();
});

test('others have turns while a large design document is searched', async () => {
  const data = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`m${n}`, [n, `${n}`]]));
  const lists = new ResumableLists(JSON.stringify({ data, lists: { list } }));
  let turns = 0;
  let isDone = false;
  const found = lists.sourceOf('list').finally(() => {
    isDone = true;
  });
  for (; !isDone; turns++) await nextTurn();
  expect(await found).toBeDefined();
  expect(turns).toBeGreaterThan(3);
});
