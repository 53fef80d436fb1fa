import { expect, test, vi } from 'vitest';
import { ResumableLists } from '../../../../src/queries/sandbox/programs/resumable-source.ts';

const list = 'function () { while (getRow()) send("x"); }';
const lists = JSON.stringify({ list, other: list });

test.each([
  ['nothing else', '', true],
  ['no other member with the name', ',"lib":{"rows":"exports.x = \\u00e9;"}', true],
  ['a module', ',"lib":{"deep":[{"rows":"exports.f = function () { getRow(); };"}]}', false],
  ['a module that writes the name in another way', ',"lib":{"rows":"get\\u0052ow();"}', false],
  ['the name of a module', ',"lib":{"getRows":"exports.x = 1;"}', false],
])('a list function waits for its rows unless a module could read them: %s', async (_what, more, isResumable) => {
  const found = new ResumableLists(`{"lists":${lists}${more}}`);
  expect((await found.sourceOf('list')) !== undefined).toBe(isResumable);
  expect(await found.sourceOf('absent')).toBeUndefined();
});

test('a large design document is searched for lists without being parsed', async () => {
  const data = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`m${n}`, [n, `${n}`]]));
  const found = new ResumableLists(`{"data":${JSON.stringify(data)},"lists":${lists}}`);
  const parse = vi.spyOn(JSON, 'parse');
  expect(await found.sourceOf('list')).toBeDefined();
  const longest = Math.max(...parse.mock.calls.map(([text]) => text.length));
  parse.mockRestore();
  expect(longest).toBeLessThan(1_000);
});
