import { expect, test } from 'vitest';
import { atOnce, nextTurn } from '../../../../src/base/shared/turn.ts';
import { encodeInSteps, fitsUtf8, utf8Length, utf8LengthInTurns } from '../../../../src/base/shared/utf8.ts';

test.each(['', 'plain', 'é', 'ß€', '€uro', '😀', 'a😀é€\u0000'])(
  'the UTF-8 length of %j is that of its bytes',
  (text) => {
    const { length } = new TextEncoder().encode(text);
    expect(utf8Length(text)).toBe(length);
    expect(fitsUtf8(text, length)).toBe(true);
    if (length > 0) expect(fitsUtf8(text, length - 1)).toBe(false);
  },
);

test.each([
  ['nothing', ''],
  ['ASCII', 'x'.repeat(1_100_000)],
  ['characters of two units where a step ends', `${'x'.repeat(524_287)}${'😀'.repeat(300_000)}`],
  ['characters of three bytes', '€'.repeat(700_000)],
  ['a long text in ASCII but for its end', `${'x'.repeat(600_000)}${'é€😀'.repeat(400)}`],
  ['half a pair', `${'x'.repeat(600_000)}\ud83d`],
])('a text with %s is encoded in steps as it is at once', (_what, text) => {
  expect(Buffer.compare(atOnce(encodeInSteps(text)), new TextEncoder().encode(text))).toBe(0);
});

test('a text in pieces is encoded like the whole', () => {
  const pieces = ['', 'é'.repeat(700_000), 'x', '😀'.repeat(300_000), '€'];
  const text = pieces.join('');
  expect(Buffer.compare(atOnce(encodeInSteps(text, pieces)), new TextEncoder().encode(text))).toBe(0);
});

test('a long ASCII text is not copied when it is encoded', () => {
  const bytes = atOnce(encodeInSteps('x'.repeat(2_000_000)));
  expect(bytes.buffer.byteLength).toBe(2_000_000);
});

test('the length of a short text is known at once, and that of a long one after turns of others', async () => {
  expect(utf8LengthInTurns('é'.repeat(200_000))).toBe(400_000);
  const length = utf8LengthInTurns('é'.repeat(2_000_000));
  expect(length).toBeInstanceOf(Promise);
  let isOver = false;
  void Promise.resolve(length).then(() => {
    isOver = true;
  });
  for (let hop = 0; hop < 1_000; hop++) await undefined;
  expect(isOver).toBe(false);
  await nextTurn();
  expect(await length).toBe(4_000_000);
});
