import { describe, expect, test } from 'vitest';
import { lookInto } from '../../../../src/admin/storage/read-file.ts';

const LINES = '{"_id":"a"}\nno JSON\n\n{"_id":"b"}\n{"_id":"c"}\n';

describe('a look into a file before its import', () => {
  test('counts documents and other lines, and keeps the first of them', async () => {
    const { first, documents, others, share } = await lookInto(new Blob([LINES]), 2);
    expect(first.map(({ line, text }) => [line, text])).toEqual([
      [1, '{"_id":"a"}'],
      [2, 'no JSON'],
    ]);
    expect([documents, others, share]).toEqual([3, 1, 1]);
  });

  test('counts the documents of a list', async () => {
    const list = new Blob(['{"docs": [{"_id": "a"}, 1, {"_id": "b"}]}']);
    expect(await lookInto(list, 1)).toMatchObject({ documents: 2, others: 1, share: 1 });
  });

  test('stops in a long file, and says how much of it was looked at', async () => {
    const line = `${JSON.stringify({ _id: 'a' })}\n`;
    const { documents, share } = await lookInto(new Blob([line.repeat(100)]), 2, 25);
    expect([documents, share]).toEqual([25, 0.25]);
  });

  test('finds nothing in an empty file', async () => {
    expect(await lookInto(new Blob(['\n']), 2)).toEqual({ first: [], documents: 0, others: 0, share: 1 });
  });
});
