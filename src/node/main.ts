import { setMaxListeners } from 'node:events';
import { fileURLToPath } from 'node:url';
import { DatabaseError, isDatabaseError } from '../base/errors/database-error.ts';
import { escapeControls } from '../base/system/log.ts';
import { VERSION } from '../base/system/version.ts';
import { addAdmin } from './command-line/add-admin.ts';
import { type Command, parseCommand } from './command-line/arguments.ts';
import { helpFor } from './command-line/help.ts';
import { replicate } from './command-line/replicate.ts';
import { backupData, restoreData } from './data-folder/backup.ts';
import { compactData } from './data-folder/compact.ts';
import type { CopiedDatabase, CopyProblem } from './data-folder/copied-databases.ts';
import { copyData } from './data-folder/copy.ts';
import { restoreToStorage } from './data-folder/restore-storage.ts';
import { verifyData } from './data-folder/verify.ts';
import { type ProcessHost, type ServeOptions, serve } from './server/serve.ts';
import { createProgress, formatBytes, type MessageStream, type OnProgress } from './terminal/progress.ts';
import { UsageError } from './terminal/usage-error.ts';
import { InputError } from './transfer/document-splitter.ts';
import { exportFile } from './transfer/export.ts';
import { importFile } from './transfer/import.ts';
import { RefusalError } from './transfer/remote-database.ts';
import { startWorkers } from './workers/supervisor.ts';
import { runWorkerProcess } from './workers/worker-process.ts';

/** Each request of a replication also waits for its end; Node warns of more than ten that wait for the same as a likely mistake. */
const MAX_LISTENERS = 100;

