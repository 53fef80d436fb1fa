import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { isGzip } from '../../packages/transfer/format.ts';
import { InputError } from './document-splitter.ts';

/** A file, or standard input, that is read as text. */
export interface TextInput {
  /** The size of the file, compressed if it is; undefined for standard input. */
  readonly totalBytes: number | undefined;
  /** How many of these bytes have been read so far. */
  readonly readBytes: number;
  /** The decompressed text in pieces. Fails with `InputError` if it is not UTF-8, or not readable. */
  text(): AsyncGenerator<string>;
}

/** Opens a path, or standard input for `-`. Gzip is recognized by its first bytes. */
export async function openInput(file: string, stdin: AsyncIterable<Uint8Array | string>): Promise<TextInput> {
  let readBytes = 0;
  async function* counted(): AsyncGenerator<Buffer> {
    const source: AsyncIterable<Uint8Array | string> =
      file === '-' ? stdin : createReadStream(file, { highWaterMark: 256 * 1024 });
    for await (const chunk of source) {
      readBytes += chunk.length;
      yield Buffer.from(chunk);
    }
  }
  return {
    totalBytes: file === '-' ? undefined : await sizeOf(file),
    get readBytes() {
      return readBytes;
    },
    text: () => toText(decompressed(counted()), file),
  };
}

async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    throw new InputError(`${file} can't be read: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

async function* decompressed(chunks: AsyncGenerator<Buffer>): AsyncGenerator<Uint8Array> {
  const { value: first, done } = await chunks.next();
  if (done) return;
  const all = prepended(first, chunks);
  if (!isGzip(first)) {
    yield* all;
    return;
  }
  const source = Readable.from(all);
  const gunzip = createGunzip();
  source.on('error', (error) => gunzip.destroy(error));
  yield* source.pipe(gunzip);
}

async function* prepended(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

async function* toText(chunks: AsyncGenerator<Uint8Array>, file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true });
    yield decoder.decode();
  } catch (error) {
    const name = file === '-' ? 'Standard input' : file;
    throw new InputError(`${name} can't be read: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}
