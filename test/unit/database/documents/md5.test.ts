import { hash } from 'node:crypto';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { nextTurn } from '../../../../src/base/shared/turn.ts';
import { beginMd5, md5 } from '../../../../src/database/documents/md5.ts';

test.each([
  ['', 'd41d8cd98f00b204e9800998ecf8427e'],
  ['abc', '900150983cd24fb0d6963f7d28e17f72'],
])('the MD5 of %j is that of RFC 1321, A.5', async (text, digest) => {
  expect(await md5(text)).toBe(digest);
});

test.each([262_143, 262_144, 262_145, 524_289])(
  'the MD5 of a text of %i characters, in which a step ends, is correct',
  async (length) => {
    const text = `${'x'.repeat(length - 2)}😀é${'y'.repeat(3)}`;
    expect(await md5(text)).toBe(hash('md5', text));
  },
);

test('other work has turns while the MD5 of a long text is computed', async () => {
  const text = 'x'.repeat(30_000_000);
  let turns = 0;
  let isOver = false;
  const digest = md5(text).then((made) => {
    isOver = true;
    return made;
  });
  for (; !isOver; turns++) await nextTurn();
  expect(await digest).toBe(hash('md5', text));
  expect(turns).toBeGreaterThan(4);
});

test("interleaved MD5 streams don't mix", async () => {
  const pieces = Array.from({ length: 20 }, (_, stream) =>
    Array.from({ length: 5 }, (_unused, n) => `${stream}: ${'x'.repeat(stream * 17 + n * 31)}`),
  );
  const streams = await Promise.all(pieces.map(() => beginMd5()));
  for (let n = 0; n < 5; n++) {
    for (const [index, stream] of streams.entries()) stream.update(new TextEncoder().encode(pieces[index]?.[n]));
  }
  // One that nobody ends is in nobody's way.
  (await beginMd5()).update(new Uint8Array(3));
  const digests = streams.toReversed().map((stream) => stream.digest());
  expect(digests.toReversed()).toEqual(pieces.map((texts) => hash('md5', texts.join(''))));
  expect((await beginMd5()).digest()).toBe(hash('md5', ''));
});

test('a thousand MD5 streams use one WebAssembly instance', async () => {
  const instantiate = vi.spyOn(Reflect.get(globalThis, 'WebAssembly'), 'instantiate');
  await Promise.all(Array.from({ length: 1_000 }, () => beginMd5()));
  expect(instantiate.mock.calls.length).toBeLessThan(2);
  instantiate.mockRestore();
});

describe('MD5 where WebAssembly is forbidden', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.resetModules();
  });

  /** As the module is where the policy of a page allows its own scripts alone. */
  async function withoutWasm(WebAssembly: unknown) {
    vi.resetModules();
    vi.stubGlobal('WebAssembly', WebAssembly);
    return import('../../../../src/database/documents/md5.ts');
  }

  const refusing = { compile: () => Promise.reject(new Error('Wasm code generation disallowed by embedder')) };

  test.each([
    ['refused', refusing],
    ['not there', undefined],
  ])('and %s is computed in JavaScript with the same result', async (_how, wasm) => {
    const other = await withoutWasm(wasm);
    expect(await other.md5('abc')).toBe('900150983cd24fb0d6963f7d28e17f72');
    const text = 'x'.repeat(524_289);
    expect(await other.md5(text)).toBe(hash('md5', text));
    const stream = await other.beginMd5();
    for (const piece of ['a', 'b', 'c']) stream.update(new TextEncoder().encode(piece));
    expect(stream.digest()).toBe('900150983cd24fb0d6963f7d28e17f72');
  });
});
