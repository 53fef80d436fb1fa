import { type FileHandle, open, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { escapeControls } from '../../base/system/log.ts';
import { createProgress, formatBytes, type MessageStream, type Progress } from '../terminal/progress.ts';
import { AttachmentFolder, type FileRecord } from './attachment-folder.ts';
import { DocumentSplitter } from './document-splitter.ts';
import { readStubs, type StubbedDocument } from './document-text.ts';
import { openInput } from './input.ts';
import { ContentError, presentFile, receiveFile, type Wanted } from './received-file.ts';
import { RefusalError, type RemoteDatabase } from './remote-database.ts';

/** Failures that are shown, and characters of the names in them. */
const shownFailures = 10;
const shownLength = 100;
/** Characters of the list that are collected before they are written. */
const pieceLength = 64 * 1024;

/** The list of documents whose attachments must be read. */
interface OpenList {
  readonly file: FileHandle;
  readonly path: string;
}

/**
 * Writes the attachments of the documents of an export into a folder. First the documents are read to their end, and those with
 * attachments are listed in a file: the server could break off a response that had to wait for attachments, and the list may be
 * larger than memory. Then the attachments are read one by one.
 */
export class AttachmentDownload {
  readonly #database: RemoteDatabase;
  readonly #folder: AttachmentFolder;
  readonly #list: FileHandle;
  readonly #listPath: string;
  readonly #stderr: MessageStream;
  #piece = '';
  #total = { count: 0, bytes: 0 };
  #done = { count: 0, bytes: 0, present: 0 };
  readonly #failures = { first: [] as string[], count: 0 };

  private constructor(database: RemoteDatabase, folder: AttachmentFolder, stderr: MessageStream, list: OpenList) {
    this.#database = database;
    this.#folder = folder;
    this.#stderr = stderr;
    this.#list = list.file;
    this.#listPath = list.path;
  }

  /** Fails with `InputError` if the folder can't be used. `close` must be called in any case. */
  static async begin(database: RemoteDatabase, path: string, stderr: MessageStream): Promise<AttachmentDownload> {
    const folder = await AttachmentFolder.create(path);
    await folder.end();
    const listPath = await folder.temporary();
    const file = await open(listPath, 'wx');
    return new AttachmentDownload(database, folder, stderr, { file, path: listPath });
  }

  async close(): Promise<void> {
    await this.#list.close();
    await rm(this.#listPath, { force: true });
    await this.#folder.end();
  }

  /** Passes the documents on, and lists those that have attachments. */
  async *listing(documents: AsyncIterable<string>): AsyncGenerator<string> {
    for await (const text of documents) {
      const document = readStubs(text);
      if (document !== undefined) await this.#note(document);
      yield text;
    }
    await this.#list.appendFile(this.#piece);
  }

  async #note({ id, rev, stubs }: StubbedDocument): Promise<void> {
    for (const { length = 0 } of stubs) this.#total.bytes += length;
    this.#total.count += stubs.length;
    const attachments = stubs.map(({ name, digest, length }) => [name, { digest, length, stub: true }]);
    this.#piece += `${JSON.stringify({ _id: id, _rev: rev, _attachments: Object.fromEntries(attachments) })}\n`;
    if (this.#piece.length < pieceLength) return;
    await this.#list.appendFile(this.#piece);
    this.#piece = '';
  }

  /**
   * Reads the attachments of the listed documents, and reports the result.
   *
   * @returns true if the folder has all of them. Rejects if it could not go on: the server is gone, or the disk is full.
   */
  async run(): Promise<boolean> {
    const progress = createProgress(this.#stderr, this.#total.bytes);
    try {
      const splitter = new DocumentSplitter('lines');
      const list = await openInput(this.#listPath, Readable.from([]));
      for await (const text of list.text()) {
        for (const document of splitter.push(text)) await this.#takeDocument(document, progress);
      }
      for (const document of splitter.finish()) await this.#takeDocument(document, progress);
    } finally {
      progress.end();
      this.#report();
    }
    return this.#failures.count === 0;
  }

  async #takeDocument(text: string, progress: Progress): Promise<void> {
    const { id, rev, stubs = [] } = readStubs(text) ?? {};
    if (id === undefined) return;
    await this.#folder.prepare(id);
    const before = await this.#folder.records(id);
    // Files that stay keep their records.
    const records = new Map(before);
    for (const stub of stubs) {
      try {
        records.set(stub.name, await this.#take({ id, rev, stub }, before.get(stub.name), progress));
      } catch (error) {
        this.#fail(id, stub.name, error);
      }
      this.#show(progress, 0);
    }
    const list = [...records.values()];
    if (JSON.stringify(list) !== JSON.stringify([...before.values()])) await this.#folder.writeRecords(id, list);
  }

  async #take(wanted: Wanted, before: FileRecord | undefined, progress: Progress): Promise<FileRecord> {
    const present = await presentFile(this.#folder, wanted, before);
    if (present !== undefined) this.#done.present++;
    const onBytes = (length: number) => this.#show(progress, length);
    const record = present ?? (await receiveFile(this.#database, this.#folder, wanted, onBytes));
    this.#done.count++;
    this.#done.bytes += record.length;
    return record;
  }

  /** @param length bytes of the attachment that is being read */
  #show(progress: Progress, length: number): void {
    const { count, bytes } = this.#done;
    const parts = `${count} of ${this.#total.count} attachments`;
    const size = `${formatBytes(bytes + length)} of ${formatBytes(this.#total.bytes)}`;
    progress.update(bytes + length, `${parts}, ${size}`);
  }

  /** Notes an attachment that is not available; any other error ends the export. */
  #fail(id: string, name: string, error: unknown): void {
    if (!(error instanceof RefusalError || error instanceof ContentError)) throw error;
    this.#failures.count++;
    if (this.#failures.first.length >= shownFailures) return;
    const reason = error instanceof RefusalError ? `${error.status} ${error.error}, ${error.reason}` : error.message;
    this.#failures.first.push(`document ${shown(id)}, attachment ${shown(name)}: ${reason}`);
  }

  #report(): void {
    const { count, bytes, present } = this.#done;
    const earlier = present === 0 ? '' : `, ${present} of them present already`;
    this.#stderr.write(`${count} attachments, ${formatBytes(bytes)}${earlier} (${this.#folder.path})\n`);
    const { first, count: failed } = this.#failures;
    if (failed === 0) return;
    this.#stderr.write(`${failed} could not be exported:\n`);
    for (const failure of first) this.#stderr.write(`  ${escapeControls(failure)}\n`);
    if (failed > first.length) this.#stderr.write(`  … and ${failed - first.length} more\n`);
    this.#stderr.write('Run the same command again to retry them; nothing else is read again.\n');
  }
}

function shown(text: string): string {
  return JSON.stringify(text.length > shownLength ? `${text.slice(0, shownLength)}…` : text);
}
