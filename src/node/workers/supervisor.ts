/**
 * `serve --workers`: the process that the user starts. It starts the owner of the databases and the readers, replaces those that end, and
 * ends them in order. It opens no database, and takes no request itself: it only opens the port that the readers share.
 */
import { type ChildProcess, fork } from 'node:child_process';
import cluster, { type Worker } from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseError } from '../../base/errors/database-error.ts';
import { systemClock } from '../../base/shared/clock.ts';
import type { Log } from '../../base/system/contract.ts';
import { createLog } from '../../base/system/log.ts';
import { isErrorCode } from '../forwarding/streams.ts';
import type { Served, ServeOptions } from '../server/serve.ts';
import { type FromChild, isFromChild, type ServerDescription, type StartMessage, type ToChild } from './messages.ts';

/** A process that ends sooner after its start than this has failed to start. */
const STABLE_MS = 10_000;
/** An owner that fails to start so often in a row, without saying why, is not started again. */
const MAX_OWNER_FAILURES = 3;
/** A reader that fails to start is started again after this time, twice as long after each further time. */
const RETRY_MS = 100;
const MAX_RETRY_MS = 10_000;
/** Longer than all that the others wait for when they end: 12 seconds for requests, 20 for the storage. */
const MAX_CLOSE_MS = 40_000;

