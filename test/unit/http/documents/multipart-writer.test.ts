import { expect, test } from 'vitest';
import { multipartType, partPieces, partText } from '../../../../src/http/documents/mixed-answer.ts';

test('a part ends with its boundary, and has its type', () => {
  const part = { type: 'application/json; error="true"', text: '{"missing":"2-b"}' };
  expect(partText(part, 'B')).toBe('\r\nContent-Type: application/json; error="true"\r\n\r\n{"missing":"2-b"}\r\n--B');
});

test('a part in pieces is written like a whole one', async () => {
  async function* pieces() {
    yield '{"a"';
    yield ':1}';
  }
  let text = '';
  for await (const piece of partPieces('application/json', pieces(), 'B')) text += piece;
  expect(text).toBe(partText({ type: 'application/json', text: '{"a":1}' }, 'B'));
});

test('the content type names the boundary', () => {
  expect(multipartType('B')).toBe('multipart/mixed; boundary="B"');
});
