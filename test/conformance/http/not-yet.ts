import { assert } from 'chai';
import { type Answer, assertJson } from '../../support/conformance/answer.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

function assertNotImplemented(answer: Answer): void {
  assert.equal(answer.status, 501, answer.text);
  assert.equal(at(answer.json, 'error'), 'not_implemented');
  assert.isNotEmpty(at(answer.json, 'reason'));
}

/** What this version can't do is refused as a whole, not done by halves. */
export default suite('not_yet', [
  test('an empty list of attachments counts as none', async (t) => {
    const rev = await t.put('doc', { _attachments: {} });
    assertJson(await t.get('/doc'), 200, { _id: 'doc', _rev: rev });
  }),

  test('requests for OAuth tokens are answered 501', async (t) => {
    for (const path of ['/_oauth/request_token', '/_oauth/authorize', '/_oauth/access_token']) {
      assertNotImplemented(await t.request('GET', path));
      assertNotImplemented(await t.request('POST', path));
    }
  }),
]);
