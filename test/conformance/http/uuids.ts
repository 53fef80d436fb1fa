import { assert } from 'chai';
import { assertAllowed, assertError } from '../../support/conformance/answer.ts';
import { arrayAt, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

async function uuids(t: Toolkit, count: number): Promise<string[]> {
  const answer = await t.request('GET', `/_uuids?count=${count}`);
  assert.equal(answer.status, 200);
  assert.hasAllKeys(answer.json, ['uuids']);
  return arrayAt(answer.json, 'uuids').map(String);
}

/** Microseconds since the epoch of a `utc_…` uuid: its first 14 digits. */
function microseconds(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 14), 16);
}

/** `_uuids` (docs/http/server.md#uuids). */
export default suite('uuids', [
  test('one uuid is returned by default, never the same again, with headers against caching', async (t) => {
    const first = await t.request('GET', '/_uuids');
    assert.equal(first.status, 200);
    assert.lengthOf(arrayAt(first.json, 'uuids'), 1);
    const second = await t.request('GET', '/_uuids');
    assert.notDeepEqual(first.json, second.json);
    assert.include(first.header('cache-control'), 'no-cache');
    assert.equal(first.header('pragma'), 'no-cache');
    assert.isBelow(Date.parse(first.header('expires') ?? ''), Date.now());
    assert.match(first.header('etag') ?? '', /^"[0-9a-z]+"$/i);
    assert.notEqual(first.header('etag'), second.header('etag'));
  }),

  test('count uuids are returned, all different', async (t) => {
    const many = await uuids(t, 1000);
    assert.lengthOf(many, 1000);
    assert.equal(new Set(many).size, 1000);
    for (const uuid of many) assert.match(uuid, /^[0-9a-f]{32}$/);
    assert.deepEqual(await uuids(t, 0), []);
  }),

  test('more than a thousand uuids at once are refused', async (t) => {
    assertError(await t.request('GET', '/_uuids?count=1001'), 403, 'forbidden', 'count parameter too large');
  }),

  test('an invalid count is refused', async (t) => {
    for (const count of ['many', '-1', '1.5']) {
      const answer = await t.request('GET', `/_uuids?count=${count}`);
      assert.equal(answer.status, 400, count);
    }
  }),

  test('only GET is allowed', async (t) => {
    assertAllowed(await t.request('POST', '/_uuids'), 'GET');
    assertAllowed(await t.request('DELETE', '/_uuids'), 'GET');
  }),

  test('consecutive uuids have one prefix and rise by default', async (t) => {
    const many = await uuids(t, 100);
    assert.equal(new Set(many.map((uuid) => uuid.slice(0, 26))).size, 1);
    assert.deepEqual(many.toSorted(), many);
  }),

  test('documents that are created without an id get such uuids', async (t) => {
    const rows = await t.bulk([{ n: 1 }, { n: 2 }, { n: 3 }]);
    const ids = rows.map((row) => stringAt(row, 'id'));
    for (const id of ids) assert.match(id, /^[0-9a-f]{32}$/);
    assert.equal(new Set(ids.map((id) => id.slice(0, 26))).size, 1);
    assert.deepEqual(ids.toSorted(), ids);
  }),

  test(
    'algorithm random: 32 random digits',
    async (t) => {
      const other = await t.withSettings({ uuids: { algorithm: 'random' } });
      const many = await uuids(other, 50);
      assert.isAbove(new Set(many.map((uuid) => uuid.slice(0, 2))).size, 5);
      for (const uuid of many) assert.match(uuid, /^[0-9a-f]{32}$/);
    },
    { needs: ['settings'] },
  ),

  test(
    'algorithm utc_random: 14 digits of time, then random ones',
    async (t) => {
      const other = await t.withSettings({ uuids: { algorithm: 'utc_random' } });
      const before = Date.now() * 1000;
      const [first = '', second = ''] = await uuids(other, 2);
      assert.match(first, /^[0-9a-f]{32}$/);
      assert.isAtLeast(microseconds(first), before);
      assert.isAtMost(microseconds(second), Date.now() * 1000 + 1_000_000);
      assert.notEqual(first.slice(14), second.slice(14));
    },
    { needs: ['settings'] },
  ),

  test(
    'algorithm utc_id: 14 digits of time, then the configured suffix',
    async (t) => {
      const other = await t.withSettings({ uuids: { algorithm: 'utc_id', utc_id_suffix: 'mine' } });
      const [first = '', second = ''] = await uuids(other, 2);
      assert.match(first, /^[0-9a-f]{14}mine$/);
      assert.notEqual(first, second);
    },
    { needs: ['settings'] },
  ),

  test(
    'uuids stay unique and rising when the clock is set back',
    async (t) => {
      const other = await t.withSettings({ uuids: { algorithm: 'utc_random' } });
      assert(other.host.moveClock);
      const before = await uuids(other, 10);
      other.host.moveClock(-3_600_000);
      const after = await uuids(other, 10);
      assert.equal(new Set([...before, ...after]).size, 20);
    },
    { needs: ['settings', 'clock'] },
  ),
]);
