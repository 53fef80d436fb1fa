import { hash } from 'node:crypto';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { md5 } from '../../../src/documents/md5.ts';
import { nextTurn } from '../../../src/shared/turn.ts';

test.each([
  ['', 'd41d8cd98f00b204e9800998ecf8427e'],
  ['abc', '900150983cd24fb0d6963f7d28e17f72'],
])('the MD5 of %j (RFC 1321, A.5)', async (text, digest) => {
  expect(await md5(text)).toBe(digest);
});

test.each([262_143, 262_144, 262_145, 524_289])('of a text of %i characters in which a step ends', async (length) => {
  const text = `${'x'.repeat(length - 2)}😀é${'y'.repeat(3)}`;
  expect(await md5(text)).toBe(hash('md5', text));
});

test('others have turns while that of a long text is made', async () => {
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

describe('where WebAssembly is forbidden', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.resetModules();
  });

  /** As the module is where the policy of a page allows its own scripts alone. */
  async function withoutWasm(WebAssembly: unknown) {
    vi.resetModules();
    vi.stubGlobal('WebAssembly', WebAssembly);
    return import('../../../src/documents/md5.ts');
  }

  const refusing = { compile: () => Promise.reject(new Error('Wasm code generation disallowed by embedder')) };

  test.each([
    ['refused', refusing],
    ['not there', undefined],
  ])('and %s, JavaScript gives the same digests', async (_how, wasm) => {
    const other = await withoutWasm(wasm);
    expect(await other.md5('abc')).toBe('900150983cd24fb0d6963f7d28e17f72');
    const text = 'x'.repeat(524_289);
    expect(await other.md5(text)).toBe(hash('md5', text));
    const stream = await other.beginMd5();
    for (const piece of ['a', 'b', 'c']) stream.update(new TextEncoder().encode(piece));
    expect(stream.digest()).toBe('900150983cd24fb0d6963f7d28e17f72');
  });
});
