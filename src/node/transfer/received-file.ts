import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { isDatabaseError } from '../../base/errors/database-error.ts';
import {
  type AttachmentFolder,
  digestOfFile,
  type FileRecord,
  mismatch,
  toDigest,
  toFileName,
} from './attachment-folder.ts';
import type { Stub } from './document-text.ts';
import type { RemoteDatabase } from './remote-database.ts';

/** An attachment of one revision of a document. */
export interface Wanted {
  readonly id: string;
  readonly rev: string | undefined;
  readonly stub: Stub;
}

/** The received bytes are not the attachment. */
export class ContentError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ContentError';
  }
}

/** The record of a file that already is the attachment, from an earlier export; undefined if there is none. */
export async function presentFile(
  folder: AttachmentFolder,
  { id, stub }: Wanted,
  before: FileRecord | undefined,
): Promise<FileRecord | undefined> {
  const status = await folder.statusOf(id, stub.name);
  // Without a digest nothing would show whether it is the same.
  if (status === undefined || stub.digest === undefined || status.size !== stub.length) return undefined;
  const md5 = await digestOfFile(folder.fileOf(id, stub.name));
  return mismatch(stub, status.size, md5, before) === undefined ? toRecord(stub, status.size, md5) : undefined;
}

/**
 * Writes the plain bytes of an attachment to its file as they arrive. Fails with `RefusalError`, and with `ContentError` if they do not
 * match the stub; the file then stays as it was.
 *
 * @param onBytes called with the number of plain bytes so far
 */
export async function receiveFile(
  database: RemoteDatabase,
  folder: AttachmentFolder,
  { id, rev, stub }: Wanted,
  onBytes: (length: number) => void,
): Promise<FileRecord> {
  const content = new Content(stub, onBytes);
  return folder.replace(folder.fileOf(id, stub.name), async (path) => {
    const file = await open(path, 'wx');
    try {
      const { encoding, chunks } = await database.readAttachment(id, rev, stub.name);
      const stored = Readable.from(content.stored(chunks));
      const target = file.createWriteStream();
      if (encoding === 'identity') await pipeline(stored, content.plain, target);
      else await pipeline(stored, createGunzip(), content.plain, target);
      return content.record();
    } catch (error) {
      throw isGzipError(error) ? new ContentError(`its gzip can't be decoded: ${error.message}`) : error;
    } finally {
      await file.close();
    }
  });
}

/** Checks an attachment on its way, both as stored and as plain bytes. */
class Content {
  readonly #stub: Stub;
  readonly #onBytes: (length: number) => void;
  readonly #stored = createHash('md5');
  readonly #plain = createHash('md5');
  #length = 0;

  constructor(stub: Stub, onBytes: (length: number) => void) {
    this.#stub = stub;
    this.#onBytes = onBytes;
  }

  async *stored(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of chunks) {
        this.#stored.update(chunk);
        yield chunk;
      }
    } catch (error) {
      // The bytes of one attachment may be damaged at the server. If the server is gone, the next request finds out.
      throw isDatabaseError(error) ? new ContentError(error.reason) : error;
    }
  }

  readonly plain = async function* (this: Content, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const { length: announced = Number.POSITIVE_INFINITY } = this.#stub;
    for await (const chunk of chunks) {
      this.#plain.update(chunk);
      this.#length += chunk.length;
      // It may have no end.
      if (this.#length > announced) throw new ContentError(`it has more than ${announced} bytes`);
      this.#onBytes(this.#length);
      yield chunk;
    }
  }.bind(this);

  /** Fails with `ContentError`. */
  record(): FileRecord {
    const { digest } = this.#stub;
    const [stored, md5] = [toDigest(this.#stored.digest()), toDigest(this.#plain.digest())];
    // If a proxy compressed it on the way, the digest is that of the plain bytes.
    const isKnown = digest === undefined || digest === stored || digest === md5;
    const reason = mismatch({ ...this.#stub, digest: isKnown ? md5 : digest }, this.#length, md5, undefined);
    if (reason !== undefined) throw new ContentError(reason);
    return toRecord(this.#stub, this.#length, md5);
  }
}

function toRecord({ name, digest }: Stub, length: number, md5: string): FileRecord {
  return { name, file: toFileName(name), digest: digest ?? null, length, md5 };
}

function isGzipError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');
}
