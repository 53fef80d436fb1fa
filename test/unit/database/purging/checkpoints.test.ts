import { describe, expect, test } from 'vitest';
import { readCheckpoint } from '../../../../src/database/purging/checkpoints.ts';

describe('checkpoints in _local documents (docs/http/databases.md#peers-of-a-database)', () => {
  test('of Settee say which end stores them', async () => {
    const body =
      '{"side":"source","session_id":"s","source_last_seq":12,"history":[{"session_id":"s","recorded_seq":12}]}';
    expect(await readCheckpoint(body)).toEqual({ side: 'source', seq: 12 });
    expect(await readCheckpoint(body.replace('source"', 'target"'))).toEqual({ side: 'target', seq: 12 });
  });

  test('of CouchDB and PouchDB do not', async () => {
    const couchdb = '{"session_id":"s","source_last_seq":7,"replication_id_version":4,"history":[]}';
    expect(await readCheckpoint(couchdb)).toEqual({ side: 'unknown', seq: 7 });
    const pouchdb =
      '{"session_id":"S","history":[{"last_seq":9,"session_id":"S"}],"replicator":"pouchdb","version":1,"last_seq":9}';
    expect(await readCheckpoint(pouchdb)).toEqual({ side: 'unknown', seq: 9 });
  });

  test.each([
    ['"12"', 12],
    ['null', 0],
    ['"12-g1AAAA"', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['[3]', undefined],
  ])('with the sequence %s are at %s', async (seq, expected) => {
    const body = `{"session_id":"s","source_last_seq":${seq},"history":[]}`;
    expect(await readCheckpoint(body)).toEqual({ side: 'unknown', seq: expected });
  });

  test.each([
    '{}',
    '{"n":1}',
    '{"session_id":"s","history":[]}',
    '{"session_id":"s","last_seq":1,"history":{}}',
    '{"session_id":5,"last_seq":1,"history":[]}',
    '{"note":"\\"session_id\\" and \\"history\\""}',
  ])('%s is another document', async (body) => {
    expect(await readCheckpoint(body)).toBeUndefined();
  });
});
