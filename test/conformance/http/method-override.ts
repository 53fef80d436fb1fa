import { assert } from 'chai';
import { assertJson, assertWritten } from '../../support/conformance/answer.ts';
import { suite, test } from '../../support/conformance/suite.ts';

function override(method: string): Record<string, string> {
  return { 'x-http-method-override': method };
}

/** `X-HTTP-Method-Override`, for clients that can only POST (docs/http/requests.md#method-override). */
export default suite('method_override', [
  test('POST stands for PUT', async (t) => {
    const answer = await t.at('POST', '/doc', { json: { bob: 'connie' }, headers: override('PUT') });
    const rev = assertWritten(answer, 201, 'doc');
    assertJson(await t.get('/doc'), 200, { _id: 'doc', _rev: rev, bob: 'connie' });
  }),

  test('POST stands for GET', async (t) => {
    const rev = await t.put('doc', { value: 1 });
    assertJson(await t.at('POST', '/doc', { headers: override('GET') }), 200, { _id: 'doc', _rev: rev, value: 1 });
  }),

  test('POST stands for DELETE', async (t) => {
    const rev = await t.put('doc', {});
    const answer = await t.at('POST', `/doc?rev=${rev}`, { headers: override('DELETE') });
    assertWritten(answer, 200, 'doc');
    assert.equal((await t.get('/doc')).status, 404);
  }),

  test('POST stands for COPY', async (t) => {
    await t.put('doc', { value: 1 });
    const answer = await t.at('POST', '/doc', { headers: { ...override('COPY'), destination: 'copy' } });
    assertWritten(answer, 201, 'copy');
  }),

  test('POST stands for HEAD, and leaves the connection usable', async (t) => {
    const rev = await t.put('doc', { value: 1 });
    for (let round = 0; round < 3; round += 1) {
      const answer = await t.at('POST', '/doc', { headers: override('HEAD') });
      assert.deepEqual({ status: answer.status, text: answer.text }, { status: 200, text: '' });
      assert.equal(answer.header('etag'), `"${rev}"`);
      assertJson(await t.get('/doc'), 200, { _id: 'doc', _rev: rev, value: 1 });
    }
  }),

  test('the header is ignored on any method except POST', async (t) => {
    const rev = await t.put('doc', { value: 1 });
    const read = await t.get(`/doc?rev=${rev}`, override('DELETE'));
    assertJson(read, 200, { _id: 'doc', _rev: rev, value: 1 });
    const written = await t.at('PUT', '/other', { json: {}, headers: override('DELETE') });
    assert.equal(written.status, 201);
    assert.equal((await t.get('/doc')).status, 200);
  }),

  test('an unknown method name is ignored', async (t) => {
    const answer = await t.at('POST', '', { json: { _id: 'doc' }, headers: override('PATCH') });
    assertWritten(answer, 201, 'doc');
  }),
]);
