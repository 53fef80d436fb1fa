import { assert } from 'chai';
import type { Answer } from './answer.ts';
import { arrayAt, at } from './json.ts';
import type { RequestOptions, Toolkit } from './toolkit.ts';

/** Steps that the cases about views begin with. */

/** Writes `_design/test` with these views; a string is a map function. */
export function putViews(
  t: Toolkit,
  views: Readonly<Record<string, unknown>>,
  members: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const full = Object.entries(views).map(([name, view]) => [name, typeof view === 'string' ? { map: view } : view]);
  return t.put('_design/test', { ...members, views: Object.fromEntries(full) });
}

/** `what` is a view of `_design/test` with its query; the response must be 200. */
export async function query(t: Toolkit, what: string, options: RequestOptions = {}): Promise<Answer> {
  const method = 'json' in options ? 'POST' : 'GET';
  const answer = await t.at(method, `/_design/test/_view/${what}`, options);
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

export function rowsOf(answer: Answer): readonly unknown[] {
  return arrayAt(answer.json, 'rows');
}

/** One member of each row. */
export function pluck(answer: Answer, member: string): readonly unknown[] {
  return rowsOf(answer).map((row) => at(row, member));
}

/** The value of the only row. */
export function onlyValue(answer: Answer): unknown {
  const rows = rowsOf(answer);
  assert.lengthOf(rows, 1, answer.text);
  return at(rows[0], 'value');
}

/** Documents `0` to `count - 1` with their number as `integer` (JSON) and `string`. */
export function numbered(count: number, start = 0): readonly { _id: string; integer: number; string: string }[] {
  return Array.from({ length: count }, (_, index) => {
    const n = start + index;
    return { _id: `${n}`, integer: n, string: `${n}` };
  });
}

/** JSON in a query string. */
export function json(value: unknown): string {
  return encodeURIComponent(JSON.stringify(value));
}
