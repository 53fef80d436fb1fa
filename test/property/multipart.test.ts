import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { boundaryOf, fileNameOf, readParts } from '../../src/base/shared/multipart-reader.ts';

/** Multipart bodies that arrive in pieces of any size, with content that looks like boundaries, against what was put together. */

const BOUNDARY = 'b-1';
const encoder = new TextEncoder();

/** Content of which much looks like a boundary, or a part of one. */
const content = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 8 }),
      fc
        .constantFrom(
          '\r\n',
          '\r',
          '\n',
          '--',
          `--${BOUNDARY}`,
          `\r\n--b`,
          `\r\n--${BOUNDARY.slice(0, -1)}`,
          `\r\n\r\n--`,
        )
        .map((text) => encoder.encode(text)),
    ),
    { maxLength: 8 },
  )
  .map((pieces) => Buffer.concat(pieces))
  .filter((bytes) => !bytes.includes(`\r\n--${BOUNDARY}`) && !bytes.toString('latin1').startsWith(`--${BOUNDARY}`));

const part = fc.record({
  content,
  headers: fc.dictionary(fc.stringMatching(/^[A-Za-z-]{1,8}$/), fc.stringMatching(/^[ -9;-~]{0,12}$/), { maxKeys: 3 }),
});

function write(parts: readonly { content: Uint8Array; headers: Record<string, string> }[], preamble: string): Buffer {
  const pieces: Uint8Array[] = [encoder.encode(preamble)];
  for (const { headers, content: bytes } of parts) {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    pieces.push(encoder.encode(`--${BOUNDARY}\r\n${lines.join('')}\r\n`), bytes, encoder.encode('\r\n'));
  }
  pieces.push(encoder.encode(`--${BOUNDARY}--`));
  return Buffer.concat(pieces);
}

async function* inPieces(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let turn = 0;
  for (let at = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

async function readAll(source: AsyncIterable<Uint8Array>, skipped: readonly number[] = []) {
  const parts: { headers: Readonly<Record<string, string>>; content: Buffer | undefined }[] = [];
  for await (const { headers, chunks } of readParts(source, BOUNDARY, (reason) => new RangeError(reason))) {
    if (skipped.includes(parts.length)) {
      parts.push({ headers, content: undefined });
      continue;
    }
    const pieces: Uint8Array[] = [];
    for await (const chunk of chunks) pieces.push(chunk.slice());
    parts.push({ headers, content: Buffer.concat(pieces) });
  }
  return parts;
}

function inLowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.trim()]));
}

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });

describe('a multipart body', () => {
  test('has the parts it was made of, in whatever pieces it arrives', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { maxLength: 4 }),
        sizes,
        fc.constantFrom('', '\r\n', 'for old mailers\r\n'),
        async (parts, pieces, preamble) => {
          const read = await readAll(inPieces(write(parts, preamble), pieces));
          expect(read).toEqual(
            parts.map(({ headers, content: bytes }) => ({
              headers: inLowerCase(headers),
              content: Buffer.from(bytes),
            })),
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  test('has its remaining parts if some are not read', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { minLength: 1, maxLength: 4 }),
        sizes,
        fc.nat(3),
        async (parts, pieces, skipped) => {
          const read = await readAll(inPieces(write(parts, ''), pieces), [skipped]);
          expect(read.map((one) => one.content)).toEqual(
            parts.map((one, index) => (index === skipped ? undefined : Buffer.from(one.content))),
          );
        },
      ),
    );
  });

  test('that breaks off at any byte is refused', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 3 }), sizes, fc.nat(), async (parts, pieces, cut) => {
        const whole = write(parts, '');
        const broken = whole.subarray(0, cut % (whole.length - 1));
        await expect(readAll(inPieces(broken, pieces))).rejects.toThrow(RangeError);
      }),
    );
  });
});

test.each([
  ['multipart/related; boundary="a b"', 'a b'],
  ['multipart/related;boundary=abc', 'abc'],
  ['multipart/related; type="application/json"; BOUNDARY=abc; x=y', 'abc'],
  ['multipart/related; boundary="a\\"b"', 'a"b'],
])('the boundary of %s', (type, boundary) => {
  expect(boundaryOf(type)).toBe(boundary);
});

test('a type without a boundary is refused', () => {
  expect(boundaryOf('multipart/related')).toBeUndefined();
});

test.each([
  ['attachment; filename="a b.txt"', 'a b.txt'],
  ['attachment; filename=a.txt', 'a.txt'],
  ['attachment', undefined],
  [undefined, undefined],
])('the file name of %s', (disposition, name) => {
  expect(fileNameOf(disposition)).toBe(name);
});
