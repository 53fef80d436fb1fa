import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/base/json/objects.ts';
import { parseBody, refusedIn, stateOf, withState } from '../../../../src/replication/documents/state-members.ts';

describe('the text of a document with its state', () => {
  test('keeps other members as written', () => {
    const body = '{"n":1.50,"source":"a","_replication_state":"error","deep":{"_replication_id":"x"},"s":"\\u00e9"}';
    expect(withState(body, { _replication_state: 'completed', _replication_id: 'id' })).toBe(
      '{"n":1.50,"source":"a","deep":{"_replication_id":"x"},"s":"\\u00e9","_replication_state":"completed","_replication_id":"id"}',
    );
  });

  test('replaces the old state members, in any spelling of their names', () => {
    const body = '{"_replication_state_reason":"old","\\u005freplication_stats":{},"a":1}';
    expect(withState(body, {})).toBe('{"a":1}');
    expect(withState('{}', {})).toBe('{}');
    expect(withState('{}', { _replication_stats: { docs_read: 1 } })).toBe('{"_replication_stats":{"docs_read":1}}');
  });
});

test('invalid state members in a document are ignored, as any user could have written them', async () => {
  const body = await parseBody('{"_replication_state":"odd","_replication_id":7,"_replication_stats":[]}');
  expect(stateOf(body)).toEqual({});
  const refused = { id: 'd', rev: '1-x', error: 'forbidden', reason: 'no' };
  const refusals = (stats: JsonObject) => refusedIn({ _replication_stats: stats });
  const one = { documents: [refused], count: 1 };
  expect(refusals({ refused: [refused, {}, null, 'x', { ...refused, rev: 1 }] })).toEqual(one);
  for (const odd of [0, -1, 1e300, 1.5, '7', null]) {
    expect(refusals({ refused_count: odd, refused: [refused] })).toEqual(one);
  }
  expect(refusals({ refused_count: 7, refused: [refused] })).toEqual({ documents: [refused], count: 7 });
  expect(refusals({ refused: {} })).toEqual({ documents: [], count: 0 });
  expect(refusedIn({})).toEqual({ documents: [], count: 0 });
});
