/** Compresses and decompresses gzip streams with the platform's own streams; only those streams buffer bytes. */
import { DatabaseError } from '../../base/errors/database-error.ts';
import type { Gzip } from '../../base/system/contract.ts';

/** The bytes as gzip, at the platform's level. */
export const compress: Gzip = (source) => through(source, new CompressionStream('gzip'));

/** Yields the decompressed bytes. Fails with `bad_request` if the gzip data is invalid or incomplete. */
export async function* decompress(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* through(source, new DecompressionStream('gzip'));
  } catch (cause) {
    if (cause instanceof DatabaseError) throw cause;
    throw new DatabaseError('bad_request', 'The attachment is not valid gzip data.', { cause });
  }
}

async function* through(
  source: AsyncIterable<Uint8Array>,
  { writable, readable }: CompressionStream | DecompressionStream,
): AsyncGenerator<Uint8Array> {
  const reader = readable.getReader();
  const fed = feed(source, writable.getWriter());
  // If the reader fails first, this promise rejects for the same reason.
  fed.catch(() => undefined);
  try {
    for (let step = await reader.read(); !step.done; step = await reader.read()) yield step.value;
    await fed;
  } catch (failure) {
    // The source's own error says more than the error that it caused.
    await fed;
    throw failure;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function feed(
  source: AsyncIterable<Uint8Array>,
  writer: CompressionStream['writable'] extends WritableStream<infer C> ? WritableStreamDefaultWriter<C> : never,
): Promise<void> {
  try {
    for await (const chunk of source) {
      await writer.ready;
      await writer.write(chunk as Uint8Array<ArrayBuffer>);
    }
    await writer.close();
  } catch (failure) {
    await writer.abort(failure).catch(() => undefined);
    throw failure;
  }
}