/** The parts of a process that the command line uses; `process` itself is one. */
export interface CommandHost extends ProcessHost {
  readonly stdin: AsyncIterable<Uint8Array | string>;
  readonly stderr: MessageStream;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * The command `settee`. Resolves with the exit code when the command has ended: 0 for success, 1 for a failure, 2 for
 * a usage error. A failure is reported on stderr in a sentence, a defect with its stack.
 */
export async function main(argv: readonly string[], host: CommandHost = process): Promise<number> {
  // The log can't be written if its reader has gone or its disk is full. That must not end the process.
  host.stderr.on('error', () => undefined);
  const output = new OutputCheck(host.stdout);
  setMaxListeners(MAX_LISTENERS);
  try {
    const command = parseCommand(argv, host.env);
    const code = await run(command, host);
    // A server writes no result there.
    if (command.name !== 'serve') await output.assertWritten();
    return code;
  } catch (error) {
    if (isBrokenPipe(error)) return 1;
    host.stderr.write(`${explain(error)}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

/** Keeps the first error of standard output, which would end the process with a stack if there were no listener for it. */
class OutputCheck {
  readonly #stream: NodeJS.WritableStream;
  #failure: Error | undefined;

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream;
    stream.on('error', (error: Error) => {
      this.#failure ??= error;
    });
  }

  /** Waits until everything is written, and throws if something could not be written. */
  async assertWritten(): Promise<void> {
    await new Promise((resolve) => this.#stream.write('', resolve));
    if (this.#failure) throw this.#failure;
  }
}

async function run(command: Command, host: CommandHost): Promise<number> {
  switch (command.name) {
    case 'help':
      host.stdout.write(helpFor(command.topic));
      return 0;
    case 'version':
      host.stdout.write(`${VERSION}\n`);
      return 0;
    case 'serve':
      return serveBy(command.options, host).catch(refuseCall);
    case 'import':
      return (await importFile(command, host)) ? 0 : 1;
    case 'export':
      return (await exportFile(command, host)) ? 0 : 1;
    case 'replicate':
      return (await replicate(command, host)) ? 0 : 1;
    case 'verify':
      return (await verify(command, host)) ? 0 : 1;
    case 'backup':
      return reportCopies('copied', backupData(command), host);
    case 'restore':
      return reportCopies('restored', restore(command), host);
    case 'compact':
      return (await compact(command, host)) ? 0 : 1;
    case 'copy':
      await copy(command, host);
      return 0;
    case 'admin':
      await addAdmin(command, host);
      return 0;
  }
}

function serveBy(options: ServeOptions, host: CommandHost): Promise<number> {
  if ((options.workers ?? 1) === 1) return serve(options, host);
  return serve(options, host, () => startWorkers(options, ownFile));
}

/** Options and a configuration with which the server can't start are a usage error. */
function refuseCall(error: unknown): never {
  throw isDatabaseError(error, 'bad_request') ? new UsageError(error.reason, 'serve') : error;
}

type Verify = Extract<Command, { name: 'verify' }>;

/** Returns true when no damage is left. */
async function verify(command: Verify, { stdout, stderr }: CommandHost): Promise<boolean> {
  const onProgress = progressTo(stderr);
  let damaged = 0;
  const found = verifyData({ ...command, onProgress });
  for await (const { database, documents, pages, repairs, damage } of found) {
    for (const done of repairs) stdout.write(`${database}: ${done}\n`);
    const verdict = damage.length === 0 ? 'no damage' : `${damage.length} findings`;
    stdout.write(`${database}: ${documents} documents, ${pages} pages, ${verdict}\n`);
    for (const finding of damage) stdout.write(`  ${escapeControls(finding)}\n`);
    if (damage.length > 0) damaged++;
  }
  return damaged === 0;
}

function restore({ source, dataFolder, storage }: Extract<Command, { name: 'restore' }>) {
  return storage === undefined ? restoreData({ source, dataFolder }) : restoreToStorage(source, storage);
}

/** Returns true if all were compacted. */
async function compact(
  command: Extract<Command, { name: 'compact' }>,
  { stdout, stderr }: CommandHost,
): Promise<boolean> {
  let failed = 0;
  for await (const { database, bytesBefore, bytesAfter, problem } of compactData(command)) {
    if (problem === undefined) {
      stdout.write(`${database}: ${formatBytes(bytesAfter)}, before ${formatBytes(bytesBefore)}\n`);
      continue;
    }
    failed++;
    stderr.write(`${database}: ${escapeControls(problem)}\n`);
  }
  return failed === 0;
}

async function copy(command: Extract<Command, { name: 'copy' }>, { stdout, stderr }: CommandHost): Promise<void> {
  const onProgress = progressTo(stderr, 'pages copied and compared');
  for await (const { name, outcome, documents, figures } of copyData({ ...command, onProgress })) {
    if (outcome === 'kept') stderr.write(`${name}: those of the target stay; they differ from those of the source\n`);
    else if (outcome === 'there') stdout.write(`${name}: is there already, with the same content\n`);
    else if (figures === undefined) stdout.write(`${name}: copied\n`);
    else stdout.write(`${name}: ${documents} documents, ${figures.pages} pages, ${formatBytes(figures.bytes)}\n`);
  }
}

async function reportCopies(
  verb: string,
  reports: AsyncIterable<CopiedDatabase | CopyProblem>,
  { stdout, stderr }: CommandHost,
): Promise<number> {
  let losses = 0;
  for await (const report of reports) {
    if ('bytes' in report) {
      stdout.write(`${report.database}: ${verb}, ${report.bytes} bytes\n`);
      continue;
    }
    if (report.isLoss) losses++;
    stderr.write(`${report.database}: ${escapeControls(report.problem)}\n`);
  }
  if (losses === 0) return 0;
  stderr.write(
    `${losses} ${losses === 1 ? 'part is' : 'parts are'} missing or incomplete, as listed above; all others were ${verb}.\n`,
  );
  return 1;
}

function progressTo(stderr: MessageStream, what = ''): OnProgress {
  const progress = createProgress(stderr, undefined);
  return (done, total) => progress.update(done, `${done} of ${total} ${what}`.trimEnd());
}

function explain(error: unknown): string {
  if (error instanceof UsageError) {
    const command = error.topic === undefined ? 'settee' : `settee ${error.topic}`;
    return `${escapeControls(error.message)}\nTry "${command} --help".`;
  }
  if (error instanceof DatabaseError) return escapeControls(error.reason);
  if (error instanceof InputError || error instanceof RefusalError) return escapeControls(error.message);
  if (error instanceof AggregateError) return error.errors.map(explain).join('\n');
  // The messages of system errors (no such file, no space left) need no stack.
  if (error instanceof Error && 'syscall' in error) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** The reader of this output has closed it, as `head` does. */
function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE';
}

/** In the build: `main.js`, which is run by the start scripts, and by itself only as a process of `serve --workers`. */
const ownFile = fileURLToPath(import.meta.url);
if (process.argv[1] === ownFile && process.send !== undefined) runWorkerProcess();
