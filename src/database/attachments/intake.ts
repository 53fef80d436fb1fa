/** Takes in the bytes of an attachment: compresses them if that is worthwhile, and stores them as they arrive. */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { must } from '../../base/shared/assert.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import { integerSetting } from '../../base/system/config.ts';
import type { Config, Gzip } from '../../base/system/contract.ts';
import { beginMd5, type Md5Stream } from '../documents/md5.ts';
import { contentMd5Mismatch } from '../documents/stored-attachments.ts';
import type { AttachmentUpload, Database, FinishedUpload } from '../store/contract.ts';
import { compress, decompress } from './gzip-stream.ts';
import { storedBytes } from './outgoing.ts';

export interface IncomingBytes {
  readonly contentType: string;
  /** The encoding that the bytes already have. */
  readonly encoding: 'gzip' | undefined;
  readonly source: AsyncIterable<Uint8Array>;
  /** MD5 of the bytes as they arrive, as 32 hexadecimal digits, if the sender states it. Called when all have arrived. */
  readonly digest?: () => string | undefined;
  /** The number of bytes, if the sender states it. */
  readonly length?: number | undefined;
}

/** An upload that must be discarded once the write that was to adopt it is decided. */
export interface StoredUpload {
  readonly upload: FinishedUpload;
  discard(): void;
}

/** The services that taking in an attachment uses. */
export interface IntakeServices {
  readonly config: Config;
  /** The host's own, if it has one with levels. */
  readonly gzip?: Gzip | undefined;
}

/**
 * Stores the bytes. Fails with `too_large` beyond `svc/max_attachment_chunk_size`, with `content_md5_mismatch`, and with `bad_request`
 * if more or fewer bytes arrive than were announced; nothing is kept then.
 */
export async function takeIn(
  database: Database,
  services: IntakeServices,
  incoming: IncomingBytes,
): Promise<StoredUpload> {
  const { config, gzip = compress } = services;
  const upload = await database.upload();
  try {
    const isCompressed = incoming.encoding === undefined && isCompressible(config, incoming.contentType);
    const given = await Counted.begin(incoming, config, isCompressed);
    const storedLength = await write(upload, isCompressed ? gzip(given.bytes(), levelOf(config)) : given.bytes());
    given.checkLength();
    const plain = isCompressed ? given.sum() : await given.decodedSum();
    const isWorthIt = isCompressed ? storedLength < given.length : storedLength !== plain?.length;
    const finished = await upload.finish(isWorthIt ? plain : undefined);
    // Bytes that are not compressed here are stored as they arrive, so `upload` has computed their digest.
    const digest = isCompressed ? given.sum().digest : finished.stored.digest;
    const announced = incoming.digest?.();
    if (announced !== undefined && announced !== digest) throw contentMd5Mismatch();
    if (!isWorthIt) return await takeInPlain(database, upload, isCompressed ? given.all : undefined);
    return { upload: finished, discard: () => upload.discard() };
  } catch (failure) {
    upload.discard();
    throw failure;
  }
}

/**
 * Stores the content of the upload, which holds gzip, without that encoding: gzip that is as long as its decoded form could not be told
 * from it (`AttachmentBytes`), and compression that saves nothing is of no use.
 *
 * @param chunks the plain bytes, if the caller still has them
 */
async function takeInPlain(
  database: Database,
  gzip: AttachmentUpload,
  chunks: readonly Uint8Array[] | undefined,
): Promise<StoredUpload> {
  const upload = await database.upload();
  try {
    await write(upload, chunks === undefined ? decoded(gzip) : chunks);
    return { upload: await upload.finish(), discard: () => upload.discard() };
  } catch (failure) {
    upload.discard();
    throw failure;
  } finally {
    gzip.discard();
  }
}

async function* decoded(gzip: AttachmentUpload): AsyncGenerator<Uint8Array> {
  await gzip.finish();
  yield* decompress(storedBytes(await gzip.read()));
}

