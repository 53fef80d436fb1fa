import { assert } from 'chai';
import type { Answer } from './answer.ts';
import { arrayAt, at, stringAt } from './json.ts';
import type { Toolkit } from './toolkit.ts';

/** Steps that the cases about selector queries begin with. */

type Json = Readonly<Record<string, unknown>>;

/** `_find` that must answer 200. */
export async function find(t: Toolkit, body: Json): Promise<Answer> {
  const answer = await t.at('POST', '/_find', { json: body });
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

/** Returns the ids that a selector finds, in the order of the response. */
export async function findIds(t: Toolkit, selector: Json, members: Json = {}): Promise<readonly unknown[]> {
  return idsOf(await find(t, { selector, limit: 100, ...members }));
}

export function idsOf(answer: Answer): readonly unknown[] {
  return arrayAt(answer.json, 'docs').map((doc) => at(doc, '_id'));
}

/** Creates an index that did not exist, and returns its design document's id. */
export async function index(t: Toolkit, fields: readonly unknown[], name: string, members: Json = {}): Promise<string> {
  const json = { index: { fields, ...members }, name, ddoc: name };
  const answer = await t.at('POST', '/_index', { json });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(at(answer.json, 'result'), 'created');
  return stringAt(answer.json, 'id');
}

/** The name of the index that would answer a query. */
export async function chosen(t: Toolkit, body: Json): Promise<unknown> {
  return at(await explain(t, body), 'index', 'name');
}

export async function explain(t: Toolkit, body: Json): Promise<unknown> {
  const answer = await t.at('POST', '/_explain', { json: body });
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}
