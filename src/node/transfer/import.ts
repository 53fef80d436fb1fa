import type { WriteStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { escapeControls } from '../../shared/escape-controls.ts';
import { createProgress, type MessageStream } from '../terminal/progress.ts';
import { BatchWriter, type InputRefusal } from './batch-writer.ts';
import { DocumentSplitter, InputError, type InputFormat } from './document-splitter.ts';
import { memberText, stringMember, withIdFrom } from './document-text.ts';
import { openInput, type TextInput } from './input.ts';
import { RefusalError, RemoteDatabase } from './remote-database.ts';

export interface ImportOptions {
  readonly url: string;
  /** A path, or `-` for standard input. */
  readonly file: string;
  /** Creates the database where it is not there. */
  readonly create: boolean;
  /** The member that becomes the `_id` of documents without one. */
  readonly idMember: string | undefined;
  readonly newEdits: boolean;
  readonly format: InputFormat;
  /** Documents in one request, at most. */
  readonly batchSize: number;
  /** Where refusals are written, as JSON lines. */
  readonly refusedFile: string | undefined;
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
 * @returns true when every document was written. Rejects when it had to stop early, after that report.
 */
export async function importFile(options: ImportOptions, streams: ImportStreams): Promise<boolean> {
  const database = new RemoteDatabase(options.url);
  const input = await openInput(options.file, streams.stdin);
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
        `${escapeControls(reason)} It is sent again in halves, to find which documents are at fault.\n`,
      ),
  });
  try {
    await writeAll({ input, options, writer, refusals, streams });
  } catch (error) {
    throw withRemedy(error);
  } finally {
    await refusals.close().finally(() => report(database.url, writer.written, refusals, streams));
  }
  return refusals.count === 0;
}

interface ImportRun {
  readonly input: TextInput;
  readonly options: ImportOptions;
  readonly writer: BatchWriter;
  readonly refusals: RefusalList;
  readonly streams: ImportStreams;
}

async function writeAll({ input, options, writer, refusals, streams }: ImportRun): Promise<void> {
  const progress = createProgress(streams.stderr, input.totalBytes);
  const splitter = new DocumentSplitter(options.format);
  let place = 0;
  try {
    for await (const text of input.text()) {
      for (const document of splitter.push(text)) await write(document);
      progress.update(input.readBytes, describe(writer.written, refusals.count));
    }
    for (const document of splitter.finish()) await write(document);
  } finally {
    // Also where the input breaks off: the documents before that are written and counted.
    await writer.flush().finally(() => {
      progress.update(input.readBytes, describe(writer.written, refusals.count));
      progress.end();
    });
  }

  async function write(text: string): Promise<void> {
    place++;
    try {
      await writer.add({ place, text: prepare(text, splitter.givesRows, options.idMember) });
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      const id = stringMember(text, splitter.givesRows ? 'id' : '_id');
      refusals.add({ place, id, error: 'bad_request', reason: error.message });
    }
  }
}

/** The document to send. Fails with a `SyntaxError` where there is none. */
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
  throw new InputError(`${refused} is what is to be imported; name another file for what is refused`);
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
  readonly #file: WriteStream | undefined;

  constructor(file: WriteStream | undefined) {
    this.#file = file;
    // `close` reports the error.
    this.#file?.on('error', () => undefined);
  }

  add(refusal: InputRefusal): void {
    this.count++;
    if (refusal.error === 'conflict') this.conflicts++;
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

function report(url: string, written: number, refusals: RefusalList, { stdout, stderr }: ImportStreams): void {
  stdout.write(`${describe(written, refusals.count)} (${url})\n`);
  for (const refusal of refusals.first) stderr.write(`  ${describeRefusal(refusal)}\n`);
  const more = refusals.count - refusals.first.length;
  if (more > 0) stderr.write(`  … and ${more} more (--refused FILE writes all of them)\n`);
  if (refusals.conflicts > 0) {
    stderr.write(
      "A conflict means that the database has the document already, or that the file's document brings a _rev\n",
    );
    stderr.write('which the database does not know; --new-edits false keeps the _rev of each document.\n');
  }
}

function describeRefusal({ place, id, error, reason }: InputRefusal): string {
  const shownId = id === null ? '' : ` (${id.slice(0, shownIdLength)}${id.length > shownIdLength ? '…' : ''})`;
  return escapeControls(`document ${place}${shownId}: ${error}, ${reason}`);
}

function describe(written: number, refused: number): string {
  return `${written} written, ${refused} refused`;
}

function withRemedy(error: unknown): unknown {
  if (!(error instanceof RefusalError) || error.reason !== 'no_db_file') return error;
  return new RefusalError('There is no such database; --create makes it', error.status, error.error, error.reason);
}
