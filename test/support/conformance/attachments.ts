/** Attachments as the cases of the HTTP interface use them. */
import { assert } from 'chai';
import type { Answer } from './answer.ts';
import { stringAt } from './json.ts';
import type { Toolkit } from './toolkit.ts';

/** MD5 of `hello`, in Base64. */
export const HELLO_MD5 = 'XUFAKrxLKna5cZ2REBfFkg==';
export const BINARY = 'image/png';

export async function putAttachment(
  t: Toolkit,
  path: string,
  body: string | Uint8Array,
  type = BINARY,
): Promise<string> {
  const answer = await t.at('PUT', path, { body, headers: { 'content-type': type } });
  assert.equal(answer.status, 201, answer.text);
  return stringAt(answer.json, 'rev');
}

export function assertHello(answer: Answer): void {
  assert.equal(answer.status, 200);
  assert.equal(answer.text, 'hello');
}
