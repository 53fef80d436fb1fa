import { expect, test } from 'vitest';
import { multipartText, multipartType, type Part } from '../../../../src/http/response/multipart-writer.ts';

async function write(batches: readonly (readonly Part[])[]): Promise<string> {
  async function* parts() {
    yield* batches;
  }
  let text = '';
  for await (const piece of multipartText('B', parts())) text += piece;
  return text;
}

test('parts stand between boundaries, each with its type', async () => {
  const text = await write([
    [
      { type: 'application/json', text: '{"a":1}' },
      { type: 'application/json; error="true"', text: '{"missing":"2-b"}' },
    ],
    [{ type: 'application/json', text: '{}' }],
  ]);
  expect(text).toBe(
    '--B\r\nContent-Type: application/json\r\n\r\n{"a":1}' +
      '\r\n--B\r\nContent-Type: application/json; error="true"\r\n\r\n{"missing":"2-b"}' +
      '\r\n--B\r\nContent-Type: application/json\r\n\r\n{}' +
      '\r\n--B--',
  );
});

test('no parts at all', async () => {
  expect(await write([])).toBe('--B--');
});

test('the type names the boundary', () => {
  expect(multipartType('B')).toBe('multipart/mixed; boundary="B"');
});