/** `entry`: the file that calls `runWorkerProcess`. Fails like `startServer`; then no process is left. */
export async function startWorkers(options: ServeOptions, entry: string): Promise<Served> {
  const folder = process.platform === 'win32' ? undefined : await mkdtemp(join(tmpdir(), 'settee-workers-'));
  const secret = randomBytes(32).toString('hex');
  const name = `settee-workers-${process.pid}-${randomBytes(8).toString('hex')}`;
  const path = folder === undefined ? `\\\\.\\pipe\\${name}` : join(folder, 'owner');
  const supervisor = new Supervisor(options, { entry, path, secret });
  const close = async () => {
    try {
      await supervisor.close();
    } finally {
      if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    }
  };
  try {
    const server = await supervisor.start();
    return { ...server, lines: [describe(options.workers ?? 1)], failure: supervisor.failure, close };
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
}

function describe(readers: number): string {
  return `It runs as ${readers} processes that accept requests, and one that owns the databases`;
}

interface Places {
  readonly entry: string;
  readonly path: string;
  readonly secret: string;
}

/** A process that was started. Each promise rejects if the process ends, or says that it can't start, before. */
interface Begun {
  readonly child: ChildProcess;
  readonly startedAt: number;
  /** Resolves with how it ended. */
  readonly end: Promise<string>;
  readonly listening: Promise<unknown>;
  readonly started: Promise<ServerDescription>;
  readonly ready: Promise<string>;
}

class Supervisor {
  readonly failure: Promise<never>;
  readonly #options: ServeOptions;
  readonly #places: Places;
  readonly #log: Log;
  readonly #children = new Set<ChildProcess>();
  /** The readers that accept requests. */
  readonly #ready = new Set<ChildProcess>();
  #owner: ChildProcess | undefined;
  #ownerFailures = 0;
  #readerFailures = 0;
  #restarts = 0;
  #ownerRestarts = 0;
  #url: string | undefined;
  /** Replaces the port of the settings: with port 0 the one that was chosen, once no reader has it any more. */
  #port: number | undefined;
  #isClosing = false;
  #fail: (error: unknown) => void = () => undefined;
  readonly #killAll = () => {
    for (const child of this.#children) child.kill('SIGKILL');
  };

  constructor(options: ServeOptions, places: Places) {
    this.#options = options;
    this.#places = places;
    this.#log = createLog({
      level: options.logLevel ?? 'info',
      clock: systemClock,
      write: (entry) => void process.stderr.write(`${entry}\n`),
    });
    this.failure = new Promise((_, reject) => {
      this.#fail = reject;
    });
    this.failure.catch(() => undefined);
    process.on('exit', this.#killAll);
  }

  async start(): Promise<ServerDescription> {
    const owner = this.#forkOwner();
    await owner.listening;
    const { workers = 1 } = this.#options;
    const readers = Array.from({ length: workers }, () => this.#forkReader());
    // The owner starts when it knows the address; until then it can only end.
    const ready = Promise.all(readers.map((reader) => reader.ready));
    await Promise.race([ready, owner.started]);
    [this.#url] = await ready;
    this.#send(owner.child, { type: 'address', url: this.#url ?? '' });
    const server = await owner.started;
    this.#keepOwner(owner);
    return server;
  }

  /** Rejects if the owner could not close cleanly. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const owner = this.#owner;
    const hasOwner = owner !== undefined && this.#children.has(owner);
    const ends = [...this.#children].map((child) => ended(child));
    for (const child of this.#children) this.#send(child, { type: 'stop' });
    const deadline = setTimeout(this.#killAll, MAX_CLOSE_MS);
    await Promise.all(ends);
    clearTimeout(deadline);
    process.off('exit', this.#killAll);
    if (hasOwner && owner.exitCode !== 0) throw new Error('the owner of the databases did not close cleanly');
  }

  #forkOwner(): Begun {
    const { entry } = this.#places;
    const child = fork(entry, [], { execArgv: nodeOptions(process.execArgv) });
    this.#owner = child;
    return this.#begin(child, 'owner');
  }

  #forkReader(): Begun {
    // The system gives a connection to a process that accepts it: one that is handed out to a process that ends would never be answered or closed.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    cluster.setupPrimary({ exec: this.#places.entry, args: [], execArgv: nodeOptions(process.execArgv) });
    const worker: Worker = cluster.fork();
    // Its own errors are those of the channel: it has ended.
    worker.on('error', () => undefined);
    const { process: child } = worker;
    const begun = this.#begin(child, 'reader');
    begun.ready.then(
      (url) => this.#readerReady(child, url),
      () => undefined,
    );
    void ended(child).then(() => this.#readerEnded(child));
    return begun;
  }

  #begin(child: ChildProcess, role: StartMessage['role']): Begun {
    const { path, secret } = this.#places;
    const { workers: readers = 1 } = this.#options;
    const startedAt = performance.now();
    this.#children.add(child);
    child.on('error', () => undefined);
    const end = ended(child).then(({ why }) => {
      this.#children.delete(child);
      return why;
    });
    const message = <T extends FromChild['type']>(type: T) => messageOf(child, type, end, role);
    const begun: Begun = {
      ...{ child, startedAt, end },
      listening: message('listening'),
      started: message('started').then(({ server }) => server),
      ready: message('ready').then(({ url }) => url),
    };
    for (const promise of [begun.listening, begun.started, begun.ready]) promise.catch(() => undefined);
    const port = this.#port;
    const start = { type: 'start', role, options: this.#options, path, secret, readers, port } as const;
    void message('hello').then(
      () => this.#send(child, this.#isClosing ? { type: 'stop' } : start),
      () => undefined,
    );
    return begun;
  }

  /** Starts another owner when this one has ended. Readers wait for it. */
  #keepOwner({ end, startedAt }: Begun): void {
    void end.then((why) => {
      if (this.#isClosing) return;
      this.#ownerFailures = performance.now() - startedAt < STABLE_MS ? this.#ownerFailures + 1 : 0;
      if (this.#ownerFailures > MAX_OWNER_FAILURES) {
        this.#fail(
          new DatabaseError(
            'storage_failed',
            `The process that owns the databases ended again and again: ${why}. Remove the cause, which the log names, and start the server again.`,
          ),
        );
        return;
      }
      this.#log.error(`The process that owns the databases ended (${why}); another one is started.`);
      void this.#replaceOwner();
    });
  }

  async #replaceOwner(): Promise<void> {
    const owner = this.#forkOwner();
    this.#ownerRestarts += 1;
    try {
      await owner.listening;
      this.#sendStatus();
      this.#send(owner.child, { type: 'address', url: this.#url ?? '' });
      await owner.started;
      this.#keepOwner(owner);
    } catch (error) {
      if (this.#isClosing) return;
      // It has said why it can't start; otherwise it was killed, or has crashed.
      const isSaid = !(error instanceof DatabaseError && error.code === 'cancelled');
      if (!isSaid) return this.#keepOwner(owner);
      // It ends by itself, and has nothing to close.
      this.#owner = undefined;
      this.#fail(error);
    }
  }

  #readerReady(child: ChildProcess, url: string): void {
    this.#ready.add(child);
    this.#sendStatus();
    // With port 0, the last reader that had the chosen port has ended in this moment.
    if (this.#url !== undefined && url !== this.#url) child.kill('SIGKILL');
  }

  #readerEnded(child: ChildProcess): void {
    const wasReady = this.#ready.delete(child);
    if (this.#isClosing || this.#url === undefined) return;
    this.#sendStatus();
    if (this.#ready.size === 0) this.#port = Number(new URL(this.#url).port) || undefined;
    this.#readerFailures = wasReady ? 0 : this.#readerFailures + 1;
    const waitMs = wasReady ? 0 : Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** this.#readerFailures);
    this.#log.error(`A process that accepts requests ended; another one is started in ${waitMs} ms.`);
    setTimeout(() => {
      if (this.#isClosing) return;
      this.#restarts += 1;
      this.#sendStatus();
      this.#forkReader().ready.catch((error: unknown) => {
        if (!this.#isClosing) this.#log.error('A process that accepts requests could not be started.', error);
      });
    }, waitMs);
  }

  /** Tells the owner, which shows it. */
  #sendStatus(): void {
    const status = { accepting: this.#ready.size, restarts: this.#restarts, ownerRestarts: this.#ownerRestarts };
    if (this.#owner !== undefined) this.#send(this.#owner, { type: 'readers', status });
  }

  #send(child: ChildProcess, message: ToChild): void {
    // One that has ended needs no message.
    if (child.connected) child.send(message, () => undefined);
  }
}

/** Resolves with the first message of a type. Rejects with the reason that the process gives, or with `cancelled` if it ends without one. */
function messageOf<T extends FromChild['type']>(
  child: ChildProcess,
  type: T,
  end: Promise<string>,
  role: StartMessage['role'],
): Promise<Extract<FromChild, { type: T }>> {
  return new Promise((resolve, reject) => {
    child.on('message', (message) => {
      if (!isFromChild(message)) return;
      if (message.type === 'failed') reject(toError(message));
      else if (isOfType(message, type)) resolve(message);
    });
    void end.then((why) => {
      const which = role === 'owner' ? 'owns the databases' : 'accepts requests';
      reject(new DatabaseError('cancelled', `The process that ${which} ended at its start: ${why}.`));
    });
  });
}

function isOfType<T extends FromChild['type']>(
  message: FromChild,
  type: T,
): message is Extract<FromChild, { type: T }> {
  return message.type === type;
}

function toError({ code, reason }: Extract<FromChild, { type: 'failed' }>): Error {
  return isErrorCode(code) ? new DatabaseError(code, reason) : new Error(reason);
}

function ended(child: ChildProcess): Promise<{ readonly why: string }> {
  const describeEnd = () => ({ why: child.signalCode ?? `exit code ${child.exitCode}` });
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(describeEnd());
  return new Promise((resolve) => child.once('exit', () => resolve(describeEnd())));
}

/** The options of this process for others: without the script that it may have been given, and without a debugger's port. */
function nodeOptions(execArgv: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at < execArgv.length; at++) {
    const option = execArgv[at] ?? '';
    if (/^(?:-e|--eval|-p|--print|-pe)$/.test(option)) at++;
    else if (!/^--(?:input-type|inspect|eval|print)/.test(option)) kept.push(option);
  }
  return kept;
}
