/** The compressors of Node with the parameters that responses use: little memory and processor time for each (docs/operations.md#compression). */
import {
  type BrotliCompress,
  type BrotliOptions,
  constants,
  createBrotliCompress,
  createGzip,
  type Gzip,
  type ZlibOptions,
} from 'node:zlib';

export const CODINGS = ['br', 'gzip'] as const;
export type Coding = (typeof CODINGS)[number];

/** At higher levels JSON becomes some per cent shorter, for twice the time. */
const GZIP_LEVEL = 4;
/** For whole bodies. It takes less than half the time of gzip, for the same length, but after each flush it starts again from nothing. */
const BROTLI_QUALITY = 1;
/** The lowest one that refers to what was flushed before. */
const FLUSHED_BROTLI_QUALITY = 2;
/** Bits of the window: 16 kB, of which gzip takes 128 kB with its other tables. */
const GZIP_WINDOW = 14;
const MIN_GZIP_WINDOW = 10;
const BROTLI_WINDOW = 16;
/** Bytes that a compressor has for its output. */
const CHUNK_BYTES = 4_096;

/** For a body of that many bytes. A short one needs no large window, whose preparation would take longer than the work. */
export function wholeOptions(bytes: number): { readonly ofBrotli: BrotliOptions; readonly ofGzip: ZlibOptions } {
  const windowBits = Math.min(GZIP_WINDOW, Math.max(MIN_GZIP_WINDOW, Math.ceil(Math.log2(bytes))));
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes,
  };
  return { ofBrotli: { params }, ofGzip: { level: GZIP_LEVEL, windowBits, memLevel: windowBits - 7 } };
}

export function createCompressor(coding: Coding): Gzip | BrotliCompress {
  if (coding === 'gzip') {
    return createGzip({
      level: GZIP_LEVEL,
      windowBits: GZIP_WINDOW,
      memLevel: GZIP_WINDOW - 7,
      chunkSize: CHUNK_BYTES,
    });
  }
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: FLUSHED_BROTLI_QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: BROTLI_WINDOW,
  };
  return createBrotliCompress({ params, chunkSize: CHUNK_BYTES });
}
