import type { WriteStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { escapeControls } from '../../base/system/log.ts';
import { createProgress, formatBytes, type MessageStream, type Progress } from '../terminal/progress.ts';
import { AttachmentFolder } from './attachment-folder.ts';
import { AttachmentUpload } from './attachment-upload.ts';
import { BatchWriter, type InputRefusal } from './batch-writer.ts';
import { DocumentSplitter, InputError, type InputFormat } from './document-splitter.ts';
import { memberText, readStubs, stringMember, withIdFrom } from './document-text.ts';
import { openInput, type TextInput } from './input.ts';
import { RefusalError, RemoteDatabase } from './remote-database.ts';

export interface ImportFileOptions {
  readonly url: string;
  /** A path, or `-` for standard input. */
  readonly file: string;
  /** Creates the database if it does not exist. */
  readonly create: boolean;
  /** The member that becomes the `_id` of documents without one. */
  readonly idMember: string | undefined;
  readonly newEdits: boolean;
  readonly format: InputFormat;
  /** Documents in one request, at most. */
  readonly batchSize: number;
  /** Where refusals are written, as JSON lines. */
  readonly refusedFile: string | undefined;
  /** The folder with the attachments that stubs stand for; undefined if there is none. */
  readonly attachments: string | undefined;
}

interface ImportStreams {
  readonly stdin: AsyncIterable<Uint8Array | string>;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: MessageStream;
}

/** Refusals that are shown; `--refused` writes all of them. */
const shownRefusals = 10;
/** Characters of an id that are shown. */
const shownIdLength = 100;

/**
 * Writes the documents of a file into a database, and reports how many were written and refused.
 *
 * @returns true if every document was written. Rejects if it had to stop early, after that report.
 */
export async function importFile(options: ImportFileOptions, streams: ImportStreams): Promise<boolean> {
  const database = new RemoteDatabase(options.url);
  const input = await openInput(options.file, streams.stdin);
  const folder = options.attachments === undefined ? undefined : await AttachmentFolder.open(options.attachments);
  await assertNotSame(options.file, options.refusedFile);
  const refusals = new RefusalList(await openRefused(options.refusedFile));
  if (options.create) await database.create();
  const writer = new BatchWriter({
    database,
    newEdits: options.newEdits,
    batchSize: options.batchSize,
    onRefused: (refusal) => refusals.add(refusal),
    onSplit: (reason) =>
      streams.stderr.write(
        `${escapeControls(reason)} It is sent again in halves, to find the documents that cause this.\n`,
      ),
  });
  const run = new ImportRun({ database, input, options, folder, writer, refusals, streams });
  try {
    await run.writeAll();
  } catch (error) {
    throw withRemedy(error);
  } finally {
    await refusals.close().finally(() => report(database.url, run.described(), refusals, streams));
  }
  return refusals.count === 0;
}

interface ImportTarget {
  readonly database: RemoteDatabase;
  readonly input: TextInput;
  readonly options: ImportFileOptions;
  readonly folder: AttachmentFolder | undefined;
  readonly writer: BatchWriter;
  readonly refusals: RefusalList;
  readonly streams: ImportStreams;
}

class ImportRun {
  readonly #parts: ImportTarget;
  readonly #splitter: DocumentSplitter;
  readonly #progress: Progress;
  readonly #upload: AttachmentUpload | undefined;
  #place = 0;

  constructor(parts: ImportTarget) {
    const { database, folder, input, options, streams } = parts;
    this.#parts = parts;
    this.#splitter = new DocumentSplitter(options.format);
    this.#progress = createProgress(streams.stderr, input.totalBytes);
    const onBytes = () => this.#show();
    this.#upload = folder && new AttachmentUpload({ database, folder, newEdits: options.newEdits, onBytes });
  }

  /** What was done so far, in words. */
  described(): string {
    const sums = `${this.#parts.writer.written} written, ${this.#parts.refusals.count} refused`;
    if (this.#upload === undefined) return sums;
    return `${sums}, ${this.#upload.count} attachments of ${formatBytes(this.#upload.bytes)}`;
  }

  async writeAll(): Promise<void> {
    const { input, writer } = this.#parts;
    try {
      for await (const text of input.text()) {
        for (const document of this.#splitter.push(text)) await this.#write(document);
        this.#show();
      }
      for (const document of this.#splitter.finish()) await this.#write(document);
    } finally {
      // Also if the input breaks off: the documents before that are written and counted.
      await writer.flush().finally(() => {
        this.#show();
        this.#progress.end();
      });
    }
  }

  #show(): void {
    this.#progress.update(this.#parts.input.readBytes, this.described());
  }

  async #write(element: string): Promise<void> {
    const { options, refusals, writer } = this.#parts;
    const { givesRows } = this.#splitter;
    const place = ++this.#place;
    try {
      const text = prepare(element, givesRows, options.idMember);
      const upload = this.#upload;
      const stubbed = upload === undefined ? undefined : readStubs(text);
      if (upload === undefined || stubbed === undefined) await writer.add({ place, text });
      else await writer.addAlone({ place, text }, () => upload.send(text, stubbed));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      const id = stringMember(element, givesRows ? 'id' : '_id');
      refusals.add({ place, id, error: 'bad_request', reason: error.message });
    }
  }
}

/** Returns the document to send. Fails with a `SyntaxError` if there is none. */
function prepare(text: string, isRow: boolean, idMember: string | undefined): string {
  if (!text.startsWith('{')) throw new SyntaxError(`a ${isRow ? 'row' : 'document'} must be a JSON object`);
  const document = isRow ? memberText(text, 'doc') : text;
  if (document === undefined || document === 'null') {
    throw new SyntaxError('the row has no doc; was include_docs=true left out?');
  }
  if (!document.startsWith('{')) throw new SyntaxError('a document must be a JSON object');
  return idMember === undefined ? document : withIdFrom(document, idMember);
}

/** The file of refusals is emptied at the start, so it must not be the input. */
async function assertNotSame(input: string, refused: string | undefined): Promise<void> {
  if (input === '-' || refused === undefined) return;
  const [first, second] = await Promise.all([input, refused].map((path) => stat(path).catch(() => undefined)));
  if (first === undefined || first.ino !== second?.ino || first.dev !== second.dev || !first.isFile()) return;
  throw new InputError(`${refused} is the file to be imported; name another file for --refused`);
}

/** Called before any document is written, because refusals would be lost if the file can't be opened later. */
async function openRefused(path: string | undefined): Promise<WriteStream | undefined> {
  if (path === undefined) return undefined;
  const file = await open(path, 'w').catch((error) => {
    throw new InputError(`${path} can't be written: ${error instanceof Error ? error.message : error}`);
  });
  return file.createWriteStream();
}

/** Counts refusals, keeps the first ones to show, and writes all of them to a file if one is given. */
class RefusalList {
  readonly first: InputRefusal[] = [];
  count = 0;
  conflicts = 0;
  missingStubs = 0;
  readonly #file: WriteStream | undefined;

  constructor(file: WriteStream | undefined) {
    this.#file = file;
    // `close` reports the error.
    this.#file?.on('error', () => undefined);
  }

  add(refusal: InputRefusal): void {
    this.count++;
    if (refusal.error === 'conflict') this.conflicts++;
    if (refusal.error === 'missing_stub') this.missingStubs++;
    if (this.first.length < shownRefusals) this.first.push(refusal);
    const { place, id, error, reason } = refusal;
    this.#file?.write(`${JSON.stringify({ place, id, error, reason })}\n`);
  }

  async close(): Promise<void> {
    if (!this.#file) return;
    this.#file.end();
    await finished(this.#file);
  }
}

function report(url: string, sums: string, refusals: RefusalList, { stdout, stderr }: ImportStreams): void {
  stdout.write(`${sums} (${url})\n`);
  for (const refusal of refusals.first) stderr.write(`  ${describeRefusal(refusal)}\n`);
  const more = refusals.count - refusals.first.length;
  if (more > 0) stderr.write(`  … and ${more} more (--refused FILE writes all of them)\n`);
  if (refusals.conflicts > 0) {
    stderr.write(
      'A conflict means that the database has the document already, or that the document in the file has a _rev\n',
    );
    stderr.write('that the database does not know; --new-edits false keeps the _rev of each document.\n');
  }
  if (refusals.missingStubs > 0) {
    stderr.write('The content of attachments is missing; --attachments DIR names the folder that contains it.\n');
  }
}

function describeRefusal({ place, id, error, reason }: InputRefusal): string {
  const shownId = id === null ? '' : ` (${id.slice(0, shownIdLength)}${id.length > shownIdLength ? '…' : ''})`;
  return escapeControls(`document ${place}${shownId}: ${error}, ${reason}`);
}

function withRemedy(error: unknown): unknown {
  if (!(error instanceof RefusalError) || error.reason !== 'no_db_file') return error;
  return new RefusalError('There is no such database; --create creates it', error.status, error.error, error.reason);
}
