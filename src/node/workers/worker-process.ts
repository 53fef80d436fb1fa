/** The entry of the processes that `serve --workers` starts. They end when their supervisor says so, or when it has ended. */
import cluster from 'node:cluster';
import { setMaxListeners } from 'node:events';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import type { ReadersStatus } from '../forwarding/for-readers.ts';
import { limitHeapGrowth } from '../server/serve.ts';
import { startServer } from '../server/server.ts';
import { type FromChild, isToChild, type StartMessage } from './messages.ts';
import { startReader } from './reader-process.ts';

interface Running {
  close(): Promise<unknown>;
}

/** Does what the first message of its supervisor asks for, and ends the process. */
export function runWorkerProcess(): void {
  limitHeapGrowth();
  // As in the command line (main.ts).
  setMaxListeners(100);
  process.stderr.on('error', () => undefined);
  // A Ctrl-C reaches all processes of a terminal: the supervisor decides in which order they end.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
  const life = new WorkerLife();
  process.on('message', (message) => {
    if (!isToChild(message)) return;
    if (message.type === 'start') void life.start(message);
    else if (message.type === 'address') life.address(message.url);
    else if (message.type === 'readers') life.status = message.status;
    else void life.stop();
  });
  void send({ type: 'hello' });
  process.on('disconnect', () => void life.stop());
  // Node would end such a process in the middle of its requests.
  cluster.worker?.on('disconnect', () => {
    if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true;
  });
}

class WorkerLife {
  /** For an owner. */
  status: ReadersStatus = { accepting: 0, restarts: 0, ownerRestarts: 0 };
  readonly #address: Promise<string>;
  #resolveAddress: (url: string) => void = () => undefined;
  #rejectAddress: (error: DatabaseError) => void = () => undefined;
  #running: Promise<Running> | undefined;
  #folder: string | undefined;
  #isStopping = false;

  constructor() {
    this.#address = new Promise((resolve, reject) => {
      this.#resolveAddress = resolve;
      this.#rejectAddress = reject;
    });
    this.#address.catch(() => undefined);
  }

  address(url: string): void {
    this.#resolveAddress(url);
  }

  async start(message: StartMessage): Promise<void> {
    this.#folder = dirname(message.path);
    this.#running = message.role === 'owner' ? this.#startOwner(message) : this.#startReader(message);
    try {
      await this.#running;
    } catch (error) {
      if (this.#isStopping) return;
      const failure = isDatabaseError(error)
        ? { code: error.code, reason: error.reason }
        : { reason: error instanceof Error ? (error.stack ?? error.message) : String(error) };
      await send({ type: 'failed', ...failure });
      process.exit(1);
    }
  }

  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#rejectAddress(new DatabaseError('shutting_down', 'The server was stopped while it started'));
    let code = 0;
    try {
      const running = await this.#running;
      await running?.close();
    } catch {
      // The log says why.
      code = 1;
    }
    // The supervisor would remove it.
    if (!process.connected && this.#folder !== undefined && process.platform !== 'win32') {
      await rm(this.#folder, { recursive: true, force: true }).catch(() => undefined);
    }
    process.exit(code);
  }

  async #startOwner({ options, path, secret }: StartMessage): Promise<Running> {
    const onListening = async () => {
      await send({ type: 'listening' });
      return this.#address;
    };
    const readers = { path, secret, onListening, status: () => this.status };
    const { handle: _, close, ...server } = await startServer({ ...options, readers });
    await send({ type: 'started', server });
    return { close };
  }

  async #startReader(message: StartMessage): Promise<Running> {
    const reader = await startReader(message);
    await send({ type: 'ready', url: reader.url });
    return reader;
  }
}

/** Resolves when it is sent. It may not arrive if the supervisor has ended: then this process ends, too. */
function send(message: FromChild): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, undefined, undefined, () => resolve());
  });
}
