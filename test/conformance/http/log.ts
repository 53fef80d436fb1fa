import { assert } from 'chai';
import { assertAllowed, assertError, assertJson } from '../../support/conformance/answer.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

async function write(t: Toolkit, message: string, level = 'info'): Promise<void> {
  assertJson(await t.request('POST', '/_log', { json: { level, message } }), 200, { ok: true });
}

async function read(t: Toolkit, query = ''): Promise<string> {
  const answer = await t.request('GET', `/_log${query}`);
  assert.equal(answer.status, 200);
  assert.equal(answer.header('content-type'), 'text/plain; charset=utf-8');
  return answer.text;
}

/** The service's log, over HTTP (docs/http.md#log). */
export default suite('log', [
  test('what is written is read', async (t) => {
    await write(t, `a message of ${t.db}`);
    assert.match(await read(t), new RegExp(`\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z \\[info\\] a message of ${t.db}\\n$`));
  }),

  test('so many bytes, so far from the end', async (t) => {
    await write(t, 'the first entry');
    await write(t, 'the second entry');
    assert.equal(await read(t, '?bytes=6'), 'entry\n');
    assert.equal(await read(t, '?bytes=6&offset=6'), 'econd ');
    assert.equal(await read(t, '?bytes=0'), '');
    assert.equal(await read(t, '?bytes=5&offset=100000000'), '');
    assert.include(await read(t, '?bytes=1000000'), '[info] the first entry\n');
  }),

  test('a character that is cut in two is left out', async (t) => {
    await write(t, 'Größe 😀');
    assert.equal(await read(t, '?bytes=4'), '\n');
    assert.equal(await read(t, '?bytes=5'), '😀\n');
    assert.equal(await read(t, '?bytes=4&offset=3'), 'e ');
    assert.equal(await read(t, '?bytes=4&offset=6'), 'ße');
  }),

  test('no more than a million bytes at once', async (t) => {
    const reason = "'bytes' cannot exceed 1000000";
    assertError(await t.request('GET', '/_log?bytes=1000001'), 400, 'bad_request', reason);
    assert.equal((await t.request('GET', '/_log?bytes=-1')).status, 400);
    assert.equal((await t.request('GET', '/_log?offset=x')).status, 400);
  }),

  test('a level that is none is refused, and so is what is no message', async (t) => {
    const loud = await t.request('POST', '/_log', { json: { level: 'loud', message: 'x' } });
    assert.equal(loud.status, 400);
    assert.equal(at(loud.json, 'error'), "Unrecognized log level 'loud'");
    for (const json of [
      { level: 'info' },
      { level: 'info', message: 7 },
      { level: 'info', message: 'x'.repeat(65_537) },
    ]) {
      assert.equal((await t.request('POST', '/_log', { json })).status, 400);
    }
    assertError(
      await t.request('POST', '/_log', { json: [] }),
      400,
      'bad_request',
      'Request body must be a JSON object',
    );
  }),

  test('an entry looks like no other: its control characters are escaped', async (t) => {
    await write(t, 'one\n2026-01-31T12:00:00.000Z [error] two\u001b[31m');
    const last = (await read(t, '?bytes=1000000')).trimEnd().split('\n').at(-1) ?? '';
    assert.match(last, /\[info\] one\S+2026-01-31T12:00:00\.000Z \[error\] two/);
    assert.notInclude(last, '\u001b');
  }),

  test('less than the level is not written', async (t) => {
    await write(t, `hidden ${t.db}`, 'debug');
    assert.notInclude(await read(t, '?bytes=1000000'), `hidden ${t.db}`);
  }),

  test('GET and POST alone', async (t) => {
    assertAllowed(await t.request('PUT', '/_log', { json: {} }), 'GET,POST');
    assertAllowed(await t.request('DELETE', '/_log'), 'GET,POST');
  }),
]);
