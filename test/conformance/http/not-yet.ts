import { assert } from 'chai';
import type { Answer } from '../../support/conformance/answer.ts';
import { assertJson } from '../../support/conformance/answer.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

function assertNotImplemented(answer: Answer): void {
  assert.equal(answer.status, 501, answer.text);
  assert.equal(at(answer.json, 'error'), 'not_implemented');
  assert.isNotEmpty(at(answer.json, 'reason'));
}

/** What this version can't do is refused as a whole, not done by halves. */
export default suite('not_yet', [
  test('an empty list of attachments is none', async (t) => {
    const rev = await t.put('doc', { _attachments: {} });
    assertJson(await t.get('/doc'), 200, { _id: 'doc', _rev: rev });
  }),

  test('multipart/related is not taken', async (t) => {
    const body =
      '--b\r\nContent-Type: application/json\r\n\r\n{"n":1}\r\n' +
      '--b\r\nContent-Disposition: attachment; filename="a"\r\n\r\nhello\r\n--b--';
    const headers = { 'content-type': 'multipart/related; boundary="b"' };
    assertNotImplemented(await t.at('PUT', '/doc', { body, headers }));
    assert.deepInclude(await t.info(), { doc_count: 0, update_seq: 0 });
  }),

  test('what others ask of a server that is one of many', async (t) => {
    for (const path of ['/_membership', '/_cluster_setup', '/_scheduler/jobs', '/_node/_local/_config/log/level']) {
      assertNotImplemented(await t.request('GET', path));
    }
  }),
]);
