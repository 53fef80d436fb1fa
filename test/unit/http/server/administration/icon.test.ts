import { inflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { ask, openCore } from '../../support.ts';

const PNG_SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

test('the icon is an ICO of complete PNGs of 16 and 32 pixels, cacheable for a year', async () => {
  const core = await openCore();
  const { status, headers, body } = await ask(core, 'GET /favicon.ico');
  expect([status, headers['content-type'], headers['cache-control']]).toEqual([
    200,
    'image/x-icon',
    'public, max-age=31536000',
  ]);
  if (!(body instanceof Uint8Array)) throw new Error('an icon is bytes');
  const view = new DataView(body.buffer, body.byteOffset, body.length);
  expect([view.getUint16(0, true), view.getUint16(2, true), view.getUint16(4, true)]).toEqual([0, 1, 2]);
  for (const [index, size] of [16, 32].entries()) {
    const entry = 6 + 16 * index;
    expect([view.getUint8(entry), view.getUint8(entry + 1)]).toEqual([size, size]);
    const start = view.getUint32(entry + 12, true);
    const png = body.subarray(start, start + view.getUint32(entry + 8, true));
    expect([...png.subarray(0, 8)]).toEqual(PNG_SIGNATURE);
    // Behind signature and header (8 + 25 bytes) the image data: each row has a filter byte, and four bytes a pixel.
    const data = new DataView(png.buffer, png.byteOffset + 33, png.length - 33);
    expect(String.fromCharCode(...png.subarray(37, 41))).toBe('IDAT');
    expect(inflateSync(png.subarray(41, 41 + data.getUint32(0))).length).toBe(size * (1 + 4 * size));
  }
  await core.close();
});
