import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { Gzip } from '../../base/system/contract.ts';

/** Node's own gzip, which has levels; the web's `CompressionStream` has none. */
export const gzip: Gzip = (source, level) => {
  // A failure at either end ends the other, and surfaces where the result is read.
  return pipeline(Readable.from(source, { objectMode: false }), createGzip({ level }), () => undefined);
};
