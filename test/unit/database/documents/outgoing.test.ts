import { describe, expect, test } from 'vitest';
import { metaText, writeDocument } from '../../../../src/database/documents/outgoing.ts';
import { parseRevId } from '../../../../src/database/documents/revisions/revisions.ts';

const plain = { id: 'a', rev: '1-x', deleted: false, body: '{"n":1.0,"b":[]}' };

describe('an outgoing document', () => {
  test('has its id and revision before the unchanged body', () => {
    expect(writeDocument(plain)).toBe('{"_id":"a","_rev":"1-x","n":1.0,"b":[]}');
  });

  test('can have an empty body', () => {
    expect(writeDocument({ ...plain, body: '{}' })).toBe('{"_id":"a","_rev":"1-x"}');
    expect(writeDocument({ ...plain, body: '{}', deleted: true })).toBe('{"_id":"a","_rev":"1-x","_deleted":true}');
  });

  test('has its id as JSON, with lone surrogates escaped', () => {
    expect(writeDocument({ ...plain, id: 'a"\\\n\ud800é', rev: '1-"', body: '{}' })).toBe(
      '{"_id":"a\\"\\\\\\n\\ud800é","_rev":"1-\\""}',
    );
  });

  test('has the requested members in their order', () => {
    const members = metaText({
      deletedConflicts: [parseRevId('3-e')],
      conflicts: [parseRevId('2-"'), parseRevId('2-d')],
      localSeq: 12,
      revsInfo: [
        { rev: parseRevId('2-x'), status: 'available' as const },
        { rev: parseRevId('1-"'), status: 'missing' as const },
      ],
      revisions: { start: 2, ids: ['x', '"'] },
    });
    expect(writeDocument({ ...plain, deleted: true, members })).toBe(
      '{"_id":"a","_rev":"1-x","_deleted":true,"_revisions":{"start":2,"ids":["x","\\""]},' +
        '"_revs_info":[{"rev":"2-x","status":"available"},{"rev":"1-\\"","status":"missing"}],"_local_seq":12,' +
        '"_conflicts":["2-\\"","2-d"],"_deleted_conflicts":["3-e"],"n":1.0,"b":[]}',
    );
  });

  test('has no empty list of conflicts', () => {
    const members = metaText({ conflicts: [], deletedConflicts: [], localSeq: 0 });
    expect(writeDocument({ ...plain, members })).toBe('{"_id":"a","_rev":"1-x","_local_seq":0,"n":1.0,"b":[]}');
  });
});
