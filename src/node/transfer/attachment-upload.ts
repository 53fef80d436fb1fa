import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type AttachmentFolder, mismatch, toDigest } from './attachment-folder.ts';
import { type Stub, type StubbedDocument, withFollowing } from './document-text.ts';
import type { Refusal, RemoteDatabase } from './remote-database.ts';

const NO_ID = 'a document whose attachments are files must have an _id';
const SURROGATE = /\p{Surrogate}/u;

/** A file that can't go with its document. */
class FileError extends Error implements Refusal {
  readonly error: string;
  readonly reason: string;

  constructor(error: 'missing_attachment' | 'damaged_attachment', name: string, path: string, reason: string) {
    super(reason);
    this.name = 'FileError';
    this.error = error;
    this.reason = `attachment ${JSON.stringify(name)}: ${path} ${reason}`;
  }
}

interface FoundFile {
  readonly stub: Stub;
  readonly path: string;
  readonly length: number;
}

interface UploadOptions {
  readonly database: RemoteDatabase;
  readonly folder: AttachmentFolder;
  readonly newEdits: boolean;
  /** Called when some of `bytes` was sent. */
  readonly onBytes: () => void;
}

/** Writes documents with their attachments, each in one request that streams the files. */
export class AttachmentUpload {
  /** Number of attachments of documents that were written. */
  count = 0;
  /** Bytes of attachments that were sent, without those of refused documents. */
  bytes = 0;
  readonly #options: UploadOptions;

  constructor(options: UploadOptions) {
    this.#options = options;
  }

  /**
   * Resolves to the reason if the document, or one of its files, can't be sent; nothing is written then. Rejects with `RefusalError` if
   * the server refuses it.
   */
  async send(text: string, { id, stubs }: StubbedDocument): Promise<Refusal | undefined> {
    const problem = idProblem(id);
    if (id === undefined || problem !== undefined) return { error: 'bad_request', reason: problem ?? NO_ID };
    let sent = 0;
    const onBytes = (bytes: number) => {
      sent += bytes;
      this.bytes += bytes;
      this.#options.onBytes();
    };
    try {
      const files = await Promise.all(stubs.map((stub) => this.#find(id, stub)));
      const boundary = randomBytes(16).toString('hex');
      const chunks = this.#body({ id, text, files, boundary }, onBytes);
      await this.#options.database.upload(id, this.#options.newEdits, { boundary, chunks });
      this.count += files.length;
      return undefined;
    } catch (error) {
      this.bytes -= sent;
      if (error instanceof FileError) return error;
      throw error;
    }
  }

  /** Before anything is sent, checks what can be seen without reading the files. */
  async #find(id: string, stub: Stub): Promise<FoundFile> {
    const { folder } = this.#options;
    if (SURROGATE.test(stub.name)) throw new FileError('missing_attachment', stub.name, 'its name', 'is not UTF-8');
    const path = folder.fileOf(id, stub.name);
    const status = await folder.statusOf(id, stub.name).catch((error: unknown) => {
      throw new FileError('missing_attachment', stub.name, path, `can't be read: ${error}`);
    });
    if (status === undefined) throw new FileError('missing_attachment', stub.name, path, 'does not exist');
    const { size: length } = status;
    const reason = mismatch({ ...stub, digest: undefined }, length, '', undefined);
    if (reason !== undefined)
      throw new FileError('damaged_attachment', stub.name, path, `is not this attachment: ${reason}`);
    return { stub, path, length };
  }

  /** docs/http/attachments.md#multipart-uploads */
  async *#body({ id, text, files, boundary }: RelatedDocument, onBytes: (bytes: number) => void) {
    const lengths = new Map(files.map(({ stub, length }) => [stub.name, length]));
    yield Buffer.from(
      `--${boundary}\r\nContent-Type: application/json\r\n\r\n${withFollowing(text, lengths)}\r\n--${boundary}`,
    );
    // In the order of the document they need no names; a header could not hold every name anyway.
    for (const file of files) {
      yield Buffer.from(`\r\nContent-Disposition: attachment\r\nContent-Length: ${file.length}\r\n\r\n`);
      yield* this.#content(id, file, onBytes);
      yield Buffer.from(`\r\n--${boundary}`);
    }
    yield Buffer.from('--\r\n');
  }

  /** Fails with `FileError` if the bytes are not those of the stub: the request then lacks its end, and writes nothing. */
  async *#content(id: string, { stub, path, length: announced }: FoundFile, onBytes: (bytes: number) => void) {
    const md5 = createHash('md5');
    let length = 0;
    for await (const chunk of bytesOf(stub.name, path)) {
      md5.update(chunk);
      length += chunk.length;
      onBytes(chunk.length);
      yield chunk;
    }
    if (length !== announced) throw new FileError('damaged_attachment', stub.name, path, 'changed while it was sent');
    const digest = toDigest(md5.digest());
    if (stub.digest === undefined || stub.digest === digest) return;
    const records = await this.#options.folder.records(id);
    const reason = mismatch(stub, length, digest, records.get(stub.name));
    if (reason !== undefined)
      throw new FileError('damaged_attachment', stub.name, path, `is not this attachment: ${reason}`);
  }
}

interface RelatedDocument {
  readonly id: string;
  readonly text: string;
  readonly files: readonly FoundFile[];
  readonly boundary: string;
}

async function* bytesOf(name: string, path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path, { highWaterMark: 256 * 1024 });
  } catch (error) {
    throw new FileError('missing_attachment', name, path, `can't be read: ${error}`);
  }
}

/** The id becomes a part of the path, where it must not stand for anything but a document. */
function idProblem(id: string | undefined): string | undefined {
  if (id === undefined || id === '') return NO_ID;
  if (SURROGATE.test(id)) return 'the _id is not UTF-8';
  if (id.startsWith('_') && !/^_design\/./s.test(id)) return 'such a document has no attachments';
  return undefined;
}
