import { assert } from 'chai';
import { fakeRev, replicated } from '../../../support/conformance/fake-revisions.ts';
import { arrayAt, numberAt, parseJson } from '../../../support/conformance/json.ts';
import type { RequestOptions, Toolkit } from '../../../support/conformance/toolkit.ts';

/** Steps that the cases about changes begin with. */

interface Changes {
  readonly rows: readonly unknown[];
  /** The rows as they were written. */
  readonly text: readonly string[];
  readonly lastSeq: number;
  readonly pending: number;
}

/** What is listed with these parameters; the answer must be 200 and have the frame of a normal feed. */
export async function changes(t: Toolkit, parameters: string, options: RequestOptions = {}): Promise<Changes> {
  const method = 'json' in options || 'body' in options ? 'POST' : 'GET';
  const answer = await t.at(method, `/_changes?${parameters}`, options);
  assert.equal(answer.status, 200, answer.text);
  return readChanges(answer.text);
}

export function readChanges(text: string): Changes {
  const value = parseJson(text);
  assert.hasAllKeys(value, ['results', 'last_seq', 'pending']);
  const lines = text.split('\n').slice(1, -3);
  return {
    rows: arrayAt(value, 'results'),
    text: lines.flatMap((line) => (line === '' ? [] : line.replace(/,$/, ''))),
    lastSeq: numberAt(value, 'last_seq'),
    pending: numberAt(value, 'pending'),
  };
}

/** `b`, `a` and `c` at the sequence numbers 1 to 3, with the revisions `1-a…`, `1-b…`, `1-c…`. */
export async function threeDocuments(t: Toolkit): Promise<void> {
  await t.replicate([
    replicated('b', 1, 'a', { n: 1 }),
    replicated('a', 1, 'b', { n: 2 }),
    replicated('c', 1, 'c', { n: 3 }),
  ]);
}

/** The row of a document of one revision, whose hash is all `digit`. */
export function rowText(seq: number, id: string, digit: string): string {
  return `{"seq":${seq},"id":"${id}","changes":[{"rev":"${fakeRev(1, digit)}"}]}`;
}
