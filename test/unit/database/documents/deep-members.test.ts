import { expect, test } from 'vitest';
import { withoutDeepMembers } from '../../../../src/database/documents/deep-members.ts';

function nested(levels: number): string {
  return '['.repeat(levels) + ']'.repeat(levels);
}

test('members that are nested too deeply become null, and the others are unchanged', () => {
  const body = (value: string) => `{"owner":"ann","a\\"b":${value},"n":1.50,"list":[1,{"a":"[["}]}`;
  expect(withoutDeepMembers(body(nested(100_000)))).toBe(body('null'));
  expect(withoutDeepMembers(body(nested(1_001)))).toBe(body('null'));
});

test("a document within today's limits is unchanged", () => {
  for (const body of ['{}', '{"a":1}', `{"a":${nested(999)},"b":${nested(999)}}`]) {
    expect(withoutDeepMembers(body)).toBe(body);
  }
});