/** Returns the number of bytes written. */
async function write(
  upload: AttachmentUpload,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<number> {
  const timeSlice = new TimeSlice();
  let length = 0;
  for await (const chunk of chunks) {
    await upload.write(chunk);
    length += chunk.length;
    if (timeSlice.isDue) await timeSlice.rest();
  }
  return length;
}

/** Whether attachments of that type are compressed (`attachments/compressible_types`, `attachments/compression_level`). */
export function isCompressible(config: Config, contentType: string): boolean {
  if (levelOf(config) === 0) return false;
  const [type = ''] = contentType.toLowerCase().split(';', 1);
  const patterns = (config.get('attachments', 'compressible_types') ?? '').toLowerCase().split(',');
  return patterns.some((pattern) => matches(type.trim(), pattern.trim()));
}

/** Returns the compression level, 0 to 9. */
function levelOf(config: Config): number {
  return Math.min(integerSetting(config, 'attachments', 'compression_level') ?? 8, 9);
}

/** Whether the type matches; `text/*` stands for all types that begin with `text/`. */
function matches(type: string, pattern: string): boolean {
  return pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : pattern !== '' && type === pattern;
}

interface Sum {
  readonly length: number;
  /** MD5, as 32 hexadecimal digits. */
  readonly digest: string;
}

/** Bytes that are kept while they are compressed: most attachments that do not get shorter are short texts. */
const KEPT_BYTES = 16 * 1024;

/** Counts the incoming bytes, and computes their digest if nothing else does. */
class Counted {
  readonly #incoming: IncomingBytes;
  readonly #limit: number;
  readonly #md5: Md5Stream | undefined;
  /** For bytes that arrive encoded. */
  readonly #decoded: DecodedSum | undefined;
  readonly #kept: Uint8Array[] = [];
  #length = 0;
  #sum: Sum | undefined;

  static async begin(incoming: IncomingBytes, config: Config, isSummed: boolean): Promise<Counted> {
    const limit = integerSetting(config, 'svc', 'max_attachment_chunk_size') ?? Number.POSITIVE_INFINITY;
    if ((incoming.length ?? 0) > limit) throw tooLarge(limit);
    const decoded = incoming.encoding === undefined ? undefined : new DecodedSum(await beginMd5());
    return new Counted(incoming, limit, isSummed ? await beginMd5() : undefined, decoded);
  }

  private constructor(
    incoming: IncomingBytes,
    limit: number,
    md5: Md5Stream | undefined,
    decoded: DecodedSum | undefined,
  ) {
    this.#incoming = incoming;
    this.#limit = limit;
    this.#md5 = md5;
    this.#decoded = decoded;
  }

  async *bytes(): AsyncGenerator<Uint8Array> {
    for await (const chunk of this.#incoming.source) {
      this.#length += chunk.length;
      if (this.#length > this.#limit) throw tooLarge(this.#limit);
      this.#md5?.update(chunk);
      await this.#decoded?.add(chunk);
      // The sender may reuse the memory.
      if (this.#md5 !== undefined && this.#length <= KEPT_BYTES) this.#kept.push(chunk.slice());
      yield chunk;
    }
  }

  get length(): number {
    return this.#length;
  }

  /** All bytes that are digested here, if they are few. */
  get all(): readonly Uint8Array[] | undefined {
    return this.#length <= KEPT_BYTES ? this.#kept : undefined;
  }

  /** Length and digest of all bytes, if they are digested here. */
  sum(): Sum {
    this.#sum ??= { length: this.#length, digest: must(this.#md5, 'they are summed').digest() };
    return this.#sum;
  }

  /** Length and digest of the bytes without the encoding that they arrived with; undefined if they had none. */
  async decodedSum(): Promise<Sum | undefined> {
    return this.#decoded?.end();
  }

  checkLength(): void {
    const { length } = this.#incoming;
    if (length === undefined || length === this.#length) return;
    const reason = `The attachment has ${this.#length} bytes, but its length was given as ${length}; nothing was changed.`;
    throw new DatabaseError('bad_request', reason);
  }
}

/** Decodes gzip as it passes, only to compute the length and digest of its decoded form. */
class DecodedSum {
  readonly #queue: Uint8Array[] = [];
  readonly #done: Promise<Sum>;
  #isOver = false;
  #wake: () => void = () => undefined;
  #taken: () => void = () => undefined;
  #failure: unknown;

  constructor(md5: Md5Stream) {
    this.#done = this.#run(md5);
    this.#done.catch((failure: unknown) => {
      this.#failure = failure;
      this.#taken();
    });
  }

  /** Resolves when about as much is decoded. Fails with `bad_request` if the data is not gzip. */
  async add(chunk: Uint8Array): Promise<void> {
    const taken = new Promise<void>((resolve) => {
      this.#taken = resolve;
    });
    this.#queue.push(chunk.slice());
    this.#wake();
    if (this.#failure === undefined) await taken;
    if (this.#failure !== undefined) throw this.#failure;
  }

  end(): Promise<Sum> {
    this.#isOver = true;
    this.#wake();
    return this.#done;
  }

  async *#chunks(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const chunk = this.#queue.shift();
      if (chunk !== undefined) {
        yield chunk;
        this.#taken();
      } else if (this.#isOver) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }

  async #run(md5: Md5Stream): Promise<Sum> {
    let length = 0;
    for await (const plain of decompress(this.#chunks())) {
      length += plain.length;
      md5.update(plain);
    }
    return { length, digest: md5.digest() };
  }
}

function tooLarge(limit: number): DatabaseError {
  return new DatabaseError(
    'too_large',
    `An attachment may have at most ${limit} bytes (svc/max_attachment_chunk_size).`,
  );
}
