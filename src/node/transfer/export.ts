import { createWriteStream } from 'node:fs';
import { open, realpath, rename, rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { FRAMES, toPieces } from '../../packages/transfer/format.ts';
import { createProgress, type MessageStream, type Progress } from '../terminal/progress.ts';
import { AttachmentDownload } from './attachment-download.ts';
import { DocumentSplitter, InputError } from './document-splitter.ts';
import { memberText } from './document-text.ts';
import { RemoteDatabase } from './remote-database.ts';

/** See `FRAMES`. */
export const outputFormats = ['lines', 'array'] as const;
type OutputFormat = (typeof outputFormats)[number];

export interface ExportFileOptions {
  readonly url: string;
  /** A path, or `-` for standard output. */
  readonly file: string;
  readonly format: OutputFormat;
  /** The folder of the attachments; undefined if they are left out. */
  readonly attachments: string | undefined;
}

interface ExportStreams {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: MessageStream;
}

/** Characters of a row that an error shows. */
const shownLength = 200;

/**
 * Writes every document of a database as JSON text, exactly as the server sends it. All of them are one response, read as fast
 * as the output takes it, so it shows the database at one moment. Attachments follow. A file appears when it is complete, and
 * when it is known for each attachment whether it was available.
 *
 * @returns false if some attachments were not available, after they were reported. Everything else is then written.
 */
export async function exportFile(options: ExportFileOptions, streams: ExportStreams): Promise<boolean> {
  const database = new RemoteDatabase(options.url);
  const { attachments: path } = options;
  const total = await database.documentCount();
  const download = path === undefined ? undefined : await AttachmentDownload.begin(database, path, streams.stderr);
  const progress = createProgress(streams.stderr, total);
  let isComplete = true;
  const whenWritten = async () => {
    progress.end();
    if (download !== undefined) isComplete = await download.run();
  };
  try {
    const documents = documentsOf(await database.readAll(), progress);
    const pieces = toPieces(download?.listing(documents) ?? documents, FRAMES[options.format]);
    await writePieces(pieces, options.file, streams.stdout, whenWritten);
  } finally {
    progress.end();
    await download?.close();
  }
  return isComplete;
}

async function writePieces(
  pieces: AsyncIterable<string>,
  file: string,
  stdout: NodeJS.WritableStream,
  whenWritten: () => Promise<void>,
): Promise<void> {
  if (file !== '-') return writeFile(pieces, file, whenWritten);
  await pipeline(Readable.from(pieces), stdout, { end: false });
  await whenWritten();
}

async function* documentsOf(chunks: AsyncIterable<Uint8Array>, progress: Progress): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const splitter = new DocumentSplitter('rows');
  let count = 0;
  for await (const chunk of chunks) {
    for (const row of splitter.push(decoder.decode(chunk, { stream: true }))) {
      count++;
      yield toDocument(row);
    }
    progress.update(count, `${count} documents`);
  }
  for (const row of splitter.finish()) yield toDocument(row);
}

function toDocument(row: string): string {
  const document = memberText(row, 'doc');
  if (document === undefined || document === 'null')
    throw new Error(`The server returned a row without its document: ${row.slice(0, shownLength)}`);
  // Line breaks mean nothing between the tokens of JSON, and strings contain none.
  return document.replace(/[\r\n]+/g, '');
}

/** The file has its name when `whenWritten` has resolved. */
async function writeFile(pieces: AsyncIterable<string>, file: string, whenWritten: () => Promise<void>): Promise<void> {
  const packing = file.endsWith('.gz') ? [createGzip()] : [];
  const present = await stat(file).catch(() => undefined);
  if (present?.isDirectory()) throw new InputError(`${file} can't be written: it is a folder`);
  // A device or a pipe is written to directly, because a file must not take its place.
  if (present && !present.isFile()) {
    await pipeline([Readable.from(pieces), ...packing, createWriteStream(file)]);
    return whenWritten();
  }
  // If it is a symbolic link, the file that it leads to is replaced, not the link.
  const path = await realpath(file).catch(() => file);
  const partial = `${path}.partial`;
  // Opened here, because a stream that opens the file itself may do so after the export failed and the file was removed.
  const target = await open(partial, 'w').catch((error) => {
    throw new InputError(`${file} can't be written: ${error instanceof Error ? error.message : error}`);
  });
  try {
    await pipeline([Readable.from(pieces), ...packing, target.createWriteStream()]);
    await whenWritten();
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}
